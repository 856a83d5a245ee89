"""What is done with a hostile file inside a fork: the first minute of a user, and more.

Most of what an input can do wrong shows before a capture is written of it, and without a report on all of it: so each
input gets a few of the actions, by chance, and many more inputs get their turn.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from tests.unit.storage.hostile import questions

from warpline.storage import Capture, CaptureBuilder, open_capture, verify

if TYPE_CHECKING:
    from warpline.analysis.framework.selection import Selection

Action = Callable[[Capture, random.Random, Path], None]
EXPORTS = (".json", ".csv", ".html", ".h5", ".parquet")
WRITTEN = 0.06
"""Of imports and recoveries, how many are written to the end."""


def ask_lanes(capture: Capture, rng: random.Random, scratch: Path) -> None:
    """What a timeline asks."""
    questions.lanes(capture, *rng.choice(questions.ranges(capture)))


def ask_rows(capture: Capture, rng: random.Random, scratch: Path) -> None:
    """What the details of an event ask."""
    n = len(capture.events)
    for row in {0, n // 2, n - 1, rng.randrange(n)} if n else ():
        questions.row(capture, row)


def ask_columns(capture: Capture, rng: random.Random, scratch: Path) -> None:
    """Every column, stack and name."""
    questions.columns(capture)


def ask_names(capture: Capture, rng: random.Random, scratch: Path) -> None:
    """The index of names."""
    questions.names(capture)


def ask_description(capture: Capture, rng: random.Random, scratch: Path) -> None:
    """``warpline info``."""
    from warpline.cli.info import _lines
    from warpline.library.info import describe

    _lines(capture, describe(capture) | {"path": "x.h5"})


def ask_soundness(capture: Capture, rng: random.Random, scratch: Path) -> None:
    """``warpline info --verify``."""
    list(verify(capture))


def ask_report(capture: Capture, rng: random.Random, scratch: Path) -> None:
    """``warpline stats``: one report, of everything or of a part."""
    from warpline.analysis.framework.options import Options
    from warpline.analysis.framework.registry import compute_report, reports
    from warpline.analysis.framework.report_json import json_parts
    from warpline.analysis.framework.text_tables import write_text

    options = Options(by_thread=rng.random() < 0.3)
    report = compute_report(capture, rng.choice(reports()).name, _part(capture, rng), options)
    list(json_parts(report))
    list(write_text(report, 80))


def ask_findings(capture: Capture, rng: random.Random, scratch: Path) -> None:
    """``warpline check``."""
    from warpline.analysis.findings.diagnose import diagnose
    from warpline.analysis.findings.wording import finding_lines
    from warpline.analysis.framework.selection import View

    for finding in diagnose(View(capture, _part(capture, rng))).findings:
        list(finding_lines(finding, "- "))


def ask_export(capture: Capture, rng: random.Random, scratch: Path) -> None:
    """``warpline export`` into one of the formats."""
    from warpline.interchange.export.exporting import export_capture

    export_capture(capture, scratch / f"export{rng.choice(EXPORTS)}")


def _part(capture: Capture, rng: random.Random) -> Selection | None:
    from warpline.analysis.framework.selection import Selection

    low, high = capture.span
    return rng.choice([None, Selection(low + (high - low) // 3, low + (high - low) // 3 * 2)])


OFTEN: dict[Action, float] = {
    ask_lanes: 0.3,
    ask_rows: 0.25,
    ask_columns: 0.15,
    ask_names: 0.1,
    ask_soundness: 0.1,
    ask_description: 0.08,
    ask_report: 0.25,
    ask_findings: 0.04,
    ask_export: 0.04,
}
"""How often each is done with a capture that opens."""


def exercise(path: Path, rng: random.Random, scratch: Path) -> None:
    """Open a capture and ask it some of everything."""
    with open_capture(path) as capture:
        for action, share in OFTEN.items():
            if rng.random() < share:
                action(capture, rng, scratch)


def convert(path: Path, rng: random.Random, scratch: Path) -> None:
    """Import a file of another profiler; often to the end, where what came of it is looked at."""
    from warpline.interchange import import_files

    _made(lambda out: import_files([path], out), rng, scratch)


def recovered(path: Path, rng: random.Random, scratch: Path) -> None:
    """Recover a spool directory; often to the end, where the capture is looked at."""
    from warpline.recording.recover import recover

    _made(lambda out: recover(path, out, keep=True), rng, scratch)


def _made(make: Callable[[Path], Any], rng: random.Random, scratch: Path) -> None:
    """A capture that is made of an input, and is sound when it is written."""
    out = scratch / "made.h5"
    is_written = rng.random() < WRITTEN
    unwritten = mock.patch.object(CaptureBuilder, "finish", lambda builder, *_unused: builder.path)
    with nullcontext() if is_written else unwritten:
        make(out)
    if is_written and out.exists():
        verify_soundness(out)
        if rng.random() < 0.3:
            exercise(out, rng, scratch)


def verify_soundness(path: Path) -> None:
    """Raises AssertionError when a capture of our own making is not sound."""
    with open_capture(path) as capture:
        problems = list(verify(capture))
    if problems:
        raise AssertionError(f"we made an unsound capture: {problems[:3]}")


def preload() -> None:
    """Import what the actions use, so that forks share it."""
    import importlib

    for name in (
        "h5py",
        "pyarrow.parquet",
        "pandas",
        "warpline.cli.info",
        "warpline.interchange",
        "warpline.analysis.findings.diagnose",
        "warpline.analysis.findings.wording",
        "warpline.interchange.export.exporting",
        "warpline.interchange.trace_json.reader",
        "warpline.recording.recover",
        "warpline.recording.finalise",
        "warpline.analysis.framework.text_tables",
        "warpline.analysis.framework.report_json",
    ):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:  # optional packages of others
            continue
    from warpline.analysis.framework.registry import reports
    from warpline.interchange.export.registry import builtin_exporters
    from warpline.interchange.framework import registry
    from warpline.interchange.trace_json.scanner import library
    from warpline.recording.sources.registry import recording_sources

    reports()
    builtin_exporters()
    registry.importers()
    recording_sources()
    library()


def empty(folder: Path) -> list[str]:
    """Names left in a folder, which is emptied."""
    left = sorted(entry.name for entry in folder.iterdir())
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    return left
