"""What goes into a `CaptureBuilder` comes out of `open_capture`: events, values, links, samples, by brute force."""

from __future__ import annotations

import dataclasses
import itertools
import re
import subprocess
import sys
from collections import Counter as Tally
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from tests.unit.effort import rounds

from warpline.model import AttributeSpec, Cancelled, Flag, KindSpec, Packing, StorageError
from warpline.storage import NO_STACK, Capture, CaptureBuilder, open_capture, verify
from warpline.storage.write import event_writer, link_writer
from warpline.storage.write.linking import join_keys

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


@pytest.mark.fuzz
@given(SCENARIOS)
@FEW
def test_everything_added_is_read_again(tmp_path: Path, scenario: Scenario) -> None:
    capture, expected = scenario.write(tmp_path / "x.h5")
    with capture:
        check(capture, expected)


@pytest.mark.fuzz
@given(SCENARIOS)
@FEW
def test_tracks_too_large_for_memory_come_in_parts(tmp_path: Path, scenario: Scenario) -> None:
    limit = event_writer.PART_EVENTS_AT_LEAST
    event_writer.PART_EVENTS_AT_LEAST = 16
    try:
        # A budget this small spills every few events and sorts in parts of sixteen.
        capture, expected = scenario.write(tmp_path / "x.h5", memory_budget_bytes=4_000)
    finally:
        event_writer.PART_EVENTS_AT_LEAST = limit
    with capture:
        check(capture, expected)


@pytest.mark.fuzz
@given(SCENARIOS)
@settings(max_examples=rounds(3, 200), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_archive_form_has_the_same_content(tmp_path: Path, scenario: Scenario) -> None:
    capture, expected = scenario.write(tmp_path / "x.h5", compress=True)
    plain, _ = scenario.write(tmp_path / "y.h5")
    with capture, plain:
        check(capture, expected)
        assert not capture.is_mapped
        assert plain.is_mapped
        assert datasets(tmp_path / "x.h5") == datasets(tmp_path / "y.h5")


def datasets(path: Path) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, node: found.update({name: node[:].tolist()}) if hasattr(node, "shape") else None
        )
    return found


@pytest.mark.fuzz
@given(SCENARIOS)
@settings(max_examples=rounds(7), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_links_by_id_lead_from_and_to_the_same_events(tmp_path: Path, scenario: Scenario) -> None:
    added: list[tuple[str, int, int]] = []
    real = CaptureBuilder.add_links

    def spy(self: CaptureBuilder, kind: str, from_ids: ArrayLike, to_ids: ArrayLike) -> None:
        pairs = np.broadcast_arrays(np.atleast_1d(from_ids), np.atleast_1d(to_ids))
        added.extend((kind, a, b) for a, b in zip(*(p.tolist() for p in pairs), strict=True))
        real(self, kind, from_ids, to_ids)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CaptureBuilder, "add_links", spy)
        # Several parts even of a few links.
        patch.setattr(link_writer, "PART_LINKS", 7)
        capture, expected = scenario.write(tmp_path / "x.h5")
    with capture:
        ids = np.array([dict(event.attributes)["id"] for event in read_events(capture)])
        id_of = {**dict(enumerate(ids.tolist())), -1: -1}
        links = capture.links
        found = Tally(
            (links.kind_name(k), id_of[a], id_of[b])
            for a, b, k in zip(
                links.from_row.tolist(), links.to_row.tolist(), links.kind.tolist(), strict=True
            )
        )
        assert found == Tally(added)
        assert links.counts() == Tally(kind for kind, _, _ in added)
        row_of = {int(i): row for row, i in enumerate(ids)} | {-1: -1}
        rows = np.unique(np.random.default_rng(scenario.seed).integers(0, len(expected), 30))
        for row in rows.tolist():
            there, kinds = links.leaving(row)
            assert Tally(zip(map(links.kind_name, kinds.tolist()), there.tolist(), strict=True)) == Tally(
                (kind, row_of[b]) for kind, a, b in added if row_of[a] == row
            )
            there, kinds = links.arriving(row)
            assert Tally(zip(map(links.kind_name, kinds.tolist()), there.tolist(), strict=True)) == Tally(
                (kind, row_of[a]) for kind, a, b in added if row_of[b] == row
            )
        wanted = set(rows.tolist())
        assert sorted(links.leaving_many(rows).tolist()) == [
            i for i, row in enumerate(links.from_row.tolist()) if row in wanted
        ]
        assert sorted(links.arriving_many(rows).tolist()) == [
            i for i, row in enumerate(links.to_row.tolist()) if row in wanted
        ]
        low, high = sorted(rows[[0, -1]].tolist())
        assert sorted(links.leaving_between(low, high).tolist()) == [
            i for i, row in enumerate(links.from_row.tolist()) if low <= row < high
        ]
        assert sorted(links.arriving_between(low, high).tolist()) == [
            i for i, row in enumerate(links.to_row.tolist()) if low <= row < high
        ]


ENDS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 20)), max_size=40)


@pytest.mark.fuzz
@given(ENDS, ENDS)
@settings(max_examples=rounds(80, 5_000))
def test_keys_join_with_the_latest_before(
    sources: list[tuple[int, int]], targets: list[tuple[int, int]]
) -> None:
    keys, starts = np.array(sources + targets, np.int64).reshape(-1, 2).T
    n, rows = len(sources), np.arange(len(keys))
    from_rows, to_rows = join_keys(keys[:n], rows[:n], keys[n:], rows[n:], lambda rows: starts[rows])
    to_rows = to_rows - n
    found = dict(zip(to_rows.tolist(), from_rows.tolist(), strict=True))
    assert len(found) == len(to_rows)
    for row, (key, start) in enumerate(targets):
        same = [(begin, index) for index, (k, begin) in enumerate(sources) if k == key]
        if not same:
            assert row not in found
            continue
        before = [begin for begin, _ in same if begin <= start]
        assert sources[found[row]] == (key, max(before) if before else min(same)[0])


@pytest.mark.parametrize("part", [1, 2, 1000])
def test_keys_are_resolved_within_their_kind_and_scope(
    tmp_path: Path, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_writer, "PART_LINKS", part)
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        # The two sides tick in different clocks; only capture time tells which call came before.
        calls = builder.track("calls", clock=builder.add_clock("host", 1_000_000))
        work = builder.track("work")
        a = builder.add_events(calls, "cuda_api", [1_000_010, 1_000_500, 1_000_020], 5, 0)
        k = builder.add_events(work, "kernel", [30, 40, 600, 5, 50], 1, 0)
        builder.add_link_keys("launch", 0, "from", [8, 8, 9], [a, a + 1, a + 2])
        builder.add_link_keys("launch", 0, "to", [8, 9, 8, 8, 77], [k, k + 1, k + 2, k + 3, k + 4])
        builder.add_link_keys("launch", 1, "to", [8], [k + 4])
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        start = capture.event_times(np.arange(8))[0]
        pairs = {
            (int(start[b]), int(start[a]))
            for a, b in zip(capture.links.from_row, capture.links.to_row, strict=True)
        }
        assert pairs == {(30, 10), (40, 20), (600, 500), (5, 10)}
        kernel = capture.kinds["kernel"].rows
        assert capture.links_to(int(kernel[0]))[1].tolist() == [0]
        assert capture.links.kinds == ("launch",)


@given(st.lists(st.integers(-1, 40), max_size=600), st.integers(1, 300))
@settings(max_examples=50)
def test_many_links_are_sorted_in_parts(values: list[int], part: int) -> None:
    column = np.array(values, np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link_writer, "PART_LINKS", part)
        parts = list(link_writer.sorting_order(column))
    assert np.array_equal(np.concatenate([np.empty(0, np.int64), *parts]), np.argsort(column, kind="stable"))
    if len(values) > 200 and part < 50 and len(set(values)) > 20:
        assert len(parts) > 1


def test_a_link_to_an_unknown_event_is_refused(tmp_path: Path) -> None:
    for bad in (5, -2):
        with CaptureBuilder(tmp_path / "x.h5") as builder:
            builder.add_events(builder.track("t"), "range", [1], 1, 0)
            builder.add_links("flow", 0, bad)
            with pytest.raises(StorageError, match="never added"):
                builder.finish()
        assert list(tmp_path.iterdir()) == []


COUNTER_SAMPLES = st.tuples(
    st.integers(0, 2**32), st.integers(0, 3000), st.sampled_from([0, 2**60]), st.integers(1, 60)
)


@pytest.mark.fuzz
@given(COUNTER_SAMPLES)
@settings(max_examples=rounds(10), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_counters_agree_with_brute_force(tmp_path: Path, setup: tuple[int, int, int, int]) -> None:
    seed, n, origin, bins = setup
    rng = np.random.default_rng(seed)
    times = rng.integers(0, max(1, 3 * n), n) + origin
    values = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        track = builder.track("c", clock=builder.add_clock("other", 9))
        builder.add_counter(track, "first", "W", [origin], [1.0], interpolation="linear")
        for part in np.array_split(np.arange(n), 3):
            builder.add_counter(track, "second", "ratio", times[part], values[part])
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert list(verify(capture)) == []
        first, second = capture.counters_of_tracks[track]
        assert (first.name, first.unit, first.interpolation) == ("first", "W", "linear")
        assert (second.name, second.unit, second.interpolation) == ("second", "ratio", "step")
        order = np.argsort(times, kind="stable")
        assert np.array_equal(second.times, times[order] - 9)
        assert np.array_equal(second.values, values[order], equal_nan=True)
        times, values = second.times, second.values
        for start, stop in (
            (origin - 20, origin + 3 * n + 20),
            (origin + n, origin + n + bins),
            (origin, origin + 1),
        ):
            low, high, mean = second.query(start, stop, bins)
            # Far out, blocks of the pyramid may count in the bin in which they begin: compare whole ranges there.
            edges = [start + int(i * ((stop - start) / bins)) for i in range(bins)] + [stop]
            inside = (times >= start) & (times < stop)
            if inside.sum() / bins <= 32:
                for i in range(bins):
                    chosen = values[(times >= edges[i]) & (times < edges[i + 1])]
                    chosen = chosen[np.isfinite(chosen)]
                    if not len(chosen):
                        assert np.isnan([low[i], high[i], mean[i]]).all()
                    else:
                        assert (low[i], high[i]) == (chosen.min(), chosen.max())
                        assert mean[i] == pytest.approx(chosen.mean(), abs=1e-12)
            elif np.isfinite(values[inside]).any():
                assert np.nanmin(low) >= np.nanmin(values)
                assert np.nanmax(high) <= np.nanmax(values)


def test_every_level_of_a_counter_is_that_of_its_samples(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=10_000)
    values[200:800] = np.nan
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.add_counter(builder.track("c"), "c", "", np.arange(10_000), values)
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        counter = capture.counters[0]
        low, high, mean = counter.pyramid
        at = 0
        for block in (16, 256, 4096):
            for begin in range(0, 10_000, block):
                chosen = values[begin : begin + block]
                chosen = chosen[np.isfinite(chosen)]
                if len(chosen):
                    assert (low[at], high[at]) == (chosen.min(), chosen.max())
                    assert mean[at] == pytest.approx(chosen.mean())
                else:
                    assert np.isnan([low[at], high[at], mean[at]]).all()
                at += 1
        assert at == len(low)
        # One bin over everything: extremes and mean are exact although no sample is read.
        bottom, top, middle = counter.query(0, 10_000, 1)
        assert (bottom[0], top[0]) == (np.nanmin(values), np.nanmax(values))
        # Blocks weigh the same, also those with gaps.
        assert middle[0] == pytest.approx(np.nanmean(values), abs=0.01)
        assert counter.value_at(-1) is None
        assert counter.value_at(300) is None
        assert counter.value_at(10_500) == values[-1]


def test_stacks_and_strings_and_tables(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        texts = ["", "main", "läuft ☕", "\udcff undecodable", "a" * 100_000]
        ids = builder.strings(texts)
        assert builder.strings(texts).tolist() == ids.tolist()
        assert ids[0] == 0
        stack = NO_STACK
        for frame in ids.tolist():
            stack = builder.stack(frame, stack)
        assert builder.stack(ids[1], builder.stack(ids[0])) == 1
        process = builder.add_process(71, name="python", start_ns=5)
        builder.update_process(process, exit_status=3)
        thread = builder.add_thread(process, 72)
        builder.update_thread(thread, name="worker")
        device = builder.add_device(0, "GPU", properties={"sms": 132})
        builder.update_device(device, name="Better GPU")
        builder.add_source("perf", False, "not allowed", remedy="ask")
        builder.add_source("perf", True, lost=4)
        for _ in range(2):
            builder.add_skipped("events", 6, "no end")
            builder.add_warning("careful")
        builder.add_skipped("nothing", 0, "")
        builder.add_pause(5, 8)
        builder.meta["command_line"] = ["a", "b"]
        builder.meta["numbers"] = {"x": np.int64(3), 5: Path("/tmp")}
        builder.set_span(-5, 100)
        parent = builder.track("process/71.1", process=process, rank=3, clock=builder.add_clock("other", 1))
        child = builder.track("process/71.1/x", parent="process/71.1", sort_key=2, title="second")
        again = builder.track("process/71.1/x", title="ignored")
        for title in ("Stream 13", "Stream 7"):
            builder.track(f"process/71.1/{title}", parent=parent, title=title)
        assert child == again
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert capture.stack_frames(stack)[-4:] == ["\ufffd undecodable", "läuft ☕", "main", ""]
        assert capture.stack_frames(NO_STACK) == []
        assert capture.strings.id("läuft ☕") == ids[2]
        assert capture.strings.id("unknown") is None
        assert capture.strings.find("LÄU").tolist() == [ids[2]]
        assert capture.strings.find("LÄU", case=True).tolist() == []
        assert ids[1] in capture.strings.find("^m.*n$", regex=True)
        assert (capture.processes[0].exit_status, capture.processes[0].start_ns) == (3, 5)
        assert capture.threads[0].name == "worker"
        assert capture.devices[0].name == "Better GPU"
        assert capture.devices[0].properties == (("sms", 132),)
        assert [(s.enabled, s.lost) for s in capture.sources] == [(True, 4)]
        assert [(s.what, s.count) for s in capture.skipped] == [("events", 12)]
        assert capture.warnings == ("careful",)
        assert capture.pauses.tolist() == [[5, 8]]
        assert capture.meta == {"command_line": ["a", "b"], "numbers": {"x": 3, "5": "/tmp"}}
        assert (capture.span, capture.duration_ns) == ((-5, 100), 105)
        track = capture.track("process/71.1/x")
        assert (track.title, track.rank, track.clock, track.parent) == ("second", 3, 1, 0)
        titles = [capture.tracks[index].title for index in capture.children(0)]
        assert titles == ["Stream 7", "Stream 13", "second"]
        with pytest.raises(KeyError):
            capture.track("nowhere")


def test_clock_offsets_can_be_changed_after_the_fact(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        clock = builder.add_clock("rank 1", 100, "steps", 5)
        track = builder.track("t", clock=clock)
        builder.add_events(track, "range", [150, 300], 10, 0)
        builder.add_counter(track, "c", "", [150], [1.0])
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert capture.event_span(0) == (50, 60)
        moved = capture.with_clock_offsets({clock: 140})
        assert moved.event_span(0) == (10, 20)
        assert moved.counters[0].times.tolist() == [10]
        assert moved.query([0], 0, 30, 30).rect_start.tolist() == [10]
        assert capture.event_span(0) == (50, 60)


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda b, t: b.add_events(t, "range", [1, 2], [1, -1], 0), "negative duration"),
        (lambda b, t: b.add_events(t, "range", [2**62 + 1], 1, 0), "beyond 2"),
        (lambda b, t: b.add_events(t, "range", [1], 1, 0, attributes={"nope": 1}), "no attribute 'nope'"),
        (lambda b, t: b.add_events(t, "nope", [1], 1, 0), "unknown kind 'nope'"),
        (lambda b, _: b.add_events(99, "range", [1], 1, 0), "no track 99"),
        (lambda b, t: b.add_events(t, "range", [1, 2], [1, 2, 3], 0), "3 durations for 2 events"),
        (lambda b, t: b.add_events(t, "range", [1, 2], 1, [0, 0, 0]), "3 names for 2 events"),
        (
            lambda b, t: b.add_events(t, "alpha", [1, 2], 1, 0, attributes={"id": [1, 2, 3]}),
            "3 values of id for 2",
        ),
        (lambda b, _: b.add_links("flow", [1, 2], [1]), "2 starts and 1 ends"),
        (lambda b, _: b.add_link_keys("flow", 0, "from", [1, 2], [1]), "2 keys for 1"),
        (lambda b, t: b.add_counter(t, "c", "", [1, 2], [1]), "2 times for 1"),
        (lambda b, t: b.add_counter(t, "c", "", [1], [1], interpolation="cubic"), "cubic"),
        (lambda b, _: b.add_kind(KindSpec("a/b", "", "", "")), "cannot be the name"),
        (lambda b, _: b.track("x", parent="nowhere"), "no track 'nowhere'"),
        (lambda b, _: b.track("x", clock=5), "no clock 5"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_the_builder_intact(
    tmp_path: Path, add: Callable[[CaptureBuilder, int], object], message: str
) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.add_kind(KINDS[0])
        track = builder.track("t")
        builder.add_events(track, "alpha", [5], 1, 0, attributes={"id": 1})
        with pytest.raises(StorageError, match=re.escape(message)):
            add(builder, track)
        builder.add_events(track, "alpha", [9], 1, 0, attributes={"id": 2})
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert capture.events.start.tolist() == [5, 9]
        assert capture.kinds["alpha"].column("id")[0].tolist() == [1, 2]
        assert list(verify(capture)) == []


def test_tracks_nest_only_so_deep(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        track = None
        for depth in range(64):
            track = builder.track(f"t/{depth}", parent=track)
        with pytest.raises(StorageError, match="64 deep"):
            builder.track("t/64", parent=track)
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert len(capture.tracks) == 64


def test_a_lane_of_more_events_than_32_bits_count_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_writer, "MAX_LANE_EVENTS", 9)
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.add_events(builder.track("t"), "range", np.arange(10), 1, 0)
        with pytest.raises(StorageError, match="t has 10 events on one lane and at most 9"):
            builder.finish()
    assert list(tmp_path.iterdir()) == []


def test_leaving_without_finish_leaves_no_file(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5", memory_budget_bytes=100) as builder:
        builder.add_events(builder.track("t"), "range", np.arange(100_000), 1, 0)
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_cancelling_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "x.h5"
    target.write_text("before")
    calls = itertools.count()
    steps: list[float] = []
    with CaptureBuilder(target) as builder:
        builder.add_events(builder.track("t"), "range", np.arange(1000), 1, 0)
        with pytest.raises(Cancelled):
            builder.finish(lambda fraction, _: steps.append(fraction), lambda: next(calls) > 3)
    assert len(steps) == 4
    assert steps == sorted(steps)
    assert [path.name for path in tmp_path.iterdir()] == ["x.h5"]
    assert target.read_text() == "before"


def test_an_existing_file_is_kept_when_asked(tmp_path: Path) -> None:
    target = tmp_path / "x.h5"
    target.write_text("before")
    with pytest.raises(StorageError, match="exists already"):
        CaptureBuilder(target, overwrite=False)
    with pytest.raises(StorageError, match="does not exist"):
        CaptureBuilder(tmp_path / "nowhere" / "x.h5")
    with pytest.raises(StorageError, match="is a directory"):
        CaptureBuilder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["x.h5"]


def test_a_full_disk_is_told_before_anything_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.add_events(builder.track("t"), "range", np.arange(1000), 1, 0)
        usage = shutil.disk_usage(tmp_path)._replace(free=1 << 20)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
        with pytest.raises(StorageError, match="free some space"):
            builder.finish()
    assert list(tmp_path.iterdir()) == []


def test_an_empty_capture_is_a_capture(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert (len(capture.events), len(capture.lanes), len(capture.tracks)) == (0, 0, 0)
        assert capture.span == (0, 0)
        assert capture.kinds == {}
        assert capture.links.counts() == {}
        assert capture.counters == ()
        assert list(verify(capture)) == []


def test_the_reader_in_the_specification_works(tmp_path: Path, repository: Path) -> None:
    text = (repository / "docs" / "format.md").read_text()
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code is not None
    assert len(code[1].strip().splitlines()) <= 12
    with CaptureBuilder(tmp_path / "run.h5") as builder:
        builder.add_events(builder.track("a/b"), "range", [0, 5, 20], [10, 2, 7], builder.string("x"))
        builder.add_events(builder.track("c"), "range", np.arange(5000) * 10, 3, builder.string("y"))
        builder.finish()
    done = subprocess.run(
        [sys.executable, "-c", code[1]], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "a/b 2 events 17 ns",
        "a/b 1 events 2 ns",
        "c 5000 events 15000 ns",
    ]


@pytest.mark.parametrize(
    ("path", "index", "value", "message"),
    [
        ("events/duration", 3, -5, "negative duration"),
        ("events/duration", 3, 10**6, "overlap the next one"),
        ("events/start", 3, -(10**6), "overlap the next one"),
        ("events/name", 3, 99, "not in the string table"),
        ("events/kind", 3, 99, "kind that the capture does not describe"),
        ("kinds/range/row", 3, 2, "not ascending rows"),
        ("kinds/mark/row", 0, 0, "events of another kind"),
        ("kinds/range/attributes/message", 3, 99, "texts that are not in the string table"),
        ("links/from_row", 1, 10**6, "outside the capture"),
        ("links/from_row", 2, 0, "not sorted by from_row"),
        ("links/by_to", 0, 2, "index by to_row"),
        ("links/kind", 0, 9, "link is of a kind"),
        ("counters/time", 2, -5, "times go back"),
        ("counters/max", 1, 77.0, "pyramid does not fit"),
        ("lod/row", 2, 77, "level of detail does not fit"),
        ("lod/rest", 2, 77, "level of detail does not fit"),
        ("lod/skip_events", 1, 77, "skip index does not fit"),
        ("lod/skip_entries", 0, 77, "skip index does not fit"),
        ("stacks/parent", 0, 1, "stack"),
        ("strings/offset", 1, 10**6, "string table"),
    ],
)
def test_planted_defects_are_found(tmp_path: Path, path: str, index: int, value: float, message: str) -> None:
    target = tmp_path / "x.h5"
    with CaptureBuilder(target) as builder:
        builder.add_kind(
            KindSpec("range", "", "", "", (AttributeSpec("message", "string", "Message"),)),
        )
        builder.add_kind(KindSpec("mark", "", "", ""))
        track, other = builder.track("a"), builder.track("b")
        name = builder.string("x")
        builder.add_events(track, "range", np.arange(3000) * 10, 3, name, attributes={"message": name})
        builder.add_events(other, "mark", [3, 4], 0, name)
        builder.add_links("flow", [4, 9, 7], [8, 9, 2])
        builder.add_counter(track, "c", "", np.arange(100), np.arange(100.0))
        builder.stack(name, builder.stack(name))
        builder.finish()
    with open_capture(target) as capture:
        assert list(verify(capture)) == []
    with h5py.File(target, "r+") as file:
        file[path][index] = value
    with open_capture(target) as capture:
        defects = list(verify(capture))
    assert any(message in defect for defect in defects), defects


@pytest.mark.fuzz
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 12)), min_size=1, max_size=60),
    st.sampled_from([1, 500, 1 << 20]),
    st.integers(1, 7),
)
@settings(max_examples=rounds(12, 3_000), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_events_of_many_tracks_at_once_are_those_added_one_by_one(
    tmp_path: Path, events: list[tuple[int, int, int]], budget: int, size: int
) -> None:
    def write(path: Path, at_once: bool) -> list[tuple[object, ...]]:
        with CaptureBuilder(path, memory_budget_bytes=budget) as builder:
            tracks = np.array([builder.track(f"t/{number}") for number in range(4)])
            ids: list[int] = []
            pieces = range(0, len(events), size) if at_once else range(len(events))
            for first in pieces:
                part = events[first : first + (size if at_once else 1)]
                track, start, duration = np.array(part).T
                numbers = np.arange(first, first + len(part))
                values = {"correlation": np.ma.MaskedArray(numbers, numbers % 3 == 0)}
                where = tracks[track] if at_once else int(tracks[track[0]])
                added = builder.add_events(where, "kernel", start, duration, 0, attributes=values)
                ids.extend(range(added, added + len(part)))
            builder.add_links("flow", ids[:-1], ids[1:])
            builder.finish()
        with open_capture(path) as capture:
            found, valid = capture.kinds["kernel"].column("correlation")
            own = zip(found.tolist(), valid.tolist(), strict=True)
            number = dict(zip(capture.kinds["kernel"].rows.tolist(), own, strict=True))
            rows = range(len(capture.events))
            times = zip(capture.events.start.tolist(), capture.events.duration.tolist(), strict=True)
            links = sorted(zip(capture.links.from_row.tolist(), capture.links.to_row.tolist(), strict=True))
            lanes = capture.lanes_of_rows(np.arange(len(capture.events))).tolist()
            return [*zip(times, lanes, (number[row] for row in rows), strict=True), *links]

    assert write(tmp_path / "a.h5", True) == write(tmp_path / "b.h5", False)
