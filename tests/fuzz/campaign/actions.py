"""What is done with a hostile file inside a fork: the first minute of a user, and more."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

REPORTS = 4


def exercise(path: Path, rng: random.Random, scratch: Path) -> None:
    """Open a capture, ask it everything, then some reports and one export."""
    import numpy as np

    from warpline.analysis.findings.diagnose import diagnose
    from warpline.analysis.findings.wording import finding_lines
    from warpline.analysis.framework.options import Options
    from warpline.analysis.framework.registry import compute_report, reports
    from warpline.analysis.framework.report_json import json_parts
    from warpline.analysis.framework.selection import Selection, View
    from warpline.analysis.framework.text_tables import write_text
    from warpline.cli.info import _lines
    from warpline.interchange.export.exporting import export_capture
    from warpline.library.info import describe
    from warpline.storage import open_capture, verify

    with open_capture(path) as capture:
        if rng.random() < 0.3:
            _lines(capture, describe(capture) | {"path": str(path)})
        n = len(capture.events)
        lanes = np.arange(min(len(capture.lanes), 200))
        low, high = capture.span
        views = [(low, high + 1), (low + (high - low) // 3, low + (high - low) // 3 + 1000), (high, high + 5)]
        for start, stop in views:
            strip = capture.query(lanes, start, stop, 300)
            capture.event_times(strip.rect_row)
            capture.event_times(strip.mark_row[strip.mark_row >= 0])
            capture.count_in(lanes, start, stop)
            capture.union_busy_ns(lanes, start, stop)
            for lane in lanes[:20].tolist():
                capture.busy_ns(lane, start, stop)
                capture.event_at(lane, (start + stop) // 2, 1000)
            for counter in capture.counters:
                counter.query(start, stop, 50)
                counter.value_at(start)
            for track in capture.tracks[:300]:
                capture.utilization(track.index, start, stop, 50)
        for row in {0, n // 2, n - 1} if n else ():
            capture.event_span(row)
            capture.parent_of_row(row)
            capture.nested_rows(row)
            capture.next_event(row)
            capture.previous_event(row)
            capture.strings[int(capture.events.name[row])]
            for ends, kinds in (capture.links_from(row), capture.links_to(row)):
                list(map(capture.links.kind_name, kinds.tolist()))
                capture.event_times(ends[ends >= 0])
            for table in capture.kinds.values():
                table.at(row)
        for table in capture.kinds.values():
            capture.events.start[table.rows]
            for attribute in table.attributes:
                table.column(attribute)
        for stack in range(-1, min(50, len(capture.stacks[0]) + 1)):
            capture.stack_frames(stack)
        capture.strings.find("e")
        for track in capture.tracks:
            capture.children(track.index)
        if rng.random() < 0.5:
            list(verify(capture))
        if rng.random() < 0.3:
            capture.name_index()
        whole, part = None, Selection(low + (high - low) // 3, low + (high - low) // 3 * 2)
        for spec in rng.sample(reports(), REPORTS if rng.random() < 0.3 else 0):
            report = compute_report(
                capture, spec.name, rng.choice([whole, part]), Options(by_thread=rng.random() < 0.3)
            )
            list(json_parts(report))
            list(write_text(report, 80))
        if rng.random() < 0.15:
            suffix = rng.choice([".json", ".csv", ".html", ".h5", ".parquet"])
            export_capture(capture, scratch / f"export{suffix}")
        if rng.random() < 0.15:
            for finding in diagnose(View(capture, None)).findings:
                list(finding_lines(finding, "- "))


def convert(path: Path, rng: random.Random, scratch: Path) -> None:
    """Import a file of another profiler, then look at what came of it."""
    from warpline.interchange import import_files

    out = scratch / "imported.h5"
    import_files([path], out)
    if rng.random() < 0.25:
        exercise(out, rng, scratch)
    else:
        from warpline.storage import open_capture, verify

        with open_capture(out) as capture:
            problems = list(verify(capture))
            if problems:
                raise AssertionError(f"an import made an unsound capture: {problems[:3]}")


def recovered(path: Path, rng: random.Random, scratch: Path) -> None:
    """Recover a spool directory, then look at the capture."""
    from warpline.recording.recover import recover

    out = scratch / "recovered.h5"
    recover(path, out, keep=True)
    if rng.random() < 0.3:
        exercise(out, rng, scratch)
    else:
        from warpline.storage import open_capture, verify

        with open_capture(out) as capture:
            problems = list(verify(capture))
            if problems:
                raise AssertionError(f"recover made an unsound capture: {problems[:3]}")


def preload() -> None:
    """Import what the actions use, so that forks share it."""
    import importlib

    for name in (
        "h5py",
        "numpy",
        "warpline.cli.info",
        "warpline.storage",
        "warpline.interchange",
        "warpline.analysis.findings.diagnose",
        "warpline.interchange.export.exporting",
        "warpline.interchange.trace_json.reader",
        "warpline.recording.recover",
        "warpline.recording.finalise",
        "warpline.analysis.framework.registry",
        "warpline.analysis.framework.text_tables",
        "warpline.analysis.framework.report_json",
    ):
        importlib.import_module(name)
    from warpline.analysis.framework.registry import reports
    from warpline.interchange.framework import registry
    from warpline.interchange.trace_json.scanner import library

    reports()
    registry.importers()
    library()


def empty(folder: Path) -> list[str]:
    """Names left in a folder, which is emptied."""
    left = sorted(entry.name for entry in folder.iterdir())
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    return left
