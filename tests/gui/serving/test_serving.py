"""A server and the process that draws for it, from the first picture to the end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from tests.waiting import wait_until

from warpline.model.errors import WarplineError
from warpline_app.serving.serve import Serving, file_arguments

FRAME = "frame?start=0&stop=50000000&width=700&height=400&exact=1"


@pytest.fixture
def serving(sample: Path) -> Iterator[Serving]:
    made = Serving(file_arguments(sample), 0)
    yield made
    made.end()


def get(serving: Serving, path: str, cookie: str = "") -> http.client.HTTPResponse:
    with closing(http.client.HTTPConnection("127.0.0.1", serving.server.port, timeout=100)) as connection:
        connection.request("GET", serving.server.access.folder + path, headers={"Cookie": cookie})
        answer = connection.getresponse()
        answer.content = answer.read()  # type: ignore[attr-defined]
        return answer


def test_a_picture_reaches_the_browser_and_nothing_is_left(serving: Serving) -> None:
    page = get(serving, f"?token={serving.server.access.token}")
    assert b"sample.h5" in page.content  # type: ignore[attr-defined]
    cookie = str(page.getheader("Set-Cookie")).partition(";")[0]
    assert get(serving, FRAME).status == 403

    def picture() -> QImage:
        while True:  # on a busy machine, a picture may come before all is drawn
            answer = get(serving, FRAME, cookie)
            assert answer.status == 200
            content: bytes = answer.content  # type: ignore[attr-defined]
            (size,) = struct.unpack_from("<I", content)
            measures = json.loads(content[4 : 4 + size])
            assert measures["view"] == [0, 50_000_000]
            if measures["is_exact"]:
                return QImage.fromData(content[4 + size :])

    first = picture()
    assert (first.width(), first.height()) == (700, 400)
    found = json.loads(get(serving, "findings", cookie).content)  # type: ignore[attr-defined]
    assert isinstance(found["findings"], list)
    assert found["is_live"] is False
    # A process that was killed is started again.
    pid = serving.process.pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: serving.process.has_ended, "the killed process still runs")
    assert picture() == first
    assert serving.process.pid != pid
    last = serving.process.pid
    serving.end()
    with pytest.raises(ProcessLookupError):
        os.kill(last, 0)


def test_a_file_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.h5"
    path.write_bytes(b"no capture")
    with pytest.raises(WarplineError, match=r"broken\.h5") as raised:
        Serving(file_arguments(path), 0)
    assert "\n" not in str(raised.value)


def test_a_port_that_is_taken_is_one_line(sample: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(WarplineError, match=f"port {port} cannot be used"):
            Serving(file_arguments(sample), port)
