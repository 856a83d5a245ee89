"""States × ranges: exact, against adding up by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.gui.wait_sample import FIGHTERS, MS, SOURCE, write_wait_sample
from tests.unit.analysis.analysis_tools import Program, by_name, rows_of, training_capture

from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.report import NotRecorded
from warpline.analysis.framework.selection import Selection
from warpline.analysis.structure.thread_states import REASONED_STATES, states_of_event
from warpline.model import Flag
from warpline.model.waits import WAIT_FAMILIES, WaitKind
from warpline.storage import Capture, open_capture

COLUMN_OF = {int(kind): family.color for family in WAIT_FAMILIES for kind in family.kinds}


def test_a_range_has_the_states_of_its_thread(tmp_path: Path) -> None:
    source = tmp_path / "fight.py"
    source.write_text(SOURCE)
    with open_capture(write_wait_sample(tmp_path / "fight.h5", source)) as capture:
        (row,) = rows_of(capture, "range_states")
        # fighter-2 held the lock from 8 to 30 ms and ran all the time.
        assert (row["name"], row["kind"], row["count"]) == ("holds the lock", "Range", 1)
        assert (row["total_ns"], row["running_ns"], row["blocked_ns"]) == (22 * MS, 22 * MS, 0)
        assert row["runnable_ns"] is None
        assert "wait_lock_ns" not in row
        track = capture.track(f"{FIGHTERS.format(73)}/ranges")
        event = capture.event_at(capture.track_lanes(track.index)[0], 20 * MS)
        assert event is not None
        assert states_of_event(capture, event) == (("Running", 22 * MS),)


def test_notes_say_what_was_not_recorded(tmp_path: Path) -> None:
    with training_capture(tmp_path / "training.h5") as capture:
        result = compute_report(capture, "range_states").result
        assert isinstance(result, NotRecorded)
        assert "thread states" in result.reason
        assert states_of_event(capture, int(capture.kinds["range"].rows[0])) is None


States = list[tuple[int, str, int]]
"""(length, name, wait) of each state; a name '' is a gap."""
_STATE = st.tuples(
    st.integers(1, 30),
    st.sampled_from(["running", "runnable", "blocked", "blocked", "blocked", "uninterruptible", ""]),
    st.sampled_from([0, *map(int, WaitKind)]),
)
_RANGE = st.tuples(
    st.integers(-20, 200),
    st.integers(0, 120),
    st.sampled_from("abc"),
    st.sampled_from(["range", "phase", "operator"]),
)
_FLAGS = {"runnable": int(Flag.WAITING), "blocked": int(Flag.IDLE), "uninterruptible": int(Flag.IDLE)}


def write(path: Path, states: States, ranges: list[tuple[int, int, str, str]]) -> Capture:
    program = Program(path)
    program.builder.set_span(-50, 500)
    at = 0
    for length, name, wait in states:
        if name:
            program.builder.add_events(
                program.tracks["state"],
                "thread_state",
                [at],
                [length],
                program.builder.string(name),
                flags=_FLAGS.get(name, 0),
                attributes={"wait": np.ma.MaskedArray([wait], [name != "blocked" or not wait], np.uint8)},
            )
        at += length
    for start, length, name, kind in ranges:
        role = {"range": "ranges", "phase": "phases", "operator": "operators"}[kind]
        program.host(role, kind, start, start + length, name)
    return program.finish()


def by_hand(
    states: States, ranges: list[tuple[int, int, str, str]], low: int, high: int
) -> dict[tuple[str, str], dict[str, int]]:
    """Nanosecond by nanosecond."""
    doing = {}
    at = 0
    for length, name, wait in states:
        told = COLUMN_OF.get(wait, "blocked") if name == "blocked" else name
        doing.update(dict.fromkeys(range(at, at + length), told))
        at += length
    result: dict[tuple[str, str], dict[str, int]] = {}
    for start, length, name, kind in ranges:
        inside = range(max(start, low), min(start + length, high))
        if inside:
            row = result.setdefault((kind, name), {"total_ns": 0, "count": 0})
            row["total_ns"] += len(inside)
            row["count"] += 1
            for moment in inside:
                key = f"{doing.get(moment) or 'unrecorded'}_ns"
                row[key] = row.get(key, 0) + 1
    return result


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_STATE, min_size=1, max_size=20), st.lists(_RANGE, min_size=1, max_size=12), st.booleans())
def test_sums_are_exact(
    tmp_path_factory: pytest.TempPathFactory,
    states: States,
    ranges: list[tuple[int, int, str, str]],
    whole: bool,
) -> None:
    low, high = (-50, 500) if whole else (15, 90)
    selection = None if whole else Selection(low, high)
    with write(tmp_path_factory.mktemp("states") / "x.h5", states, ranges) as capture:
        if not any(name for _length, name, _wait in states):
            assert isinstance(compute_report(capture, "range_states").result, NotRecorded)
            return
        titles = {
            capture.kinds[k].spec.title: k for k in ("range", "phase", "operator") if k in capture.kinds
        }
        found = {
            (titles[row["kind"]], row["name"]): {
                key: value for key, value in row.items() if (key.endswith("_ns") or key == "count") and value
            }
            for row in rows_of(capture, "range_states", selection)
        }
        assert found == by_hand(states, ranges, low, high)


def test_the_parts_of_a_split_range_add_up(tmp_path: Path) -> None:
    states: States = [(40, "running", 0), (30, "blocked", WaitKind.GIL), (50, "running", 0)]
    ranges = [(10, 100, "a", "range"), (20, 15, "a", "range")]
    with write(tmp_path / "x.h5", states, ranges) as capture:
        whole = by_name(rows_of(capture, "range_states"))["a"]
        parts = [
            by_name(rows_of(capture, "range_states", Selection(low, high)))["a"]
            for low, high in ((0, 33), (33, 61), (61, 200))
        ]

        def total(key: str) -> Any:
            return sum(part.get(key) or 0 for part in parts)

        for key in ("total_ns", "running_ns", "wait_gil_ns"):
            assert total(key) == whole[key]
        assert whole["total_ns"] == 115
        assert whole["running_ns"] == 115 - 30
    assert REASONED_STATES[0] == "running"
