"""What the recorded programs share."""

from __future__ import annotations

import sys
from typing import Any


def need_torch() -> Any:
    """torch, or exit status 77 with the reason."""
    try:
        import torch
    except ImportError:
        sys.exit(skip("PyTorch is not installed"))
    if not torch.cuda.is_available():
        sys.exit(skip("PyTorch finds no CUDA device"))
    return torch


def skip(reason: str) -> int:
    """The status that says: not on this machine."""
    print(reason, file=sys.stderr)
    return 77
