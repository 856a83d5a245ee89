"""Links between events, given by id or by key, and read both ways."""

from __future__ import annotations

from collections import Counter as Tally
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from tests.unit.effort import rounds
from tests.unit.storage.scenario import SCENARIOS, Scenario, read_events

from warpline.model import StorageError
from warpline.storage import CaptureBuilder, open_capture
from warpline.storage.write import link_writer
from warpline.storage.write.join_keys import join_keys


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
