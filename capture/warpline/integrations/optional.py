"""Classes of frameworks that a program may have, looked up when an integration is imported and not before."""

from __future__ import annotations

import importlib
from typing import Any

from warpline.i18n import tr
from warpline.model.errors import UsageError


def class_of(name: str, *modules: str) -> Any:
    """The class of that name from the first of these modules that can be imported.

    Raises UsageError, which says what to install, when there is none.
    """
    for module in modules:
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
    package = modules[0].partition(".")[0]
    raise UsageError(tr("{package} is not installed here: pip install {package}", package=package))
