"""The process that draws, started again: who asks waits for it, nobody else does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from warpline.model.errors import WarplineError
from warpline_app.serving import drawing_process
from warpline_app.serving.drawing_process import DrawingProcess

PROGRAM = """
import json, pathlib, sys
mark = pathlib.Path(sys.argv[1])
if mark.exists():  # started again: it opens its file for ever, or says why it cannot
    for line in sys.stdin:
        if json.loads(line)["what"] == "fail":
            print(json.dumps({"failed": "run.h5: gone", "bytes": 0}), flush=True)
            break
else:
    mark.touch()
    print(json.dumps({"title": "run.h5", "bytes": 0}), flush=True)
"""


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DrawingProcess]:
    """One that ended after its first words."""
    monkeypatch.setattr(drawing_process, "own_python", lambda _module: [sys.executable, "-c", PROGRAM])
    made = DrawingProcess([str(tmp_path / "mark")])
    made.begin()
    assert made.title == "run.h5"
    assert made._process is not None
    made._process.wait(60)
    yield made
    made.end()


def test_nobody_else_waits_while_a_file_is_opened_again(process: DrawingProcess) -> None:
    said: list[str] = []

    def ask() -> None:
        with pytest.raises(WarplineError) as caught:
            process.ask("frame")
        said.append(str(caught.value))

    first = process.pid
    threads = [Thread(target=ask, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    telling = Thread(target=process.tell, args=("watch",), kwargs={"on": True}, daemon=True)
    telling.start()
    telling.join(30)
    assert not telling.is_alive()
    while len(process._waiting) < 2:
        threads[0].join(0.01)
    assert process.pid not in (0, first)
    process.end()
    for thread in threads:
        thread.join(30)
    assert said == ["the process that draws has ended"] * 2


def test_who_asks_is_told_why_a_file_cannot_be_opened_again(process: DrawingProcess) -> None:
    with pytest.raises(WarplineError, match=r"run\.h5: gone"):
        process.ask("fail")
