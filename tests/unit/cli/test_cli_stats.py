"""`warpline stats`: formats, ranges, tracks, sorting, units, terminals, and what is not recorded."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from tests.unit.analysis.analysis_tools import Program

from warpline.analysis.framework import registry
from warpline.analysis.framework import report_json as rendering
from warpline.analysis.framework.cell_text import format_value, table_units
from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.fitting import shorten, shorten_apart, shorten_place
from warpline.analysis.framework.not_recorded import lacking
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.registry import compute_report, reports
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.text_tables import largest_time, wrapped
from warpline.cli import main
from warpline.i18n.width import text_width
from warpline.storage import open_capture

US = 1_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = Program(tmp_path_factory.mktemp("capture") / "run.h5")
    for number in range(10):
        at = number * 100 * US
        call = program.launch(at, at + 5 * US)
        name = "void cutlass::Kernel2<" + "x" * 120 + ">" if number % 2 else "gemm"
        program.gpu("kernel", 7, at + 10 * US, at + (20 + number) * US, name, call)
        program.host("ranges", "range", at, at + 50 * US, "步骤")
    program.builder.set_span(0, 1_000 * US)
    program.finish().close()
    return program.path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["stats", *arguments]) == 0
    return capsys.readouterr().out


def test_json_of_a_report(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, str(path), "--report", "cuda_gpu_kern_sum", "--format", "json"))
    assert found["report"] == "cuda_gpu_kern_sum"
    assert found["range_ns"] == [0, 1_000 * US]
    units = {column["name"]: column["unit"] for column in found["columns"]}
    assert units["total_ns"] == "ns"
    assert units["ratio"] == "ratio"
    assert [set(row) for row in found["rows"]] == [set(units)] * 2
    first = found["rows"][1]
    assert (first["name"], first["count"], first["total_ns"], first["med_ns"]) == (
        "gemm",
        5,
        70 * US,
        14 * US,
    )
    assert isinstance(first["total_ns"], int)
    assert isinstance(first["med_ns"], float)


def test_json_of_what_was_not_recorded(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, str(path), "--report", "osrt_sum", "--format", "json"))
    assert found["rows"] is None
    assert "not recorded" in found["reason"]
    several = json.loads(
        run(capsys, str(path), "--report", "osrt_sum", "--report", "nvtx_sum", "--format", "json")
    )
    assert [report["report"] for report in several] == ["osrt_sum", "nvtx_sum"]


def test_a_range_and_tracks_select(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(
        run(capsys, str(path), "--report", "kernel", "--format", "json", "--range", "100us:215us")
    )
    assert found["range_ns"] == [100 * US, 215 * US]
    assert [(row["count"], row["total_ns"]) for row in found["rows"]] == [(1, 11 * US), (1, 5 * US)]
    found = json.loads(
        run(capsys, str(path), "--report", "cuda_gpu_sum", "--format", "json", "--track", "*/stream/7")
    )
    assert sum(row["count"] for row in found["rows"]) == 10
    text = run(capsys, str(path), "--report", "cuda_gpu_sum", "--track", "*/stream/7")
    assert "GPU work in the whole capture, tracks */stream/7 only\n" in text
    text = run(capsys, str(path), "--report", "steps", "--step", "epoch")
    assert "no range is named 'epoch'" in text


def test_sorting_by_name_title_and_backwards(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def names(*arguments: str) -> list[int]:
        found = json.loads(
            run(capsys, str(path), "--report", "cuda_gpu_trace", "--format", "json", *arguments)
        )
        return [row["duration_ns"] // US for row in found["rows"]]

    assert names("--sort", "duration_ns") == list(range(19, 9, -1))
    assert names("--sort", "Duration") == list(range(19, 9, -1))
    assert names("--sort=-duration_ns") == list(range(10, 20))


def test_csv_in_a_unit(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, str(path), "--report", "cuda_gpu_kern_sum", "--format", "csv", "--unit", "us")
    rows = list(csv.DictReader(text.splitlines()))
    assert rows[1]["name"] == "gemm"
    assert float(rows[1]["total_us"]) == 70.0


def test_without_a_report_what_is_missing_takes_one_line_at_the_end(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = run(capsys, str(path))
    missing = [line for line in text.splitlines() if "not recorded" in line]
    assert missing == [text.splitlines()[-1]]
    assert missing[0].startswith("not recorded here: ")
    assert "thread_state" in missing[0]
    assert "(cuda_gpu_kern_sum)" in text
    assert "cuda_gpu_kern_sum" not in missing[0]
    asked = run(capsys, str(path), "--report", "thread_state")
    assert "(thread_state)\n  not recorded: " in asked


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_text_tables_fit_the_terminal(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run(capsys, str(path), "--report", "all").splitlines()
    assert len(lines) > 5 * len(reports())
    assert max(text_width(line) for line in lines) <= width


def test_names_that_differ_only_in_the_middle_stay_apart() -> None:
    def kernel(what: str, tile: int) -> str:
        return f"void split_embedding_codegen_{what}_unweighted_kernel_{tile}<float, float, float, long>)"

    names = [kernel(what, tile) for what in ("forward", "backward") for tile in (1, 2, 3)]
    names = [*names, "gemm", kernel("forward", 2)]
    for width in range(24, 90):
        short = shorten_apart(names, width)
        assert max(map(text_width, short)) <= width
        assert len(set(short)) == len(set(names))
        assert short[6] == "gemm"
        assert short[7] == short[1]
        assert all(text.startswith("void") for text in short[:6])
    wide = ["一个很长很长的内核名称" + letter + "一个很长很长的内核名称" for letter in "ab"]
    first, second = shorten_apart(wide, 20)
    assert first != second
    assert max(text_width(first), text_width(second)) <= 20


def test_a_place_is_shown_without_its_folders_before_anything_else_of_it_goes() -> None:
    place = "Loader.load (/srv/project/data/set.py:41)"
    assert shorten_place(place, len(place)) == place
    assert shorten_place(place, len(place) - 1) == "Loader.load (…/set.py:41)"
    assert shorten_place(place, 24) == "…/set.py:41"
    assert shorten_place(place, 5) == place
    assert shorten_place("f (C:\\x y\\set.py:41)", 15) == "f (…/set.py:41)"
    assert shorten_place("not a place at all", 5) == "not a place at all"


def test_a_column_alone_has_the_unit_in_which_its_largest_time_is_short() -> None:
    def unit_of(values: Any) -> str:
        return table_units([largest_time(values)])[0]

    assert unit_of(np.array([0, 9_999])) == "ns"
    assert unit_of(np.array([10_000, 1])) == "us"
    assert unit_of(np.array([418_334_613, 120])) == "ms"
    assert unit_of(np.array([np.nan, 2e13])) == "s"
    assert unit_of(np.ma.MaskedArray([5, 10**9], [False, True])) == "ns"
    assert unit_of(np.ma.MaskedArray([5], [True])) == "ns"


def test_times_that_stand_beside_each_other_have_one_unit() -> None:
    ms = 1_000_000
    assert table_units([105 * ms, 168 * ms, 2_277_000, 176_500, 0]) == ["ms"] * 5
    assert table_units([607 * ms, 3_855_500, 607 * ms]) == ["ms"] * 3
    # A total of many thousand short calls is no number of their unit.
    assert table_units([591 * ms, 67_000, 52_000, 1_000, 1_500_000]) == ["ms", "us", "us", "us", "us"]
    assert table_units([0, 0]) == ["ns", "ns"]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (418_334_613, "ms", "418.335"),
        (120, "ms", "0.00012"),
        (1_640, "ms", "0.0016"),
        (9_000, "ms", "0.009"),
        (0, "ms", "0.000"),
        (-2_000, "ms", "-0.002"),
        (0.2, "us", "0.000"),
        (7, "s", "0.000000007"),
        (1_234_567, "ns", "1,234,567"),
    ],
)
def test_small_times_beside_large_ones_keep_their_digits(value: float, unit: str, text: str) -> None:
    assert format_value(value, Column("total_ns", "Total", Role.DURATION), unit) == text


def test_parts_of_a_table_make_the_same_json_and_csv(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def both() -> tuple[object, str]:
        chosen = (str(path), "--report", "cuda_gpu_trace", "--format")
        return json.loads(run(capsys, *chosen, "json")), run(capsys, *chosen, "csv")

    whole = both()
    monkeypatch.setattr(rendering, "_PART_ROWS", 3)
    assert both() == whole
    found, text = whole
    assert isinstance(found, dict)
    assert len(found["rows"]) == 10
    for row, cells in zip(found["rows"], csv.DictReader(text.splitlines()), strict=True):
        assert {key: "" if value is None else str(value) for key, value in row.items()} == cells


def test_every_ratio_says_of_what(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for spec in reports():
        found = json.loads(run(capsys, str(path), "--report", spec.name, "--format", "json"))
        for column in found["columns"]:
            if column["unit"] == "ratio":
                assert column.get("of"), (spec.name, column)


def test_the_list_names_reports_and_reasons_and_computes_none(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(_view: View, _options: Options) -> NoReturn:
        pytest.fail("a report that is only listed was computed")

    specs = [replace(spec, compute=computed) for spec in reports()]
    monkeypatch.setattr(registry, "reports", lambda: specs)
    lines = run(capsys, str(path), "--list").splitlines()
    assert [line.split()[0] for line in lines] == [spec.name for spec in specs]
    said = {line.split()[0]: line for line in lines}
    assert said["cuda_gpu_kern_sum"].endswith(" 10 events")
    assert "not recorded: operators were not recorded" in said["operator"]
    assert run(capsys, str(path), "--list", "--range", "0s:250us").count(" 3 events") > 1


def test_the_list_says_what_the_reports_say(path: Path) -> None:
    with open_capture(path) as capture:
        for spec in reports():
            if lacking(spec, capture) is not None:
                assert compute_report(capture, spec.name).table is None, spec.name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--report", "nothing"], "no report 'nothing'"),
        (["--report", "kernel", "--sort", "colour"], "no column 'colour'"),
        (["--track", "nowhere"], "no track matches"),
        (["--format", "csv"], "CSV holds one report"),
        (["--range", "5s:6s"], "this part has no events; the capture lasts 1"),
    ],
)
def test_mistakes_end_in_one_line(
    path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["stats", str(path), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_long_texts_lose_their_middle() -> None:
    assert shorten("abcdefghij", 10) == "abcdefghij"
    assert shorten("abcdefghijk", 7) == "abcd…jk"
    assert text_width(shorten("步骤步骤步骤步骤", 9)) <= 9


def test_long_sentences_are_broken_where_they_can_be() -> None:
    assert list(wrapped("one two three", 9, "  ")) == ["  one two", "  three"]
    assert list(wrapped("a 步骤步骤步骤", 10)) == ["a", "步骤步骤步", "骤"]
