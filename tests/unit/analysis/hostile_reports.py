"""Writes nonsense into columns of a capture and asks for every report: `python hostile_reports.py FILE ROUNDS`.

Prints one line for each failure that is not a clear error. Runs with little memory, so that an absurd allocation fails.
"""

from __future__ import annotations

import resource
import shutil
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

BYTES = 2 << 30
TABLES = ("events", "kinds", "links", "counters", "stacks", "lanes", "tracks")


def damage(path: Path, rng: Any) -> list[str]:
    """Overwrites parts of one to three columns with extreme or random numbers; returns which."""
    import h5py
    import numpy as np

    columns: list[str] = []
    with h5py.File(path, "r+") as file:
        file.visititems(
            lambda name, item: columns.append(name) if isinstance(item, h5py.Dataset) and item.size else None
        )
        columns = [
            name for name in columns if name.split("/")[0] in TABLES and file[name].dtype.kind in "iufb"
        ]
        chosen: list[str] = rng.choice(columns, rng.integers(1, 4), replace=False).tolist()
        for name in chosen:
            values = file[name][...]
            flat = values.reshape(-1)
            where = rng.choice(len(flat), max(1, int(len(flat) * rng.choice([0, 0.1, 1]))), replace=False)
            if values.dtype.kind in "fb":
                flat[where] = rng.choice(np.array([np.nan, np.inf, -1e30, 0], np.float32)).astype(
                    values.dtype
                )
            else:
                limits = np.iinfo(values.dtype)
                extreme = np.array([limits.min, limits.max, 0, limits.max // 2, 1], values.dtype)
                anything = rng.integers(limits.min, limits.max, len(where), values.dtype, endpoint=True)
                flat[where] = anything if rng.random() < 0.5 else rng.choice(extreme)
            file[name][...] = values
    return chosen


def ask(path: Path) -> list[str]:
    """Computes and prints every report for the whole and for a part; returns what failed without a clear error."""
    from warpline.analysis.framework.options import Options
    from warpline.analysis.framework.registry import compute_report, reports
    from warpline.analysis.framework.report_json import json_parts
    from warpline.analysis.framework.selection import Selection
    from warpline.analysis.framework.text_tables import write_text
    from warpline.model import WarplineError
    from warpline.storage import open_capture

    failures = []
    try:
        capture = open_capture(path)
    except WarplineError:
        return []
    with capture:
        first, last = capture.span
        part = Selection(first + (last - first) // 3, first + (last - first) // 3 * 2)
        for spec in reports():
            for selection, options in ((None, Options()), (part, Options(by_thread=True))):
                try:
                    report = compute_report(capture, spec.name, selection, options)
                    list(json_parts(report))
                    list(write_text(report, 80))
                except WarplineError as error:
                    failures += [f"{spec.name}: two lines"] if "\n" in str(error) else []
                except Exception:  # whatever it is, it is what this looks for
                    failures.append(f"{spec.name}: {traceback.format_exc()}")
    return failures


def main(path: Path, rounds: int) -> None:
    import numpy as np

    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    for number in range(rounds):
        damaged = path.with_suffix(".damaged.h5")
        shutil.copy(path, damaged)
        chosen = damage(damaged, np.random.default_rng(number))
        for failure in ask(damaged):
            print(number, chosen, failure, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
