"""Looks up classes of optional frameworks when an integration is imported."""

from __future__ import annotations

import importlib
from typing import Any

from warpline.i18n import tr
from warpline.model.errors import UsageError


def class_of(name: str, *modules: str) -> Any:
    """The class ``name`` of the first of these modules that can be imported.

    Raises UsageError, which says what to install, if there is none.
    """
    for module in modules:
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
    package = modules[0].partition(".")[0]
    raise UsageError(tr("{package} is not installed: pip install {package}", package=package))
