"""The rule about running code, on captures whose samples are known by construction."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.finding import Diagnosis
from warpline.analysis.findings.wording import headline, verdict
from warpline.analysis.framework.selection import View
from warpline.storage import CaptureBuilder, open_capture

MS = 1_000_000
LIBRARY = "/usr/lib/python3.11"
PROGRAM = """\
def merge(ids):
    seen = []
    for item in ids:
        count(item)
        if item not in seen:
            seen.append(item)
    return seen
"""


def diagnosed(
    path: Path, stacks: Sequence[Sequence[str]], utc_ns: int | None = None, unsampled: int = 0
) -> Diagnosis:
    """The diagnosis of a thread that runs 10 ms in each of some stacks, leaf first, then without samples."""
    with CaptureBuilder(path) as builder:
        count = len(stacks)
        builder.set_span(0, 10 * MS * (count + unsampled))
        if utc_ns is not None:
            builder.meta.update(start_utc_ns=utc_ns)
        process = builder.add_process(71, name="python")
        thread = builder.add_thread(process, 71, name="python")
        state, samples = (
            builder.track(f"process/71.1/thread/71.1/{role}", role=role, process=process, thread=thread)
            for role in ("state", "samples")
        )
        ids = []
        for frames in stacks:
            parent = None
            for frame in reversed(frames):
                name = builder.string(frame)
                parent = builder.stack(name) if parent is None else builder.stack(name, parent)
            ids.append(parent)
        length = 10 * MS * (count + unsampled)
        builder.add_events(state, "thread_state", [0], [length], [builder.string("running")])
        builder.add_events(
            samples, "sample", np.arange(count) * 10 * MS + 5 * MS, np.zeros(count, np.int64),
            [builder.string("sample")] * count, attributes={"stack": np.array(ids)},
        )  # fmt: skip
        builder.finish()
    with open_capture(path) as capture:
        return diagnose(View(capture))


def test_a_known_kind_of_work_is_critical_with_its_line_and_callee(tmp_path: Path) -> None:
    compiling = [
        f"compile ({LIBRARY}/re/_compiler.py:745)",
        f"compile ({LIBRARY}/re/__init__.py:227)",
        "parse (/src/parse.py:12)",
        "<module> (/src/parse.py:40)",
    ]
    other = ["read (/src/parse.py:20)", "<module> (/src/parse.py:40)"]
    found = diagnosed(tmp_path / "run.h5", [compiling] * 6 + [other] * 4)
    first, second = found.findings
    assert (first.id, first.severity, first.gain_ns) == ("hot_spot", "critical", 60 * MS)
    assert (first.where.file, first.where.line) == ("/src/parse.py", 12)
    assert "re.compile, called from parse (/src/parse.py:12)" in first.text
    assert (second.id, second.severity, second.where.line) == ("hot_spot", "note", 20)
    assert (
        headline(found) == "python (71): 100 % of 100.0 ms went to: running, mostly parse (/src/parse.py:12)."
    )


@pytest.mark.parametrize(
    ("rounds", "severity"),
    [
        ([(20, 10)], "note"),
        ([(2, 1)] * 10, "critical"),
        ([(1, 2), (19, 0)], "critical"),
        ([(6, 4)], "critical"),
    ],
    ids=["one stretch", "again and again", "until the end", "few samples"],
)
def test_patterns_that_are_compiled_in_one_stretch_are_a_note(
    tmp_path: Path, rounds: list[tuple[int, int]], severity: str
) -> None:
    compiling = [f"compile ({LIBRARY}/re/__init__.py:227)", "load (/src/rules.py:9)"]
    compiling = [f"compile ({LIBRARY}/re/_compiler.py:745)", *compiling]
    other = ["sort (/src/rules.py:20)"]
    stacks = [stack for own, rest in rounds for stack in [compiling] * own + [other] * rest]
    first = next(found for found in diagnosed(tmp_path / "run.h5", stacks).findings if found.where.line == 9)
    assert first.severity == severity
    assert ("in one stretch" in first.text) is (severity == "note")


def test_time_without_samples_after_compiling_shows_no_other_work(tmp_path: Path) -> None:
    """A busy machine may take the last samples of a program that compiles to its end."""
    compiling = [f"compile ({LIBRARY}/re/_compiler.py:745)", f"compile ({LIBRARY}/re/__init__.py:227)"]
    stacks = [[*compiling, "load (/src/rules.py:9)"]] * 20
    findings = diagnosed(tmp_path / "run.h5", stacks, unsampled=10).findings
    first = next(found for found in findings if found.where.line == 9)
    assert (first.severity, "in one stretch" in first.text) == ("critical", False)


def test_healthy_computing_is_a_note_with_the_hottest_line(tmp_path: Path) -> None:
    stacks = [["f (/src/a.py:3)"]] * 7 + [["g (/src/a.py:9)"]] * 3
    found = diagnosed(tmp_path / "run.h5", stacks)
    (only,) = found.findings
    assert (only.severity, only.gain_ns, only.where.line) == ("note", 0, 3)
    assert "The hottest line is f (/src/a.py:3): 70 % of that time." in only.text
    assert verdict(found) == "No problem found."


def test_few_samples_make_only_a_note(tmp_path: Path) -> None:
    copying = [f"deepcopy ({LIBRARY}/copy.py:128)", "play (/src/game.py:5)"]
    (only,) = diagnosed(tmp_path / "run.h5", [copying] * 4).findings
    assert (only.severity, only.gain_ns) == ("note", 0)


@pytest.mark.parametrize("is_unchanged", [True, False])
def test_the_source_is_judged_only_when_it_is_unchanged(tmp_path: Path, is_unchanged: bool) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    utc_ns = time.time_ns() + 10**9 if is_unchanged else 1
    stacks = [[f"merge ({program}:5)"]] * 9 + [[f"merge ({program}:4)"]]
    first = diagnosed(tmp_path / "run.h5", stacks, utc_ns).findings[0]
    assert first.severity == ("critical" if is_unchanged else "note")
    assert ("searching a list" in first.text) is is_unchanged


@pytest.mark.parametrize(
    ("rounds", "grows"),
    [
        ([(number, 1) for number in range(1, 13)], True),
        ([(2, 1)] * 12, False),
        ([(1, 1)] * 3 + [(4, 1)] * 9, False),
        ([(number, 13 - number) for number in range(1, 13)], False),
        ([(1, 10)] * 6 + [(10, 1)] * 2, False),
        ([(0, 20), (40, 0)], False),
    ],
    ids=["each round takes longer", "equal rounds", "a warm-up", "the other line ends", "few", "two phases"],
)
def test_growth_is_said_only_of_rounds_that_take_longer_and_longer(
    tmp_path: Path, rounds: list[tuple[int, int]], grows: bool
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    scan, rest = [f"merge ({program}:5)"], [f"merge ({program}:4)"]
    stacks = [stack for own, other in rounds for stack in [scan] * own + [rest] * other]
    first = diagnosed(tmp_path / "run.h5", stacks, time.time_ns() + 10**9).findings[0]
    assert ("the cost rises with the input" in first.text) is grows
    if grows:
        assert "One run of it takes 20.00 ms at first and 110.0 ms at the end" in first.text
