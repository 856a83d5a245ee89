"""The process that keeps a run on another machine: how long it sleeps."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from warpline.recording.remote.far.channel import Channel
from warpline.recording.remote.far.keeper import Keeper


class SeenPoll:
    """Notes how long each `poll` may wait, and waits for nothing."""

    waits_ms: ClassVar[list[float]] = []

    def register(self, descriptor: int, events: int) -> None:
        pass

    def poll(self, timeout_ms: float) -> list[tuple[int, int]]:
        self.waits_ms.append(timeout_ms)
        return []


@pytest.fixture
def keeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(select, "poll", SeenPoll)
    monkeypatch.setattr(SeenPoll, "waits_ms", [])
    kept: Any = Keeper(tmp_path, {"spool": str(tmp_path / "spool")}, None, recorder=0, status=-1)
    kept._channel = Channel(*os.pipe())
    yield kept
    kept._lose()
    kept._listening.close()


def test_it_sleeps_once_all_has_arrived_though_the_program_runs_on(keeper: Any) -> None:
    keeper._is_complete = True
    keeper._wait()
    assert SeenPoll.waits_ms == [1000]


def test_it_sleeps_until_it_is_told_what_the_mirror_has(keeper: Any) -> None:
    keeper._awaits_held = True
    keeper._wait()
    assert SeenPoll.waits_ms == [1000]


def test_it_hurries_while_a_file_is_fetched_or_a_look_is_due(keeper: Any) -> None:
    keeper._wait()
    keeper._is_complete, keeper._files = True, iter(())
    keeper._wait()
    assert SeenPoll.waits_ms == [0, 0]


def test_it_looks_less_often_while_nothing_is_new(keeper: Any, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    (spool / "session.json").write_text("{}")
    held = os.open(spool, os.O_RDONLY)
    keeper._status = os.dup(held)  # the recorder runs
    ticks = []
    for _ in range(5):
        keeper._next_look = 0.0
        keeper._send_spool()
        ticks.append(keeper._tick_s)
    (spool / "session.json").write_text('{"new": 1}')
    keeper._next_look = 0.0
    keeper._send_spool()
    os.close(keeper._status)
    keeper._status = -1
    os.close(held)
    assert ticks == [0.05, 0.1, 0.2, 0.25, 0.25]
    assert keeper._tick_s == 0.05
