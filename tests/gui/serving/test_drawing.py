"""The process that draws, without the process: questions, answers, and a recording that grows."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot
from tests.gui.sample import MS
from tests.unit.recording.live.growing import Growing, Maker

from warpline.model.errors import RecordingError
from warpline.recording.control import ControlServer
from warpline.recording.live.snapshots import LiveSnapshot, open_snapshot
from warpline.recording.spool.directory import held_spool
from warpline.storage import Capture
from warpline_app.serving import live_feed
from warpline_app.serving.drawing import AnswerStream, Drawing, open_file
from warpline_app.serving.live_feed import LiveFeed
from warpline_app.serving.view_request import ViewRequest

VIEW = ViewRequest(start_ns=0, stop_ns=100 * MS, width_px=700, height_px=400)


class Asked:
    """Asks a drawing, and reads what it writes."""

    def __init__(self, drawing: Drawing, written: io.BytesIO) -> None:
        self.drawing = drawing
        self._written = written
        self._number = 0

    def ask(self, what: str, **values: Any) -> int:
        """Ask; returns the question's number."""
        self._number += 1
        self.drawing.answer(json.dumps({"id": self._number, "what": what, **values}))
        return self._number

    def messages(self) -> list[dict[str, Any]]:
        """All that was written so far; pictures are their first bytes, as ``body``."""
        content, messages = io.BytesIO(self._written.getvalue()), []
        for line in content:
            values = json.loads(line)
            values["body"] = content.read(values["bytes"])[:4]
            messages.append(values)
        return messages

    def answer_to(self, number: int) -> dict[str, Any] | None:
        return next((message for message in self.messages() if message.get("id") == number), None)

    def news(self) -> list[dict[str, Any]]:
        return [message for message in self.messages() if "news" in message]


@pytest.fixture
def asked(sample: Path, qapp: object) -> Iterator[Asked]:
    written = io.BytesIO()
    drawing = Drawing(open_file(sample), AnswerStream(written))
    yield Asked(drawing, written)
    drawing.close()


def test_an_exact_picture_comes_when_all_is_drawn(
    asked: Asked, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpline_app.serving.drawing.REST_MS", 600_000)  # however busy the machine is
    number = asked.ask("frame", view=VIEW.as_values(), is_exact=True)
    assert asked.answer_to(number) is None
    qtbot.waitUntil(lambda: asked.answer_to(number) is not None, timeout=60_000)
    answer = asked.answer_to(number)
    assert answer is not None
    assert answer["body"] == b"\x89PNG"
    assert answer["frame"]["is_exact"]


def test_another_view_supersedes_a_picture_that_waits_and_a_glance_does_not(
    asked: Asked, qtbot: QtBot
) -> None:
    values = VIEW.as_values()
    waiting = asked.ask("frame", view=values, is_exact=True)
    glance = asked.ask("event", view=values, x=1, y=1)
    assert asked.answer_to(glance) is not None
    assert asked.answer_to(waiting) is None
    quick = asked.ask("frame", view={**values, "stop_ns": 50 * MS}, is_exact=False)
    superseded, answer = asked.answer_to(waiting), asked.answer_to(quick)
    assert superseded is not None
    assert superseded["superseded"] is True
    assert answer is not None
    assert answer["frame"]["view"] == [0, 50 * MS]


def test_findings_come_once_they_are_known(asked: Asked, qtbot: QtBot) -> None:
    numbers = [asked.ask("findings") for _ in range(2)]
    qtbot.waitUntil(lambda: all(asked.answer_to(number) for number in numbers), timeout=60_000)
    first, second = (asked.answer_to(number) for number in numbers)
    assert first is not None
    assert second is not None
    assert first["findings"] == second["findings"]
    later = asked.ask("findings")
    assert asked.answer_to(later) is not None
    number = asked.ask("frame", view={**VIEW.as_values(), "finding": 0}, is_exact=False)
    assert asked.answer_to(number) is not None
    assert (asked.drawing.document.state.lit is None) == (not first["findings"])


@pytest.mark.parametrize(
    "line",
    [
        '{"id": 5, "what": "format c:"}',
        '{"id": 5, "what": "frame"}',
        '{"id": 5, "what": "frame", "view": {"folds": [], "range_ns": null, "width_px": -1}, "is_exact": false}',
        '{"id": 5}',
        "nothing",
    ],
)
def test_a_question_that_is_none_gets_an_answer(asked: Asked, line: str) -> None:
    asked.drawing.answer(line)
    (answer,) = asked.messages()
    assert answer["failed"]


class Captures:
    """Captures of a recording that a test lets grow."""

    def __init__(self, maker: Maker) -> None:
        self._maker = maker

    def next(
        self, _head_ns: int = 0, _start_ns: int = 0, *, follows: bool = True
    ) -> tuple[Capture, LiveSnapshot]:
        snapshot = self._maker.make()
        return open_snapshot(snapshot), snapshot

    def wait_s(self, _snapshot: LiveSnapshot, _took_s: float) -> float:
        return 0.01


@pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")
def test_a_recording_grows_while_it_is_watched_until_its_capture_takes_its_place(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Growing(tmp_path)
    recording.add("middle", 100, 200)
    server = ControlServer(recording.folder, lambda _request: {"ok": True})
    maker = Maker(recording, tmp_path)
    monkeypatch.setattr(live_feed, "LiveCaptures", lambda _process: Captures(maker))
    written = io.BytesIO()
    feed = LiveFeed(recording.folder)
    drawing = Drawing(feed.document, AnswerStream(written), feed)
    asked = Asked(drawing, written)
    follow = {**VIEW.as_values(), "start_ns": 0, "stop_ns": 0, "follows": True}

    def frame(**values: Any) -> dict[str, Any]:
        answer = asked.answer_to(asked.ask("frame", view={**follow, **values}, is_exact=False))
        assert answer is not None
        measures: dict[str, Any] = answer["frame"]
        return measures

    first = frame()
    assert first["live"]["head_ns"] == 200 * MS
    assert first["view"] == [0, 200 * MS]
    chosen = frame(selection=0, generation=first["generation"])["selection"]
    recording.add("earlier", 10, 20)
    recording.add("later", 300, 400)
    assert asked.news() == [], "nobody watches"
    asked.ask("watch", on=True)
    qtbot.waitUntil(lambda: len(asked.news()) > 0, timeout=60_000)
    grown = frame(selection=0, generation=first["generation"])
    assert grown["generation"] > first["generation"]
    assert grown["view"] == [0, 400 * MS]
    assert grown["selection"]["title"] == chosen["title"], "the event, not its number, stays selected"
    asked.ask("watch", on=False)
    qtbot.waitUntil(lambda: not feed.is_reading, timeout=60_000)

    recording.finish(500)
    server.close()
    shutil.copy(maker.make().path, tmp_path / "x.h5")
    shutil.rmtree(recording.folder)
    with qtbot.waitSignal(feed.ended, timeout=60_000):
        asked.ask("watch", on=True)
    assert asked.news()[-1]["is_live"] is False
    assert frame()["live"] is None
    drawing.close()
    maker.close()


@pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")
def test_a_killed_recorder_is_told_of(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = Growing(tmp_path)
    recording.add("range", 100, 200)
    maker = Maker(recording, tmp_path)
    monkeypatch.setattr(live_feed, "LiveCaptures", lambda _process: Captures(maker))
    with held_spool(recording.folder):
        feed = LiveFeed(recording.folder)
        feed.set_watched(on=True)
        assert not feed.is_over, "the capture is still being written"
    with qtbot.waitSignal(feed.failed, timeout=60_000) as failed:
        pass
    assert f"warpline recover {recording.folder}" in failed.args[0]
    feed.document.close()
    maker.close()


@pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")
def test_a_recording_that_has_ended_before_anything_arrived_is_an_error(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Growing(tmp_path)

    def fail(*_arguments: object, **_options: object) -> None:
        raise RecordingError("nothing there")

    maker = Maker(recording, tmp_path)
    monkeypatch.setattr(Captures, "next", fail)
    monkeypatch.setattr(live_feed, "LiveCaptures", lambda _process: Captures(maker))
    with pytest.raises(RecordingError, match="nothing there"):
        LiveFeed(recording.folder)
    maker.close()
