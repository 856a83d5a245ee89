"""One request draws at a time, and of each page only its newest."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from tests.waiting import wait_until

from warpline_app.serving.news import MOST_LISTENERS, News
from warpline_app.serving.turns import Superseded, TooBusy, Turns


def drawing(turns: Turns, page: str, release: Event, began: Callable[[], object] = bool) -> str:
    try:
        with turns.turn(page):
            began()
            assert release.wait(60)
            return "drawn"
    except Superseded:
        return "superseded"
    except TooBusy:
        return "busy"


def test_an_older_request_of_a_page_is_dropped_and_other_pages_wait() -> None:
    turns, release, began = Turns(most_waiting=3), Event(), Event()
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(drawing, turns, "a", release, began.set)
        assert began.wait(60)
        older = pool.submit(drawing, turns, "a", release)
        wait_until(lambda: turns.waiting == 1, "the second request does not wait")
        other = pool.submit(drawing, turns, "b", release)
        wait_until(lambda: turns.waiting == 2, "the other page does not wait")
        newest = pool.submit(drawing, turns, "a", release)
        assert older.result(60) == "superseded"
        wait_until(lambda: turns.waiting == 2, "the newest request does not wait")
        third = pool.submit(drawing, turns, "c", release)
        wait_until(lambda: turns.waiting == 3, "the third page does not wait")
        assert drawing(turns, "d", release) == "busy"
        release.set()
        assert [done.result(60) for done in (first, other, newest, third)] == ["drawn"] * 4
    assert turns.waiting == 0
    assert drawing(turns, "a", release) == "drawn"


def test_a_failure_ends_its_turn() -> None:
    turns, release = Turns(), Event()
    release.set()
    with pytest.raises(ZeroDivisionError), turns.turn("a"):
        _ = 1 / 0
    assert drawing(turns, "a", release) == "drawn"


def test_the_first_and_the_last_listener_are_told_of() -> None:
    watched: list[bool] = []
    news = News(watched.append)
    assert all(news.enter() for _ in range(MOST_LISTENERS))
    assert not news.enter()
    for _ in range(MOST_LISTENERS):
        news.leave()
    assert watched == [True, False]


def test_news_is_the_latest_of_each_kind() -> None:
    news = News()
    assert news.after(0, 0) == (0, [])
    news.tell("grown", 1)
    news.tell("other", 2)
    news.tell("grown", 3)
    count, fresh = news.after(0, 60)
    assert fresh == [("other", 2), ("grown", 3)]
    news.end()
    assert news.after(count, 60) == (count, [])
