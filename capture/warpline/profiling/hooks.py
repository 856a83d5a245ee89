"""Hooks that tell the phases of a training, for recordings of our own; under ``warpline record`` they are in."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from warpline.annotation import Agent

HOOKED = "torch"
"""The framework whose loaders, models and optimizers tell by themselves what they do."""

_are_in = False


def hook_frameworks(agent: Agent, variables: Mapping[str, str]) -> None:
    """Have frameworks tell their phases; ``variables`` are what the recorder wants the agent to find.

    The hooks stay, and cost a comparison while nothing is recorded.
    """
    global _are_in
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        agent.warpline_hook_frameworks(_are_in and HOOKED in sys.modules)
    finally:
        # Only this process is meant, none that it starts.
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    _are_in = True


def are_in() -> bool:
    """Whether the hooks are in this process."""
    return _are_in or "steps" in os.environ.get("WARPLINE_HOOKED", "").split(",")
