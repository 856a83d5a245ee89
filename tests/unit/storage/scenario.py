"""Random captures, and what brute force says must be read of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from tests.unit.effort import rounds

from warpline.model import AttributeSpec, Flag, KindSpec, Packing
from warpline.storage import Capture, CaptureBuilder, open_capture, verify

KINDS = tuple(
    KindSpec(
        name,
        name.title(),
        "range",
        "range",
        (
            AttributeSpec("id", "int64", "Id"),
            AttributeSpec("size", "uint32", "Size", "bytes", {1: "one", 2: "two"}),
            AttributeSpec("share", "float64", "Share"),
            AttributeSpec("text", "string", "Text"),
            AttributeSpec("hot", "bool", "Hot"),
        ),
    )
    for name in ("alpha", "beta", "gamma")
)


@dataclasses.dataclass(frozen=True)
class Event:
    """What one event must look like when it is read."""

    track: str
    kind: str
    start: int
    duration: int
    name: str
    flags: int
    attributes: tuple[tuple[str, object], ...]


@dataclasses.dataclass
class Scenario:
    """A capture's worth of random events and links, and the events as a list for brute force."""

    seed: int
    origin: int
    events: int
    shape: str
    span: int
    packing: Packing = Packing.NEST

    def write(self, path: Path, **options: Any) -> tuple[Capture, list[Event]]:
        rng = np.random.default_rng(self.seed)
        expected: list[Event] = []
        with CaptureBuilder(path, **options) as builder:
            for spec in KINDS:
                builder.add_kind(spec)
            clocks = [0, builder.add_clock("other", 7), builder.add_clock("late")]
            tracks = [
                builder.track(f"t/{i}", clock=clocks[i % 3], packing=self.packing if i else Packing.PACK)
                for i in range(3)
            ]
            while len(expected) < self.events:
                batch = int(rng.integers(1, max(2, self.events // 5)))
                self._add_batch(builder, rng, expected, tracks[int(rng.integers(3))], batch)
            self._link(builder, rng, expected)
            builder.set_clock_offset(clocks[2], -11)
            builder.finish()
        return open_capture(path), expected

    def _add_batch(
        self,
        builder: CaptureBuilder,
        rng: np.random.Generator,
        expected: list[Event],
        track: int,
        n: int,
    ) -> None:
        start, duration = self._times(rng, n)
        kind = KINDS[int(rng.integers(3))].name
        first = len(expected)
        single = rng.random() < 0.3
        name = builder.string("alone") if single else builder.strings(f"n{i}" for i in rng.integers(0, 9, n))
        flags = int(Flag.IDLE) if single else rng.choice([0, 1, 32, 64], n)
        attributes: dict[str, ArrayLike] = {"id": np.arange(first, first + n)}
        told: dict[str, list[object]] = {"id": list(range(first, first + n))}
        for attribute, values in (
            ("size", rng.integers(0, 2**32, n, dtype=np.uint32)),
            ("share", rng.normal(size=n)),
            ("text", builder.strings(f"ä{i}" for i in rng.integers(0, 5, n))),
            ("hot", rng.integers(0, 2, n).astype(bool)),
        ):
            choice = rng.integers(4)
            if choice == 0:
                continue
            plain = [builder.text(v) if attribute == "text" else v for v in values.tolist()]
            if choice == 1:
                mask = rng.random(n) < 0.5
                attributes[attribute] = np.ma.MaskedArray(values, mask)
                told[attribute] = [None if hidden else v for v, hidden in zip(plain, mask, strict=True)]
            elif choice == 2:
                attributes[attribute] = values[0]
                told[attribute] = [plain[0]] * n
            else:
                attributes[attribute] = values
                told[attribute] = plain
        returned = builder.add_events(track, kind, start, duration, name, flags=flags, attributes=attributes)
        assert returned == first
        names = np.broadcast_to(name, n).tolist()
        every_flag = np.broadcast_to(flags, n).tolist()
        for i in range(n):
            every_value = tuple(
                (spec.name, told[spec.name][i] if spec.name in told else None) for spec in KINDS[0].attributes
            )
            expected.append(
                Event(
                    f"t/{track}",
                    kind,
                    int(start[i]),
                    int(duration[i]),
                    builder.text(names[i]),
                    every_flag[i],
                    every_value,
                )
            )

    def _times(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        start = rng.integers(0, self.span, n)
        if self.shape == "ties":
            start -= start % 5
        if self.shape == "nested":
            # Intervals of a binary tree never cross.
            size = 1 << rng.integers(0, 6, n)
            start, duration = start // size * size, size
        elif self.shape == "instants":
            duration = np.where(rng.random(n) < 0.6, 0, rng.integers(0, 9, n))
        else:
            duration = rng.integers(0, max(2, self.span // 20), n)
        return start + self.origin, duration.astype(np.int64)

    def _link(self, builder: CaptureBuilder, rng: np.random.Generator, expected: list[Event]) -> None:
        ends = np.arange(-1, len(expected))
        builder.add_links("flow", rng.choice(ends, 20), rng.choice(ends, 20))
        builder.add_links("wakeup", -1, 0)


def read_events(capture: Capture) -> list[Event]:
    """Every event of a capture, by its row."""
    attributes: dict[int, tuple[tuple[str, object], ...]] = {}
    for name, table in capture.kinds.items():
        assert table.spec.name == name
        for row in table.rows.tolist():
            found = table.at(row)
            values = []
            for spec in KINDS[0].attributes:
                value = found.get(spec.name)
                if spec.dtype == "string" and value is not None:
                    value = capture.strings[value]
                values.append(
                    (spec.name, bool(value) if spec.dtype == "bool" and value is not None else value)
                )
            attributes[row] = tuple(values)
    tracks = capture.tracks_of_rows(np.arange(len(capture.events)))
    events = capture.events
    return [
        Event(
            capture.tracks[tracks[row]].uri,
            capture.kind_of_code[int(events.kind[row])],
            int(events.start[row]),
            int(events.duration[row]),
            capture.strings[int(events.name[row])],
            int(events.flags[row]),
            attributes[row],
        )
        for row in range(len(events))
    ]


def check(capture: Capture, expected: list[Event]) -> None:
    found = read_events(capture)
    by_id = {dict(event.attributes)["id"]: event for event in found}
    assert len(found) == len(expected) == len(by_id)
    assert [by_id[i] for i in range(len(expected))] == expected
    starts, durations = capture.events.start, capture.events.duration
    for lane in range(len(capture.lanes)):
        first = int(capture.lanes.first[lane])
        run = slice(first, first + int(capture.lanes.count[lane]))
        assert np.all(starts[run][:-1] + durations[run][:-1] <= starts[run][1:])
    assert list(verify(capture)) == []
    offsets = {"t/0": 0, "t/1": 7, "t/2": -11}
    start, stop = capture.event_times(np.arange(len(found)))
    assert start.tolist() == [event.start - offsets[event.track] for event in found]
    assert capture.span == (int(start.min()), int(stop.max()))


SCENARIOS = st.builds(
    Scenario,
    st.integers(0, 2**32),
    st.sampled_from([0, -(2**40), 2**53 + 1, 2**61]),
    st.integers(1, 250),
    st.sampled_from(["ties", "nested", "instants", "overlapping"]),
    st.sampled_from([10, 300, 10**6]),
    st.sampled_from(list(Packing)),
)
FEW = settings(max_examples=rounds(7), suppress_health_check=[HealthCheck.function_scoped_fixture])
