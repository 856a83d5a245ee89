"""Hostile statements: none reads, writes or loads anything, and each ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.query.view_checks import binder_of

from warpline.model import UsageError
from warpline.query.session import QueryError, QueryLimitError, QuerySession
from warpline.storage import open_capture

REFUSED = [
    "SELECT * FROM '{secret}'",
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_blob('{folder}/*')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM read_json('{secret}')",
    "SELECT * FROM parquet_scan('{secret}')",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM read_csv('https://example.org/x.csv')",
    "SELECT * FROM query('SELECT * FROM read_text(''{secret}'')')",
    "SELECT * FROM query_table('{secret}')",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    "SELECT * FROM enable_profiling('query_tree', save_location := '{folder}/out')",
    "SELECT * FROM enable_logging(storage := 'file', storage_path := '{folder}/out')",
    "SELECT (SELECT max(content) FROM read_text('{secret}'))",
    "WITH x AS (SELECT * FROM read_text('{secret}')) SELECT * FROM x",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM sqlite_scan('{secret}', 'x')",
    "SELECT * FROM pandas_scan(1)",
    "SELECT getenv('HOME')",
    "SELECT 1) TO '{folder}/out'; --",
    "COPY (SELECT 1) TO '{folder}/out'",
    "COPY events FROM '{secret}'",
    "EXPORT DATABASE '{folder}/out'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{folder}/out' AS x",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "PRAGMA enable_profiling",
    "CREATE TABLE out AS SELECT 1",
    "CREATE MACRO f(x) AS x",
    "DROP VIEW events",
    "INSERT INTO events VALUES (1)",
    "UPDATE events SET ts = 0",
    "DELETE FROM events",
    "CALL pragma_version()",
    "PREPARE x AS SELECT 1",
    "BEGIN TRANSACTION",
    "USE temp",
    "VACUUM",
    "SELECT 1; COPY (SELECT 1) TO '{folder}/out'",
]
"""Statements that reach for files, networks, extensions, settings or the database."""


@pytest.mark.parametrize("sql", REFUSED)
def test_nothing_is_read_written_or_loaded(session: QuerySession, tmp_path: Path, sql: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(QueryError):
        session.run(sql.format(secret=secret, folder=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]
    assert session.run("SELECT count(*) > 0 FROM events").columns[0].python_values() == [True]


def test_a_query_ends_with_its_time(session: QuerySession) -> None:
    endless = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r"
    with pytest.raises(QueryLimitError, match=r"took longer than 0\.2 s"):
        session.run(endless, seconds=0.2)
    assert session.run("SELECT 1").columns[0].python_values() == [1]


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
