"""``warpline query`` on the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from warpline.cli import main
from warpline.cli.query_shell import run_shell
from warpline.query.session import QuerySession

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


def test_shortened_texts_are_told(
    sql_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for count, told in ((300, 1), (3, 0)):
        assert main(["query", str(sql_path), f"SELECT repeat('ab ', {count}) AS text, 1 AS one"]) == 0
        out = capsys.readouterr().out
        assert out.count("Texts are shortened to fit; --format csv prints all of them.") == told
        assert max(map(len, out.splitlines())) <= 80


def test_an_interrupt_ends_the_query_not_the_session(
    session: QuerySession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed, asked = ["SELECT 2;", "SELECT 1;"], list[str]()

    def line(_prompt: str) -> str:
        if not typed:
            raise EOFError
        return typed.pop()

    def show(sql: str) -> None:
        asked.append(sql)
        if sql == "SELECT 1;":
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", line)
    run_shell(session, show)
    assert asked == ["SELECT 1;", "SELECT 2;"]
    assert "cancelled" in capsys.readouterr().out


def test_options_may_stand_anywhere(sql_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT i FROM range(9) t(i)"
    for words in (
        ["--rows", "1", str(sql_path), query],
        [str(sql_path), "--rows", "1", query],
        [str(sql_path), query, "--rows", "1"],
    ):
        assert main(["query", "--format", "csv", *words]) == 0
        assert capsys.readouterr().out == "i\n0\n"
    both = "SELECT i FROM range(9) t(i), (SELECT count(*) FROM b.events)"
    assert main(["query", str(sql_path), "--rows", "1", str(sql_path), "--format", "csv", both]) == 0
    assert capsys.readouterr().out == "i\n0\n"


def test_memory_can_be_allowed(sql_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT length(repeat('x', 90000000 + i)) FROM range(1) t(i)"
    assert main(["query", str(sql_path), query, "--memory", "64M"]) == 1
    assert "more than 64 MB of memory" in capsys.readouterr().err
    assert main(["query", str(sql_path), query, "--memory", "1G", "--format", "csv"]) == 0
    assert main(["query", str(sql_path), query, "--memory", "1M"]) == 2
    assert capsys.readouterr().err == "warpline: error: a query needs at least 64 MB of memory\n"


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


def test_queries_and_commands_come_from_the_standard_input(
    sql_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(".help\n\nSELECT 1\n  AS x;\n.schema links\nSELECT 2 AS y"))
    assert main(["query", str(sql_path), "--format", "csv"]) == 0
    said = capsys.readouterr().out
    assert ".schema [TABLE]" in said
    assert "x\n1\nlinks  (" in said
    assert said.endswith("y\n2\n")


def test_a_terminal_may_go_on_after_an_error(
    sql_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = iter(["SELECT durr FROM events;", ".tabels", "SELECT *", "FROM osrt;", ".quit", "never read"])
    monkeypatch.setattr("sys.stdin", type("Terminal", (), {"isatty": lambda _self: True})())
    monkeypatch.setattr("builtins.input", lambda _prompt: next(lines))
    assert main(["query", str(sql_path)]) == 0
    said = capsys.readouterr().out
    assert 'no column "durr"; did you mean "dur"?' in said
    assert "no command '.tabels'; .help lists them" in said
    assert "not recorded: line 2, column 6: osrt" in said
    assert next(lines) == "never read"


def test_a_command_in_place_of_a_query(
    sql_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["query", str(sql_path), ".tables"]) == 0
    assert "kernel  (" in capsys.readouterr().out
    assert main(["query", str(sql_path), ".schema nothing"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["query", str(sql_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
