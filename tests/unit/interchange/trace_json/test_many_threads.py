"""Interleaved events of many threads give the same result as separate ones."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds
from tests.unit.interchange.import_tools import e, imported, trace_file

from warpline.storage import Capture

Told = tuple[str, int, int, str, str]
"""Kind, start and duration in ns, track, arguments."""

EVENTS = st.lists(
    st.tuples(st.sampled_from("BBEEitgpPQ"), st.integers(0, 4), st.none() | st.integers(0, 2)),
    min_size=1,
    max_size=40,
)


def event(place: int, letter: str, thread: int, number: int | None) -> dict[str, Any]:
    """Threads 3 and 4 belong to another process; events are a microsecond apart."""
    more: dict[str, Any] = {} if number is None else {"args": {letter: number}}
    if letter in "tgp":
        more["s"] = letter
    elif letter in "PQ":
        more |= {"sf": number or 0, "cat": "cpu_sample" if letter == "Q" else "other"}
    phase = {"t": "i", "g": "I", "p": "R", "Q": "P"}.get(letter, letter)
    return e(phase, "n", place, pid=1 + thread // 3, tid=thread, **more)


def one_by_one(events: list[tuple[str, int, int | None]]) -> list[Told]:
    """The expected result, from a stack for every thread."""
    found: list[Told] = []
    open_: dict[int, list[tuple[int, int | None]]] = {}
    last: dict[int, int] = {}
    for place, (letter, thread, number) in enumerate(events):
        process, at = f"process/{1 + thread // 3}.1", place * 1000
        own = f"{process}/thread/{thread}.1/"
        told = "" if number is None else json.dumps({letter: number})
        if letter in "BEit":
            last[thread] = at
        if letter == "B":
            open_.setdefault(thread, []).append((place, number))
        elif letter == "E" and open_.get(thread):
            begin, of_begin = open_[thread].pop()
            args = {} if of_begin is None else {"B": of_begin}
            args |= {} if number is None else {"E": number}
            told = json.dumps(args) if args else ""
            found.append(("range", begin * 1000, at - begin * 1000, f"{own}ranges", told))
        elif letter in "it":
            found.append(("range", at, 0, f"{own}ranges", told))
        elif letter in "gp":
            found.append(("range", at, 0, "instants" if letter == "g" else f"{process}/instants", told))
        elif letter in "PQ":
            kind, row = ("sample", "samples") if letter == "P" else ("cpu_sample", "cpu-samples")
            found.append((kind, at, 0, own + row, str(number or 0)))
    for thread, left in open_.items():
        for begin, of_begin in left:
            told = "" if of_begin is None else json.dumps({"B": of_begin})
            own = f"process/{1 + thread // 3}.1/thread/{thread}.1/ranges"
            found.append(("range", begin * 1000, last[thread] - begin * 1000, own, told))
    return sorted(found)


def taken_in(capture: Capture) -> list[Told]:
    found: list[Told] = []
    for kind, table in capture.kinds.items():
        for row in table.rows.tolist():
            told = table.at(row)
            if kind == "range":
                text = capture.strings[told["payload"] or 0]
            else:
                text = capture.stack_frames(told["stack"])[0].removeprefix("f")
            start, duration = int(capture.events.start[row]), int(capture.events.duration[row])
            found.append((kind, start, duration, capture.tracks[capture.track_of_row(row)].uri, text))
    return sorted(found)


@pytest.mark.fuzz
@given(EVENTS)
@settings(max_examples=rounds(25, 2_000), deadline=None)
def test_interleaved_threads_give_the_same_tracks_as_separate_ones(
    events: list[tuple[str, int, int | None]],
) -> None:
    expected = one_by_one(events)
    if not expected:
        return
    with TemporaryDirectory() as name:
        made = [event(place, *told) for place, told in enumerate(events)]
        frames = {str(number): {"name": f"f{number}"} for number in range(3)}
        path = trace_file(Path(name), made, stackFrames=frames)
        with imported(Path(name), path) as capture:
            assert taken_in(capture) == expected
