"""numpy without the threads of its linear algebra, in processes of our own.

OpenBLAS starts a thread for every core when numpy is imported, and each of them spins for a while: up to a tenth of a
second of a core each, when a command has most to do. Nothing here needs them.
"""

from __future__ import annotations

import importlib
import os
import sys

_VARIABLE = "OPENBLAS_NUM_THREADS"


def load_numpy() -> None:
    """Import numpy with one thread, unless the user asks for another number, or it is imported already.

    The variable that says so is taken back: programs that this process starts have the user's environment.
    """
    if "numpy" in sys.modules or _VARIABLE in os.environ:
        return
    os.environ[_VARIABLE] = "1"
    try:
        importlib.import_module("numpy")
    finally:
        del os.environ[_VARIABLE]
