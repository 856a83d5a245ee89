"""Hooks that tell the phases of a training, for recordings of our own; under ``warpline record`` they are in."""

from __future__ import annotations

import os
import sys

from warpline.annotation import Agent

HOOKED = "torch"
"""The framework whose loaders, models and optimizers tell by themselves what they do."""

_are_in = False


def hook_frameworks(agent: Agent) -> None:
    """Have frameworks tell their phases. The hooks stay, and cost a comparison while nothing is recorded."""
    global _are_in
    from warpline.recording.sources.steps.injection import VARIABLE, inside_folder

    known = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(inside_folder())
    try:
        agent.warpline_hook_frameworks(_are_in and HOOKED in sys.modules)
    finally:
        # Only this process is meant, none that it starts.
        if known is None:
            del os.environ[VARIABLE]
    _are_in = True


def are_in() -> bool:
    """Whether the hooks are in this process."""
    return _are_in or "WARPLINE_STEPS" in os.environ
