"""The server as browsers, and those who are none, meet it."""

from __future__ import annotations

import http.client
import json
import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from threading import Thread
from typing import Any

import pytest

from warpline.model.errors import WarplineError
from warpline_app.serving.access import Access
from warpline_app.serving.drawing_process import DrawnAnswer, LateAnswer
from warpline_app.serving.http_server import LOOPBACK, LOOPBACK_6, MAX_TARGET, PageServer
from warpline_app.serving.news import News
from warpline_app.serving.page import STATIC

TITLE = "<script>alert(1)</script>{{texts}}.h5"
FRAME = "/frame?start=0&stop=100&width=800&height=600"


class Served:
    """A server whose process only repeats what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.answer = DrawnAnswer({"frame": {"view": [0, 100]}}, b"PNG")
        self.failure: Exception | None = None
        self.came = 0
        self.news = News()
        self.server = PageServer(0, TITLE, self._ask, self.news, self._signed_in)
        self._thread = Thread(target=self.server.serve_forever, args=(0.01,))
        self._thread.start()
        self.cookie = ""

    def _ask(self, what: str, **values: Any) -> DrawnAnswer:
        self.asked.append((what, values))
        if self.failure is not None:
            raise self.failure
        return self.answer

    def _signed_in(self) -> None:
        self.came += 1

    def get(
        self, path: str, *, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and content below the folder; with the cookie that was set, unless another one is given."""
        with closing(http.client.HTTPConnection(LOOPBACK, self.server.port, timeout=60)) as connection:
            sent = {"Cookie": self.cookie, **headers}
            connection.request(
                method, self.folder + path, body, {name: value for name, value in sent.items() if value}
            )
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    @property
    def folder(self) -> str:
        return self.server.access.folder.rstrip("/")

    def sign_in(self) -> None:
        status, headers, _content = self.get(f"/?token={self.server.access.token}")
        assert status == 200
        self.cookie = headers["Set-Cookie"].partition(";")[0]

    def raw(self, sent: bytes) -> bytes:
        """All that comes back for these bytes, until the server hangs up."""
        with socket.create_connection((LOOPBACK, self.server.port), timeout=60) as client:
            client.sendall(sent)
            return b"".join(iter(lambda: client.recv(65_536), b""))

    def end(self) -> None:
        self.news.end()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served()
    yield made
    made.end()


@pytest.fixture
def known(served: Served) -> Served:
    """With a browser that brought the token."""
    served.sign_in()
    return served


def test_it_listens_on_the_loopback_interface_alone(served: Served) -> None:
    assert served.server.socket.getsockname()[0] == LOOPBACK
    if served.server._other is not None:
        assert served.server._other.socket.getsockname()[:2] == (LOOPBACK_6, served.server.port)


def test_the_other_loopback_address_answers_as_the_first(known: Served) -> None:
    if known.server._other is None:
        pytest.skip("there is no IPv6 here")
    with closing(http.client.HTTPConnection(LOOPBACK_6, known.server.port, timeout=60)) as connection:
        connection.request("GET", known.folder + FRAME, headers={"Cookie": known.cookie})
        assert connection.getresponse().status == 200
        connection.close()
        connection.request("GET", known.folder + FRAME)
        assert connection.getresponse().status == 403


def test_a_port_that_somebody_else_has_on_the_other_address_is_taken(served: Served) -> None:
    if served.server._other is None:
        pytest.skip("there is no IPv6 here")
    with socket.create_server((LOOPBACK_6, 0), family=socket.AF_INET6) as other, pytest.raises(OSError):
        PageServer(other.getsockname()[1], "", served._ask, served.news)


def test_the_cookie_stays_below_a_folder_that_nobody_else_knows(known: Served) -> None:
    """Browsers send it to every port of the host."""
    with closing(http.client.HTTPConnection(LOOPBACK, known.server.port, timeout=60)) as connection:
        for path in (
            "/",
            "/serve.js",
            f"/?token={known.server.access.token}",
            f"{known.folder}x/",
            known.folder,
        ):
            connection.request("GET", path, headers={"Cookie": known.cookie})
            answer = connection.getresponse()
            assert answer.status == 403, path
            assert known.folder.encode() not in answer.read()
            connection.close()
    first, second = Access(1), Access(1)
    assert first.folder != second.folder
    assert f"Path={first.folder};" in str(first.exchange(first.token))


def test_an_answer_that_takes_long_may_be_asked_for_again(known: Served) -> None:
    known.failure = LateAnswer("not yet")
    assert known.get("/findings")[0] == 504


def test_nothing_is_answered_without_the_token(served: Served) -> None:
    for path in ("/", FRAME, "/findings", "/news", "/serve.js", "/nothing", "/?token=", "/?token=x"):
        status, headers, content = served.get(path)
        assert status == 403, path
        assert "Set-Cookie" not in headers
        assert TITLE.encode() not in content
    assert served.asked == []


def test_the_token_opens_the_page_once(served: Served) -> None:
    address = f"/?token={served.server.access.token}"
    served.sign_in()
    assert served.came == 1
    assert served.get("/")[0] == 200
    assert served.get("/", Cookie="other=1")[0] == 403
    assert served.get(address, Cookie="other=1")[0] == 403
    assert served.came == 1


def test_a_token_counts_for_the_page_alone(served: Served) -> None:
    token = served.server.access.token
    assert served.get(f"{FRAME}&token={token}")[0] == 403
    assert served.server.access.token == token


def test_the_page_has_the_title_as_text_and_no_script_of_its_own(known: Served) -> None:
    _status, headers, content = known.get("/")
    text = content.decode()
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;{{texts}}.h5" in text
    assert "style=" not in text
    assert "onclick" not in text
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy.partition("frame-ancestors")[0]


def test_every_answer_has_the_headers_that_protect(known: Served) -> None:
    for path in ("/", FRAME, "/serve.css", "/nothing", "/frame?width=1"):
        headers = known.get(path)[1]
        assert headers["X-Content-Type-Options"] == "nosniff", path
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in headers


def test_what_the_page_loads_is_there(known: Served) -> None:
    page = known.get("/")[2].decode()
    for path, static in STATIC.items():
        status, headers, content = known.get(path)
        assert (status, headers["Content-Type"]) == (200, static.media_type)
        assert content
    for name in ("serve.js", "serve.css", "colors.css", "icon.svg"):
        assert f'"{name}"' in page


def test_another_host_is_refused(known: Served) -> None:
    for host in ("evil.example", f"evil.example:{known.server.port}", "127.0.0.1.evil.example"):
        assert known.get(FRAME, Host=host)[0] == 421
    assert known.get(FRAME, Host="localhost:1234")[0] == 200
    request = f"GET {known.folder}{FRAME} HTTP/1.1\r\n{{}}Cookie: {known.cookie}\r\nConnection: close\r\n\r\n"
    assert b" 421 " in known.raw(request.format("").encode())
    assert b" 421 " in known.raw(request.format("Host: localhost\r\nHost: evil.example\r\n").encode())


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "CONNECT", "<b>"])
def test_only_get_is_allowed(known: Served, method: str) -> None:
    sent = f"{method} / HTTP/1.1\r\nHost: localhost\r\nCookie: {known.cookie}\r\n\r\n"
    content = known.raw(sent.encode())
    assert content.startswith(b"HTTP/1.1 405 ")
    assert b"\r\nAllow: GET\r\n" in content
    assert b"<b>" not in content


def test_a_request_with_a_body_is_refused_and_not_read_as_another_one(known: Served) -> None:
    hidden = f"GET {known.folder}{FRAME} HTTP/1.1\r\nHost: localhost\r\nCookie: {known.cookie}\r\n\r\n"
    head = f"GET {known.folder}/ HTTP/1.1\r\nHost: localhost\r\nCookie: {known.cookie}\r\n"
    for more in (f"Content-Length: {len(hidden)}", "Transfer-Encoding: chunked"):
        content = known.raw(f"{head}{more}\r\n\r\n{hidden}".encode())
        assert content.count(b"HTTP/1.1 ") == 1
        assert content.startswith(b"HTTP/1.1 400 ")
    assert known.asked == []


def test_requests_are_bounded(known: Served) -> None:
    assert known.get(f"/frame?names={'x' * MAX_TARGET}")[0] == 414
    assert b" 414 " in known.raw(b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n")
    assert b" 431 " in known.raw(b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 150 + b"\r\n")
    assert known.get(f"/frame?{'a=1&' * 500}")[0] == 400


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "//etc/passwd",
        "/%2e%2e/serve/serve.html",
        "/serve.html",
        "/serve/serve.js",
        "/serve.js%00",
        "/serve.js/",
        "/frame/",
    ],
)
def test_no_path_of_a_request_is_a_file(known: Served, path: str) -> None:
    assert known.get(path)[0] == 404


def test_a_picture_comes_with_its_measures(known: Served) -> None:
    _status, headers, content = known.get(FRAME + "&names=a%22b&exact=1")
    assert headers["Content-Type"] == "application/octet-stream"
    (size,) = struct.unpack_from("<I", content)
    assert json.loads(content[4 : 4 + size]) == {"view": [0, 100]}
    assert content[4 + size :] == b"PNG"
    what, values = known.asked[-1]
    assert (what, values["is_exact"], values["view"]["names"]) == ("frame", True, 'a"b')


@pytest.mark.parametrize(
    "path",
    [
        "/frame?width=1",
        "/event?x=1",
        "/event?x=nan&y=1",
        "/event?x=1e99&y=1",
        "/neighbour?row=x&generation=0&direction=1",
        "/neighbour",
    ],
)
def test_bad_values_are_a_bad_request(known: Served, path: str) -> None:
    assert known.get(path)[0] == 400
    assert known.asked == []


def test_a_picture_that_is_out_of_date_is_said_to_be(known: Served) -> None:
    known.answer = DrawnAnswer({"superseded": True}, b"")
    assert known.get(FRAME + "&exact=1")[0] == 409


def test_a_failure_is_one_line_of_text(known: Served) -> None:
    known.failure = WarplineError("run.h5: <b>lost</b>")
    status, headers, content = known.get(FRAME)
    assert (status, content) == (502, b"run.h5: <b>lost</b>\n")
    assert headers["Content-Type"].startswith("text/plain")


def test_news_arrives_and_ends_with_the_server(known: Served) -> None:
    with closing(http.client.HTTPConnection(LOOPBACK, known.server.port, timeout=60)) as connection:
        connection.request("GET", f"{known.folder}/news", headers={"Cookie": known.cookie})
        answer = connection.getresponse()
        assert answer.getheader("Content-Type") == "text/event-stream"
        known.news.tell("grown", {"generation": 3})
        assert answer.readline() == b"event: grown\n"
        assert answer.readline() == b'data: {"generation": 3}\n'
        known.news.end()
        assert answer.read().endswith(b"\nevent: ended\ndata: {}\n\n")


def test_a_port_that_is_taken_is_an_error(served: Served) -> None:
    with pytest.raises(OSError):
        PageServer(served.server.port, "", served._ask, served.news)
