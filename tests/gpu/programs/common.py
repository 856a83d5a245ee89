"""What the recorded programs share."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import libraries  # noqa: F401  # prints at the end


def need(name: str) -> Any:
    """A package, or exit status 77 with the reason."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        sys.exit(skip(f"{name} cannot be imported: {error}"))


def need_torch() -> Any:
    """torch, or exit status 77 with the reason."""
    torch = need("torch")
    if not torch.cuda.is_available():
        sys.exit(skip("PyTorch finds no CUDA device"))
    return torch


def skip(reason: str) -> int:
    """The status that says: not on this machine."""
    print(reason, file=sys.stderr)
    return 77
