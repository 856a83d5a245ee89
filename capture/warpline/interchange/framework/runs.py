"""Chooses among the files of a folder, where a profiler may have written one run in several formats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_BEST_FIRST = (
    "xplane", "ascend-db", "rocpd", "rocprofv3", "rpd", "rocprof-v1", "nsys", "nsys-hdf5", "paddle-pb", "perfetto",
    "torch", "ascend", "paddle",
)  # fmt: skip
"""Importers, the most informative format first; others follow, with ``nsys-rep`` last, since exports are quicker."""
_READ_TOGETHER = "rocprof-csv"
"""An importer that, given one file of a run, reads all of them."""
_ENDINGS = re.compile(
    r"(_[a-z_]+_trace(?=\.csv)|_results(?=\.)|\.(xplane|pt|trace|json|pb|db|pftrace|perfetto-trace|sqlite|nsys-rep"
    r"|qdrep|h5|hdf5?|rpd|parquet|csv|gz|zip))+$"
)
_TENSORBOARD = "plugins/profile"
_ASCEND, _ASCEND_RANK = "ASCEND_PROFILER_OUTPUT", re.compile(r"_ascend_(pt|ms)$")


def one_of_each_run(traces: Sequence[tuple[Path, str]]) -> tuple[list[Path], list[Path]]:
    """The files to open, and those left out because another file has the same run, or a newer one.

    ``traces`` are files with the names of their importers. Files with one name up to its endings are one run. Of the
    runs of a TensorBoard folder the newest counts.
    """
    newest: dict[Path, str] = {}
    for path, _ in traces:
        place = _tensorboard_run(path)
        if place is not None:
            newest[place[0]] = max(newest.get(place[0], ""), place[1])
    groups: dict[object, list[tuple[int, Path, str]]] = {}
    older: list[Path] = []
    with_xplane = {path.parent for path, importer in traces if importer == "xplane"}
    finished = {_ascend_rank(path) for path, _ in traces if path.parent.name == _ASCEND}
    for path, importer in traces:
        place = _tensorboard_run(path)
        rank = _ascend_rank(path)
        if place is not None and newest[place[0]] != place[1]:
            older.append(path)
            continue
        if rank is not None and rank in finished:
            # Raw data lies beside the output made from it.
            key: object = rank
        elif importer != "xplane" and path.parent in with_xplane:
            older.append(path)
            continue
        else:
            key = (path.parent, _stem(path))
        order = _BEST_FIRST.index(importer) if importer in _BEST_FIRST else len(_BEST_FIRST)
        outside = rank is not None and path.parent.name != _ASCEND
        groups.setdefault(key, []).append(
            (order + (100 if outside or importer == "nsys-rep" else 0), path, importer)
        )
    chosen: list[Path] = []
    for members in groups.values():
        best = min(members)
        # Several files of one format belong to several runs.
        same = [path for order, path, importer in members if (order, importer) == (best[0], best[2])]
        others = [path for _, path, _ in members if path not in same]
        chosen += same[:1] if best[2] == _READ_TOGETHER else same
        older += others
    return sorted(chosen), sorted(older)


def _stem(path: Path) -> str:
    return _ENDINGS.sub("", path.name.lower())


def _tensorboard_run(path: Path) -> tuple[Path, str] | None:
    """The folder of runs and the run that a file belongs to, in TensorBoard's layout."""
    run = path.parent
    return (run.parent, run.name) if run.parent.as_posix().endswith(_TENSORBOARD) else None


def _ascend_rank(path: Path) -> Path | None:
    """The folder of a rank that Ascend's profiler made."""
    return next((folder for folder in path.parents if _ASCEND_RANK.search(folder.name)), None)
