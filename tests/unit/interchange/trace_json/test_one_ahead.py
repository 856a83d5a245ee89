"""A thread makes the next part of a trace, and ends with its consumer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.unit.interchange.import_tools import imported, text_file

from warpline.interchange.trace_json.converter import TraceConverter
from warpline.interchange.trace_json.reader import one_ahead


def trace_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("trace")]


def test_parts_come_in_order() -> None:
    assert list(one_ahead(iter(range(1, 100)))) == list(range(1, 100))
    assert list(one_ahead(iter(()))) == []
    assert not trace_threads()


def test_the_next_part_is_made_while_one_is_used() -> None:
    made = [threading.Event() for _ in range(3)]

    def parts() -> Iterator[int]:
        for number, event in enumerate(made, 1):
            event.set()
            yield number

    with closing(one_ahead(parts())) as ready:
        assert next(ready) == 1
        assert made[1].wait(60), "nobody asked for it yet"
        assert not made[2].is_set(), "one ahead is enough"


def test_an_error_is_raised_after_the_parts_before_it() -> None:
    def parts() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("damaged")

    taken = one_ahead(parts())
    assert [next(taken), next(taken)] == [1, 2]
    with pytest.raises(ValueError, match="damaged"):
        next(taken)
    assert not trace_threads()


def test_leaving_early_ends_the_thread() -> None:
    ready = one_ahead(iter(range(1, 1000)))
    assert next(ready) == 1
    assert len(trace_threads()) == 1
    ready.close()
    assert not trace_threads()


def test_the_header_holds_only_what_precedes_the_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers: list[dict[str, Any]] = []
    monkeypatch.setattr(TraceConverter, "begin", lambda _, header: headers.append(dict(header)))
    event = '{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}'
    # Behind the events, as the reader most likely is when the first of them is used.
    imported(tmp_path, text_file(tmp_path, f'{{"first": 1, "traceEvents": [{event}], "second": 2}}')).close()
    assert headers == [{"first": 1}]
