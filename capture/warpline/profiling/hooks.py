"""Installs the hooks that record training phases, for the profiler's own recordings. ``warpline record`` installs them
itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from warpline.annotation import Agent

HOOKED = "torch"
"""The framework whose loaders, models and optimizers have hooks."""

_are_installed = False


def hook_frameworks(agent: Agent, variables: Mapping[str, str]) -> None:
    """Install the hooks of frameworks; ``variables`` are the recorder's settings for the agent.

    The hooks stay installed and cost one comparison per call while nothing is recorded.
    """
    global _are_installed
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        agent.warpline_hook_frameworks(_are_installed and HOOKED in sys.modules)
    finally:
        # The variables are for this process only, not for its children.
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    _are_installed = True


def are_installed() -> bool:
    """Whether the hooks are installed in this process."""
    return _are_installed or "steps" in os.environ.get("WARPLINE_HOOKED", "").split(",")
