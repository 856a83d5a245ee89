"""Objects of Qt that hold each other in circles go on the thread they belong to, whoever makes one object too many."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QAction
from pytestqt.qtbot import QtBot

from warpline_app.look.collecting import CycleCollector
from warpline_app.open.background import Job

OBJECTS = 40


@pytest.fixture
def collector(qapp: QObject) -> Iterator[CycleCollector]:
    """In the place of Python's own, which comes again after the test."""
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(500, 10, 10)
    made = CycleCollector(qapp)
    yield made
    made.deleteLater()
    gc.set_threshold(*before)
    gc.enable()


def test_a_job_that_makes_objects_destroys_none_of_the_window(
    qtbot: QtBot, collector: CycleCollector
) -> None:
    went: list[int] = []
    for kind in (QTimer, QAction) * (OBJECTS // 2):
        circle: Any = kind()
        circle.held = circle
        circle.destroyed.connect(
            lambda: went.append(threading.get_ident()), Qt.ConnectionType.DirectConnection
        )
        del circle
    threads: list[int] = []

    def work(_progress: object, _is_cancelled: object) -> list[list[int]]:
        threads.append(threading.get_ident())
        return [[number] for number in range(20_000)]

    with qtbot.waitSignal(Job(work).launch().succeeded, timeout=60_000) as made:
        pass
    assert len(made.args[0]) == 20_000
    assert threads != [threading.get_ident()]
    collector.collect()
    qtbot.waitUntil(lambda: len(went) == OBJECTS, timeout=60_000)
    assert set(went) == {threading.get_ident()}


def test_collections_come_with_the_loop_of_events_alone(qtbot: QtBot, collector: CycleCollector) -> None:
    came: list[str] = []

    def note(phase: str, _found: object) -> None:
        came.append(phase)

    gc.callbacks.append(note)
    try:
        kept = [[number] for number in range(5_000)]
        assert not came
        qtbot.waitUntil(lambda: bool(came), timeout=60_000)
    finally:
        gc.callbacks.remove(note)
    assert len(kept) == 5_000
