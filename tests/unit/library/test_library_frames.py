"""Reports, links, counters, and tables for pandas, Arrow and Polars."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.unit.library.library_tools import MS, STEPS

import warpline
from warpline.analysis.framework.registry import compute_report, reports
from warpline.analysis.framework.report import Texts
from warpline.extras import install_command


def test_a_report_is_a_table(run: warpline.CaptureReader) -> None:
    report = run.report("cuda_gpu_kern_sum")
    assert report.name == "cuda_gpu_kern_sum"
    assert report.range_ns == (0, 2000 * MS)
    assert report.units["total_ns"] == "ns"
    rows = {row["name"]: row for row in report.rows()}
    assert rows["gemm"]["count"] == STEPS // 2
    assert rows["gemm"]["total_ns"] == 40 * MS * STEPS // 2
    assert report["total_ns"].tolist() == [400 * MS, 100 * MS]
    assert report["name"].tolist() == ["gemm", "reduce"]


def test_a_report_about_a_part(run: warpline.CaptureReader) -> None:
    for part in (("1.2s", "1.3s"), "1.2s:1.3s", (1200 * MS, 1300 * MS)):
        rows = list(run.report("cuda_gpu_kern_sum", range=part, track="gpu/*").rows())
        assert [(row["name"], row["total_ns"]) for row in rows] == [("gemm", 40 * MS)]


def test_every_report_is_what_the_command_line_prints(run: warpline.CaptureReader) -> None:
    seen = 0
    for spec in reports():
        table = compute_report(run.storage, spec.name).table
        if table is None:
            with pytest.raises(warpline.NotRecordedError, match=f"{spec.name}: .+; ."):
                run.report(spec.name)
            continue
        seen += 1
        assert list(run.report(spec.name).rows()) == list(table.rows())
    assert seen > 10
    assert list(run.reports) == [spec.name for spec in reports()]


def test_texts_that_were_not_recorded_stay_missing(run: warpline.CaptureReader) -> None:
    report = run.report("cuda_gpu_kern_sum")
    texts = Texts(np.array([1, -1]), {1: "a"}.get)
    report._table = report._table.__class__(
        report._table.columns[:2],
        {report._table.columns[0].name: texts, report._table.columns[1].name: [None, "b"]},
    )
    first, second = (column.name for column in report._table.columns)
    assert report[first].tolist() == ["a", None]
    assert report[second].tolist() == [None, "b"]


def test_mistyped_reports_get_near_names(run: warpline.CaptureReader) -> None:
    with pytest.raises(warpline.UsageError, match="did you mean cuda_gpu_kern_sum"):
        run.report("cuda_gpu_kern")
    with pytest.raises(warpline.UsageError, match="names them all"):
        run.report("xyz")
    with pytest.raises(warpline.UsageError, match="not a range: 5"):
        run.report("overlap", range=5)  # type: ignore[arg-type]


def test_links_lead_from_row_to_row(run: warpline.CaptureReader) -> None:
    links = run.links
    assert len(links) == STEPS
    assert links.kinds["launch"] == STEPS
    assert set(links["kind"]) == {"launch"}
    assert links["from_row"].tolist() == run.events("cuda_api").row.tolist()
    assert links["to_row"].tolist() == run.events("kernel").row.tolist()


def test_counters_are_samples(run: warpline.CaptureReader) -> None:
    (memory,) = run.counters
    assert (memory.track, memory.name, memory.unit) == ("gpu/0", "Memory used", "bytes")
    assert memory.times_ns[:3].tolist() == [0, 100 * MS, 200 * MS]
    assert memory["value"].tolist()[2:5] == [2e6, None, 4e6]
    assert memory.value_at("250ms") == 2e6
    assert memory.value_at("350ms") is None
    low, high, mean = memory.resample(2, range=("0s", "1s"))
    assert (low.tolist(), high.tolist()) == ([0, 5e6], [4e6, 9e6])
    assert mean[0] == pytest.approx((0 + 1 + 2 + 4) / 4 * 1e6)
    with pytest.raises(warpline.UsageError, match="nothing to count"):
        memory.resample(0)


def test_pandas_keeps_what_is_missing(run: warpline.CaptureReader) -> None:
    pandas = pytest.importorskip("pandas")
    frame = run.events("kernel").to_pandas()
    assert len(frame) == STEPS
    assert isinstance(frame["name"].dtype, pandas.CategoricalDtype)
    assert frame["start_ns"].dtype == np.int64
    assert frame["registers_per_thread"].dtype == "UInt32"
    assert int(frame["registers_per_thread"].isna().sum()) == STEPS // 5
    assert frame["registers_per_thread"].min() == 32
    assert frame["thread_id"].isna().all()
    assert frame.groupby("name", observed=True)["duration_ns"].sum().to_dict() == {
        "gemm": 400 * MS,
        "reduce": 100 * MS,
    }
    assert list(run.events().to_pandas(["name", "start_ns"]).columns) == ["name", "start_ns"]
    assert run.report("cuda_gpu_kern_sum").to_pandas()["count"].tolist() == [STEPS // 2] * 2
    assert run.links.to_pandas()["to_row"].isna().sum() == 0
    assert run.counters[0].to_pandas()["value"].isna().sum() == 1
    assert run.events("operator").to_pandas().empty


def test_arrow_keeps_what_is_missing(run: warpline.CaptureReader) -> None:
    pa = pytest.importorskip("pyarrow")
    table = run.events("kernel").to_arrow()
    assert pa.types.is_dictionary(table.schema.field("name").type)
    assert table["registers_per_thread"].null_count == STEPS // 5
    assert table["thread_id"].null_count == STEPS
    assert table["start_ns"].null_count == 0
    assert table["name"].to_pylist()[:2] == ["gemm", "reduce"]
    assert run.counters[0].to_arrow()["value"].null_count == 1
    assert run.events("operator").to_arrow().num_rows == 0


def test_polars_keeps_what_is_missing(run: warpline.CaptureReader) -> None:
    pl = pytest.importorskip("polars")
    frame = run.events(["kernel", "memcpy"]).to_polars()
    assert frame["registers_per_thread"].null_count() == STEPS // 5 + STEPS // 2
    assert frame["copy_kind"].null_count() == STEPS
    assert frame["copy_kind"].drop_nulls().unique().to_list() == ["host to device"]
    assert frame["name"].dtype == pl.Enum
    assert frame["name"].to_list() == list(run.events(["kernel", "memcpy"])["name"])
    assert frame["thread_id"].null_count() == len(frame)
    assert run.events("operator").to_polars().is_empty()
    assert run.report("cuda_gpu_kern_sum").to_polars()["name"].to_list() == ["gemm", "reduce"]


@pytest.mark.parametrize(
    ("module", "method", "install"),
    [
        ("pandas", "to_pandas", "pip install pandas"),
        ("pyarrow", "to_arrow", re.escape(install_command("parquet"))),
        ("polars", "to_polars", "pip install polars"),
    ],
)
def test_what_is_not_installed_is_named(
    run: warpline.CaptureReader, monkeypatch: pytest.MonkeyPatch, module: str, method: str, install: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(warpline.WarplineError, match=install):
        getattr(run.events(), method)()


def test_tables_show_themselves_in_a_notebook(run: warpline.CaptureReader) -> None:
    text = run.events("kernel")._repr_html_()
    assert '<th style="text-align:left">name</th>' in text
    assert '<td style="text-align:left">gemm</td>' in text
    assert ">–</td>" in text
    assert "20 rows" in text
    assert "EventFrame: 20 ×" in repr(run.events("kernel"))


def test_info_is_that_of_the_command_line(
    run: warpline.CaptureReader, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    from warpline.cli import main

    assert main(["info", str(run.path), "--json"]) == 0
    assert run.info() == json.loads(capsys.readouterr().out)
    assert main(["info", str(run.path)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^counters\n  Memory used +\d+  in 1 track$", said, re.MULTILINE)
    assert run.metadata["command_line"] == ["python", "train.py"]
    assert run.duration_ns == 2000 * MS
    assert [process.pid for process in run.processes] == [71]
    assert [thread.tid for thread in run.threads] == [74]
    assert [device.name for device in run.devices] == ["Test GPU"]
    assert run.kinds["kernel"].title
    assert run.tracks[0].uri == "process/71.1"
    assert (run.sources, run.warnings) == ((), ())
    assert len(run.uuid) == 36


def test_real_captures_answer_like_their_reports(data_dir: Path, cache: Path) -> None:
    for pattern in (
        "torch/**/*bert-small*.json.gz",
        "paddle/paddle_lenet*.pb",
        "nsys/**/*h100_2gpu_1s.sqlite",
    ):
        source = next(data_dir.glob(pattern), None)
        if source is None:
            continue
        with warpline.open(source) as capture:
            assert len(capture.events()) == capture.info()["events"]
            for kind, count in capture.info()["kinds"].items():
                table = capture.events(kind)
                assert len(table) == count
                assert {len(values) for values in dict(table).values()} <= {count}
            if capture.info()["kinds"].get("kernel"):
                report = capture.report("cuda_gpu_kern_sum")
                kernels = capture.events("kernel")
                assert report["total_ns"].sum() == kernels["duration_ns"].sum()
                totals = dict(zip(report["name"], report["total_ns"], strict=True))
                name = kernels["name"][0]
                of_name = capture.events("kernel", name=name)["duration_ns"].sum()
                assert totals[name] == of_name
                assert len(set(kernels["name"])) == len(report)
