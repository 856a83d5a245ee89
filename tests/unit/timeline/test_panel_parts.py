"""What panels are made of, without a window: filters of names and columns, areas of shares, ticks, thinned curves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

pytest.importorskip("PySide6")

import itertools

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NO_NAME, Table, Targets  # Qt may be missing
from warpline.cli import main
from warpline.storage import CaptureBuilder, open_capture
from warpline_app.panels.charts.chart import linear_ticks, log_ticks, whole_ticks
from warpline_app.panels.charts.share_view import MOST_PARTS, largest, squarified
from warpline_app.panels.facts.event_context import EventContext, KindContext
from warpline_app.panels.frame.row_target import target_of
from warpline_app.panels.memory.panel import thinned
from warpline_app.panels.table.column_filter import can_filter, passing
from warpline_app.panels.table.content import TableColumn, tsv
from warpline_app.panels.table.report_columns import share_column, text_of
from warpline_app.state.name_filter import passing_names
from warpline_app.state.timeline_state import Filter

NAMES = ["add", "addmm", "copy_", "Memcpy HtoD"]


def number_column(values: list[float], origin: int = 0) -> TableColumn:
    array = np.array(values)
    return TableColumn("n", lambda i: str(array[i]), sort_values=lambda: array, is_number=True, origin=origin)


def text_column(texts: list[str], codes: list[int]) -> TableColumn:
    array = np.array(codes)
    return TableColumn("t", lambda i: texts[codes[i]], choices=lambda: (array, texts))


# -- filters --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("> 1ms", [False, False, True]),
        (">= 1ms", [False, True, True]),
        ("<=2us", [True, False, False]),
        ("1us..1ms", [True, True, False]),
        ("2000", [True, False, False]),
        ("= 1 MiB", [False, False, False]),
        ("< 1 MiB", [True, True, False]),
    ],
)
def test_numbers_are_compared_with_their_units(text: str, wanted: list[bool]) -> None:
    assert passing(number_column([2_000, 1_000_000, 5_000_000]), text, None).tolist() == wanted


def test_numbers_count_from_what_the_cells_count_from_and_only_for_the_items_asked_for() -> None:
    column = number_column([1_000, 3_000, 9_000], origin=1_000)
    assert passing(column, "< 3us", np.array([2, 1, 0])).tolist() == [False, True, True]


def test_a_filter_that_is_not_a_number_is_reported() -> None:
    with pytest.raises(ValueError, match="is not a number"):
        passing(number_column([1.0]), "> much", None)


def test_texts_are_sought_in_part_or_as_a_whole_and_unknown_codes_pass_nothing() -> None:
    column = text_column(NAMES, [0, 1, 2, 3])
    assert passing(column, "ADD", None).tolist() == [True, True, False, False]
    assert passing(column, "=add", None).tolist() == [True, False, False, False]
    broken = TableColumn("t", str, choices=lambda: (np.array([0, 77, -1]), NAMES))
    assert passing(broken, "", None).tolist() == [True, False, False]
    assert can_filter(column)
    assert not can_filter(TableColumn("t", str))


def test_kept_and_hidden_names_are_whole_names(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "names.h5") as builder:
        track = builder.track("process/1.1/range", title="Ranges", role="ranges")
        builder.add_events(track, "range", np.arange(4) * 10, 5, builder.strings(NAMES))
        builder.finish()
    strings = open_capture(tmp_path / "names.h5").strings

    def names(wanted: Filter) -> set[str] | None:
        ids = passing_names(strings, wanted)
        return None if ids is None else {strings[int(i)] for i in ids} & set(NAMES)

    assert names(Filter()) is None
    assert names(Filter(names="add")) == {"add", "addmm"}
    assert names(Filter(kept_names=("add",))) == {"add"}
    assert names(Filter(hidden_names=("add", "gone"))) == {"addmm", "copy_", "Memcpy HtoD"}
    assert names(Filter(names="add", hidden_names=("add",))) == {"addmm"}
    assert names(Filter(kept_names=("copy_",), hidden_names=("copy_",))) == set()


# -- charts ---------------------------------------------------------------------------------------------------


@settings(max_examples=rounds(60))
@given(
    st.lists(st.floats(0.001, 1.0), min_size=1, max_size=20),
    st.floats(10, 2_000),
    st.floats(10, 600),
)
def test_areas_are_in_proportion_and_fill_the_ground(
    shares: list[float], width: float, height: float
) -> None:
    shares = sorted(shares, reverse=True)
    places = squarified(shares, (3.0, 7.0, width, height))
    whole = sum(shares)
    for share, (left, top, wide, high) in zip(shares, places, strict=True):
        assert wide * high == pytest.approx(share / whole * width * height, rel=1e-6)
        assert left >= 3 - 1e-6
        assert top >= 7 - 1e-6
        assert left + wide <= 3 + width + 1e-6
        assert top + high <= 7 + height + 1e-6
    for i, (left, top, wide, high) in enumerate(places):
        for other_left, other_top, other_wide, other_high in places[:i]:
            across = min(left + wide, other_left + other_wide) - max(left, other_left)
            along = min(top + high, other_top + other_high) - max(top, other_top)
            assert across <= 1e-6 or along <= 1e-6, "areas do not overlap"


def test_the_largest_shares_are_named_and_the_rest_is_counted() -> None:
    shares = np.array([0.1, 0.5, 0.0, 0.0001, 0.3, *[0.005] * 30])
    shown, rest = largest(shares)
    assert shown[:3].tolist() == [1, 4, 0]
    assert len(shown) == MOST_PARTS
    assert sorted([*shown.tolist(), *rest.tolist()]) == [i for i in range(len(shares)) if shares[i] > 0]


@settings(max_examples=rounds(100))
@given(st.floats(-1e15, 1e15), st.floats(1e-3, 1e15), st.integers(2, 20))
def test_ticks_are_round_rising_and_inside(low: float, length: float, most: int) -> None:
    high = low + length
    found = linear_ticks(low, high, most)
    assert len(found) <= 2.6 * most + 2
    if length > abs(low) * 1e-9:
        assert all(low - length * 1e-6 <= value <= high + length * 1e-6 for value in found)
        assert all(a < b for a, b in itertools.pairwise(found))


def test_ticks_of_logarithms_and_of_whole_numbers() -> None:
    assert [round(10**v) for v in log_ticks(1.0, 2.0, 8)] == [10, 20, 50, 100]
    assert log_ticks(0.0, 9.0, 5) == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert whole_ticks(0.0, 3.0, 12) == [0.0, 1.0, 2.0, 3.0]
    assert linear_ticks(5.0, 5.0, 4) == []


@settings(max_examples=rounds(40))
@given(st.lists(st.integers(-100, 100), min_size=1, max_size=400), st.integers(4, 40))
def test_thinning_keeps_extremes_and_order(values: list[int], limit: int) -> None:
    times = np.arange(len(values), dtype=np.float64)
    at, kept = thinned(times, np.array(values, np.float64), limit)
    assert len(at) <= max(limit + 2, 4) or len(values) <= limit
    assert kept.max() == max(values)
    assert kept.min() == min(values)
    assert np.all(np.diff(at) > 0)
    assert all(values[int(t)] == v for t, v in zip(at, kept, strict=True))


# -- tables ---------------------------------------------------------------------------------------------------


def report(**columns: object) -> Table:
    data = {name: values for name, values in columns.items() if isinstance(values, np.ndarray | list)}
    roles = {"name": Role.NAME, "total_ns": Role.DURATION, "ratio": Role.SHARE}
    return Table(tuple(Column(name, name, roles[name]) for name in data), data)


def test_a_column_of_times_has_one_unit_and_what_is_missing_is_no_zero() -> None:
    values = np.ma.MaskedArray([1_500_000, 0, 250], [False, True, False])
    text, unit = text_of(Column("total_ns", "Total", Role.DURATION), values)
    assert unit == "µs"
    assert [text(i) for i in range(3)] == ["1,500", "–", "0.2"]
    text, unit = text_of(
        Column("total_ns", "Total", Role.DURATION), np.array([1_901_000_000, 300_000, 120, 0])
    )
    assert unit == "ms"
    assert [text(i) for i in range(4)] == ["1,901", "0.3", "<0.001", "0"], "what is there is no 0"
    text, unit = text_of(Column("ratio", "Share", Role.SHARE), np.array([0.4781, 1.0, np.nan]))
    assert [text(i) for i in range(3)] == ["47.8%", "100%", "–"]


def test_only_parts_of_one_whole_make_a_chart_of_shares() -> None:
    assert share_column(report(name=["a", "b"], ratio=np.array([0.6, 0.4]))) is not None
    assert share_column(report(name=["a", "b"], ratio=np.array([0.9, 0.8]))) is None
    assert share_column(report(name=["a"], total_ns=np.array([3]))) is None


def test_a_row_selects_its_targets() -> None:
    table = report(name=["a", "b"])
    targets = Targets(
        names=np.array([3, NO_NAME], np.uint32),
        kinds=np.array([2, -1], np.int16),
        tracks=np.array([-1, 5], np.int32),
        starts=np.array([-1, 10]),
        stops=np.array([-1, 20]),
    )
    linked = Table(table.columns, table.data, targets=targets)
    first, second = target_of(linked, 0), target_of(linked, 1)
    assert (first.name, first.kind, first.track, first.range_ns) == (3, 2, None, None)
    assert (second.name, second.kind, second.track, second.range_ns) == (None, -1, 5, (10, 20))
    assert target_of(table, 0).is_nothing
    assert not first.is_nothing


def test_copied_rows_are_tab_separated_lines_below_the_titles() -> None:
    columns = (text_column(["a\tb", "c\nd"], [0, 1]), number_column([1.0, 2.0]))
    assert tsv(columns, [1, 0]) == "t\tn\nc d\t2.0\na b\t1.0"


def test_surroundings_of_a_whole_kind_are_those_of_each_event(data_dir: Path, tmp_path: Path) -> None:
    trace = "torch/AMD-AGI+TraceLens/tests/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz"
    assert main(["import", str(data_dir / trace), "-o", str(tmp_path / "bert.h5")]) == 0
    capture = open_capture(tmp_path / "bert.h5")
    one = EventContext(capture)
    for kind in ("kernel", "cuda_api"):
        whole = KindContext(capture, kind)
        rows = capture.kinds[kind].rows.tolist()
        assert len(rows) > 50
        for found, of_one in (
            (whole.launches, one.launch),
            (whole.around("operator"), one.operator),
            (whole.around("phase"), one.phase),
        ):
            expected = [of_one(row) for row in rows]
            assert found.tolist() == [-1 if row is None else row for row in expected]
    assert (KindContext(capture, "kernel").launches >= 0).all()
    assert (KindContext(capture, "kernel").around("operator") >= 0).any()
