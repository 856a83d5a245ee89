"""A folder in which modules lie that are called like the standard ones, and tell when they are imported."""

from __future__ import annotations

import sys
from pathlib import Path

THIRD_PARTY = (
    "dask",
    "distributed",
    "h5py",
    "numpy",
    "orjson",
    "pyarrow",
    "PySide6",
    "warpline",
    "warpline_app",
)


def plant(folder: Path) -> Path:
    """A module for each of the standard library and of ours; returns the file in which they tell their names."""
    told = folder.parent / "imported.txt"
    text = f"with open({str(told)!r}, 'a') as file:\n    file.write(__name__ + '\\n')\nraise ImportError(__name__)\n"
    for name in [*sys.stdlib_module_names, *THIRD_PARTY]:
        (folder / f"{name}.py").write_text(text)
    return told
