"""``warpline query`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from warpline.cli import main

pytest.importorskip("duckdb")


def test_rows_as_a_table(sql_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "query",
                str(sql_path),
                "SELECT 'x' AS a, 1234567 AS b, true AS c UNION ALL SELECT NULL, 2, NULL",
            ]
        )
        == 0
    )
    assert capsys.readouterr().out.splitlines() == [
        "a          b     c",
        "─  ─────────  ────",
        "x  1,234,567  true",
        "–          2     –",
        "",
        "2 rows",
    ]


def test_rows_in_files(sql_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = tmp_path / "query.sql"
    query.write_text("SELECT i, $word AS word FROM range(3) t(i) -- rows\n;", "utf-8")
    for name in ("x.json", "x.csv", "x.parquet", "x.arrow"):
        assert (
            main(["query", str(sql_path), "-f", str(query), "-p", "word=a,b", "-o", str(tmp_path / name)])
            == 0
        )
    assert capsys.readouterr().out == ""
    rows = [{"i": i, "word": "a,b"} for i in range(3)]
    assert json.loads((tmp_path / "x.json").read_text("utf-8")) == rows
    assert (tmp_path / "x.csv").read_text("utf-8") == 'i,word\n0,"a,b"\n1,"a,b"\n2,"a,b"\n'
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(tmp_path / "x.parquet").to_pylist() == rows
    assert arrow.ipc.open_file(tmp_path / "x.arrow").read_all().to_pylist() == rows


def test_examples_and_schema(sql_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "--examples"]) == 0
    assert capsys.readouterr().out.count("-- ") == 20
    assert main(["query", "--schema", str(sql_path), "--format", "json"]) == 0
    tables = {table["name"]: table for table in json.loads(capsys.readouterr().out)}
    assert [column["name"] for column in tables["links"]["columns"]] == ["from_id", "to_id", "kind"]
    assert {
        "events",
        "kernel",
        "launches",
        "slice_at(t)",
        "perfetto.slice",
        "nsys.StringIds",
    } <= tables.keys()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "which capture?"),
        (["SELECT 1"], "which capture?"),
        (["{path}", "SELECT 1", "-p", "x"], "not a parameter: 'x'; write NAME=VALUE"),
        (["{path}", "SELECT 1", "-o", "x.docx"], "rows are written as .arrow, .csv"),
        (["{path}", "-f", "{path}.none"], "No such file"),
        (["{path}", "SELECT 1", "--rows", "-1"], "--rows cannot be negative"),
    ],
)
def test_bad_usage(
    sql_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["query", *(text.format(path=sql_path) for text in arguments)]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
