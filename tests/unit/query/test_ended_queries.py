"""Queries whose process ends under them, is cancelled or interrupted: what is said, and that the next one works."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from warpline.model.errors import Cancelled, WarplineError
from warpline.query.session import QueryError, QuerySession
from warpline.query.wire import read_message

pytest.importorskip("duckdb")
ENDLESS = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r"
_ANSWERED = [1]


@pytest.fixture
def own_session(sql_path: Path) -> Iterator[QuerySession]:
    """A process that other tests do not use."""
    with QuerySession([sql_path]) as session:
        yield session


def answer(session: QuerySession) -> list[Any]:
    return session.run("SELECT 1").columns[0].python_values()


def process_of(session: QuerySession) -> Any:
    process = session._process
    assert process is not None
    return process


def once_asked(monkeypatch: pytest.MonkeyPatch, work: Callable[[], None]) -> None:
    """Do something when the process has been asked, before its next answer is read."""
    todo = [work]

    def reading(file: Any) -> Any:
        if todo:
            todo.pop()()
        return read_message(file)

    monkeypatch.setattr("warpline.query.session.read_message", reading)


def test_a_process_that_ended_while_idle_is_replaced(own_session: QuerySession) -> None:
    assert answer(own_session) == _ANSWERED
    process = process_of(own_session)
    process.kill()
    process.wait()
    assert answer(own_session) == _ANSWERED
    assert process_of(own_session) is not process


def test_a_process_that_ends_during_a_query_is_told(
    own_session: QuerySession, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer(own_session) == _ANSWERED
    once_asked(monkeypatch, process_of(own_session).kill)
    with pytest.raises(WarplineError, match=r"was ended \((SIGKILL|status 1)\).* run the query again"):
        own_session.run(ENDLESS)
    assert answer(own_session) == _ANSWERED


def test_a_cancel_between_queries_stops_none(own_session: QuerySession) -> None:
    own_session.cancel()
    assert answer(own_session) == _ANSWERED
    own_session.cancel()
    assert own_session.schema()
    own_session.cancel()
    with pytest.raises(QueryError, match="durr"):
        own_session.run("SELECT durr FROM events")


def test_a_cancel_from_another_thread_ends_the_query(
    own_session: QuerySession, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer(own_session) == _ANSWERED

    def cancel() -> None:
        thread = threading.Thread(target=own_session.cancel)
        thread.start()
        thread.join()

    once_asked(monkeypatch, cancel)
    with pytest.raises(Cancelled):
        own_session.run(ENDLESS)
    assert answer(own_session) == _ANSWERED


def test_an_interrupted_query_leaves_no_answer_to_the_next(
    own_session: QuerySession, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer(own_session) == _ANSWERED

    def interrupt() -> None:
        raise KeyboardInterrupt

    once_asked(monkeypatch, interrupt)
    with pytest.raises(KeyboardInterrupt):
        own_session.run("SELECT 2")
    assert answer(own_session) == _ANSWERED


def test_a_process_that_ends_while_it_starts_is_told(
    own_session: QuerySession, monkeypatch: pytest.MonkeyPatch
) -> None:
    once_asked(monkeypatch, process_of(own_session).kill)
    with pytest.raises(WarplineError, match=r"was ended \((SIGKILL|status 1)\)"):
        answer(own_session)
    assert answer(own_session) == _ANSWERED
