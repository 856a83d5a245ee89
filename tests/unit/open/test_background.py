"""Jobs that somebody else than their owner cancels."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot
from tests.unit.open.conftest import OpenDocument

from warpline.model.progress import IsCancelled, Progress
from warpline_app.open.background import Job, wait_for_jobs
from warpline_app.timeline.model import search
from warpline_app.timeline.model.search import Search


def _until_cancelled(_progress: Progress, is_cancelled: IsCancelled) -> None:
    while not is_cancelled():
        pass


@pytest.mark.parametrize("by", ["others", "its owner", "the end of its owner"])
def test_a_job_begins_again_only_where_others_cancelled_it(qtbot: QtBot, by: str) -> None:
    owner, ends = QObject(), []
    job = Job(_until_cancelled, owner, again=lambda: ends.append("again"))
    job.cancelled.connect(lambda: ends.append("cancelled"))
    job.launch()
    with qtbot.waitSignal(job.finished, timeout=60_000):  # before the owner goes: the job may end at once
        if by == "its owner":
            job.cancel()
        elif by == "the end of its owner":
            owner.deleteLater()
            with qtbot.waitSignal(owner.destroyed, timeout=60_000):
                pass
        wait_for_jobs()
    expected = {"others": ["cancelled", "again"], "its owner": ["cancelled"], "the end of its owner": []}
    assert ends == expected[by]


def test_a_search_that_others_cancelled_begins_again(
    qtbot: QtBot, open_document: OpenDocument, copies: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "AT_ONCE", 0)
    document = open_document(copies[0])
    searching = Search(document)
    searching.find_text("a")
    was_running = searching.is_running
    with qtbot.waitSignal(searching.changed, timeout=60_000):
        wait_for_jobs()
    assert (was_running, searching.is_running) == (True, False)
    searching.shut_down()
