"""Hostile statements: none reads, writes or loads anything, and each ends."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.unit.query.hostile_statements import GREEDY, REFUSED
from tests.unit.query.view_checks import binder_of

from warpline.model import UsageError
from warpline.query.session import QueryError, QueryLimitError, QueryLimits, QuerySession
from warpline.storage import open_capture


@pytest.mark.parametrize("sql", REFUSED)
def test_nothing_is_read_written_or_loaded(session: QuerySession, tmp_path: Path, sql: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(QueryError):
        session.run(sql.format(secret=secret, folder=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]
    assert session.run("SELECT count(*) > 0 FROM events").columns[0].python_values() == [True]


def test_a_query_ends_with_its_time(session: QuerySession) -> None:
    with pytest.raises(QueryLimitError, match=r"took longer than 0\.2 s"):
        session.run(GREEDY[0], seconds=0.2)
    assert session.run("SELECT 1").columns[0].python_values() == [1]


@pytest.mark.skipif(sys.platform == "win32", reason="the system's timer is that of Unix")
def test_a_query_ends_with_its_time_when_nobody_ends_it(
    session: QuerySession, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Idle:
        daemon = False
        cancel = start = lambda _self: None

    monkeypatch.setattr("threading.Timer", lambda _seconds, _work: Idle())
    with pytest.raises(QueryLimitError, match=r"took longer than 0\.2 s"):
        session.run(GREEDY[0], seconds=0.2)
    assert session.run("SELECT 1").columns[0].python_values() == [1]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits addresses")
def test_the_system_limits_memory(sql_path: Path) -> None:
    import resource

    most = 64 << 20
    with QuerySession([sql_path], QueryLimits(memory_bytes=most)) as session:
        assert len(session.run("SELECT 1")) == 1
        process = session._process
        assert process is not None
        pages = int(Path(f"/proc/{process.pid}/statm").read_text("ascii").split()[0])
        soft, hard = resource.prlimit(process.pid, resource.RLIMIT_AS)
        assert (
            soft == hard <= pages * resource.getpagesize() + most + (32 << 20)
        )  # it may have given some back
        with pytest.raises(QueryLimitError, match="more than 64 MB of memory"):
            session.run("SELECT repeat('x', 100000000)")


def test_a_query_ends_with_its_memory(session: QuerySession) -> None:
    with pytest.raises(QueryLimitError, match="of memory"):
        session.run("SELECT repeat('x', 2000000000)")


@pytest.mark.parametrize(
    "sql",
    [f"SELECT {'(' * 3000}1{')' * 3000}", f"SELECT {'+'.join(['1'] * 20000)}", f"SELECT {'-' * 50000}1"],
    ids=["brackets", "sum", "comment"],
)
def test_a_query_nested_too_deeply_is_refused(sql_path: Path, sql: str) -> None:
    import duckdb

    with open_capture(sql_path) as capture, pytest.raises((duckdb.Error, UsageError)):
        binder_of(capture).run(sql)


def test_bytes_that_are_not_utf_8_are_told_at_once(session: QuerySession) -> None:
    with pytest.raises(QueryError, match="not UTF-8"):
        session.run("SELECT '\udcff'")
    with pytest.raises(QueryError, match="not UTF-8"):
        session.run("SELECT ?", ["\ud800"])
    assert len(session.run("SELECT 1")) == 1
