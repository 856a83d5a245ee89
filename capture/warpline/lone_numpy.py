"""Imports numpy without the threads of its linear algebra.

On import, OpenBLAS starts a thread for every core, and each spins for up to 0.1 s. Warpline does not use them.
"""

from __future__ import annotations

import importlib
import os
import sys

_VARIABLE = "OPENBLAS_NUM_THREADS"


def load_numpy() -> None:
    """Import numpy with one thread, unless the user sets another number or numpy is already imported.

    The environment is restored afterwards, so that programs started by this process see the user's settings.
    """
    if "numpy" in sys.modules or _VARIABLE in os.environ:
        return
    os.environ[_VARIABLE] = "1"
    try:
        importlib.import_module("numpy")
    finally:
        del os.environ[_VARIABLE]
