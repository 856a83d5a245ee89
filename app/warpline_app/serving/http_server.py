"""Answers browsers on this computer: the page, and what the process that draws says. No request changes anything.

No path of a request is a path of a file, and no request has a body.
"""

from __future__ import annotations

import contextlib
import json
import socket
import socketserver
import struct
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from warpline.i18n import tr
from warpline.model.errors import WarplineError
from warpline.platform.systems import may_reuse_ports
from warpline_app.serving.access import Access, is_local_host
from warpline_app.serving.drawing_process import DrawnAnswer, LateAnswer
from warpline_app.serving.news import News
from warpline_app.serving.page import STATIC, Static, page_html
from warpline_app.serving.turns import Superseded, TooBusy, Turns
from warpline_app.serving.view_request import ViewRequest

LOOPBACK = "127.0.0.1"
LOOPBACK_6 = "::1"
_ATTEMPTS = 20
MAX_TARGET = 16_384
MAX_CONNECTIONS = 64
IDLE_S = 60
_BEAT_S = 20.0
_MAX_PAGE_NAME = 40
_CACHE = "no-store"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'self' http://127.0.0.1:* http://localhost:* https://localhost:*"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-site",
    "Cache-Control": _CACHE,
}
"""Of every answer. Only pages of this computer may show ours in a frame: JupyterLab does."""

Ask = Callable[..., DrawnAnswer]
Query = Mapping[str, Sequence[str]]


class _Server6(socketserver.TCPServer):
    """Accepts connections to ::1 for another server.

    A browser may take ``localhost`` for either address. If the port were free on the other one, somebody else could
    listen there and be given the token.
    """

    address_family = socket.AF_INET6
    request_queue_size = 64

    def __init__(self, first: PageServer) -> None:
        self.allow_reuse_address = first.allow_reuse_address
        super().__init__((LOOPBACK_6, first.port), PageHandler)
        self.process_request = first.process_request  # type: ignore[method-assign]


def _has_ipv6() -> bool:
    if not socket.has_ipv6:
        return False
    try:
        with socket.create_server((LOOPBACK_6, 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


class PageServer(socketserver.ThreadingMixIn, HTTPServer):
    """Serves one timeline on the loopback interface."""

    daemon_threads = True
    allow_reuse_address = may_reuse_ports()
    request_queue_size = 64

    def __init__(
        self, port: int, title: str, ask: Ask, news: News, signed_in: Callable[[], None] = lambda: None
    ) -> None:
        """``signed_in`` is called when a token was exchanged. Raises OSError when the port is taken."""
        self._other: _Server6 | None = None
        for attempt in range(_ATTEMPTS):
            super().__init__((LOOPBACK, port), PageHandler)
            try:
                self._other = _Server6(self) if _has_ipv6() else None
                break
            except OSError:  # somebody else has the port there
                self.server_close()
                if port or attempt == _ATTEMPTS - 1:
                    raise
        self.title = title
        self.ask = ask
        self.news = news
        self.signed_in = signed_in
        self.turns = Turns()
        self.access = Access(self.port)
        self._connections = threading.BoundedSemaphore(MAX_CONNECTIONS)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.server_address[1])

    def server_bind(self) -> None:
        """Bind without looking up the name of this computer, which can take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, int(self.server_address[1])

    def serve_forever(self, poll_interval: float = 0.5) -> None:
        """Serve until `shutdown`."""
        other = self._other
        if other is None:
            super().serve_forever(poll_interval)
            return
        beside = threading.Thread(target=other.serve_forever, args=(poll_interval,), daemon=True)
        beside.start()
        try:
            super().serve_forever(poll_interval)
        finally:
            other.shutdown()
            beside.join()

    def server_close(self) -> None:
        """Listen no longer."""
        if self._other is not None:
            self._other.server_close()
        super().server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread; beyond `MAX_CONNECTIONS`, hang up."""
        if not self._connections.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer all requests of a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Browsers hang up whenever they like; anything else is a defect and shown."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class PageHandler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version = "Warpline"
    sys_version = ""
    timeout = IDLE_S

    def log_message(self, *_parts: Any) -> None:
        """Nobody reads a log; and it would have the token."""

    def setup(self) -> None:
        """Send answers at once."""
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """A line of text. Nothing of the request is repeated."""
        self.close_connection = True
        text = message or HTTPStatus(code).phrase
        if code == HTTPStatus.NOT_IMPLEMENTED:  # what http.server says of any other method than GET
            code, text = HTTPStatus.METHOD_NOT_ALLOWED, "only GET is allowed"
        self._answer(HTTPStatus(code), "text/plain; charset=utf-8", f"{text}\n".encode())

    def do_GET(self) -> None:
        """Check who asks, and for what; then answer."""
        if self.headers.get("Content-Length", "0") != "0" or self.headers.get("Transfer-Encoding"):
            self.send_error(HTTPStatus.BAD_REQUEST, "a request has no body here")
            return
        if len(self.path) > MAX_TARGET:
            self.send_error(HTTPStatus.REQUEST_URI_TOO_LONG)
            return
        if not is_local_host(self.headers.get("Host")) or len(self.headers.get_all("Host", [])) != 1:
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, tr("this server answers to localhost only"))
            return
        try:
            target = urlsplit(self.path)
            query = parse_qs(target.query, keep_blank_values=True, max_num_fields=400)
        except ValueError:
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        access = self.server.access
        path = access.path_of(target.path)
        token = query.get("token", [""])[0] if path == "/" else ""
        cookie = access.exchange(token) if token else None
        if path is None or (cookie is None and not access.knows(self.headers.get("Cookie"))):
            self.send_error(
                HTTPStatus.FORBIDDEN,
                tr("Open the address that `warpline serve` printed last: each one works once."),
            )
            return
        self._route(path, query, cookie)

    def _route(self, path: str, query: Query, cookie: str | None) -> None:
        if path == "/":
            page = page_html(self.server.title).encode()
            more = {}
            if cookie is not None:
                more["Set-Cookie"] = cookie
                self.server.signed_in()
            self._answer(HTTPStatus.OK, "text/html; charset=utf-8", page, more)
        elif path in STATIC:
            self._static(STATIC[path])
        elif path == "/news":
            self._news()
        elif path in _QUESTIONS:
            self._question(path, query)
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _static(self, static: Static) -> None:
        self._answer(HTTPStatus.OK, static.media_type, static.content())

    def _question(self, path: str, query: Query) -> None:
        try:
            content = _QUESTIONS[path](self, query)
        except Superseded:
            self._answer(HTTPStatus.CONFLICT, "text/plain", b"superseded\n")
        except TooBusy:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"busy\n", {"Retry-After": "1"})
        except (ValueError, OverflowError):
            self._answer(HTTPStatus.BAD_REQUEST, "text/plain", b"a value is missing or out of bounds\n")
        except WarplineError as error:
            status = HTTPStatus.GATEWAY_TIMEOUT if isinstance(error, LateAnswer) else HTTPStatus.BAD_GATEWAY
            self._answer(status, "text/plain; charset=utf-8", f"{error}\n".encode())
        else:
            kind = "application/octet-stream" if path == "/frame" else "application/json"
            self._answer(HTTPStatus.OK, kind, content)

    def _frame(self, query: Query) -> bytes:
        """The length of a JSON text (u32, little endian), the text, and a PNG file."""
        view = ViewRequest.of_query(query)
        page = query.get("page", [""])[0][:_MAX_PAGE_NAME]
        is_exact = query.get("exact", ["0"])[0] == "1"
        # A picture that waits until all is drawn lets others pass: the next question ends its waiting.
        turn = contextlib.nullcontext() if is_exact else self.server.turns.turn(page)
        with turn:
            answer = self.server.ask("frame", view=view.as_values(), is_exact=is_exact)
        if answer.values.get("superseded"):
            raise Superseded
        text = json.dumps(answer.values["frame"]).encode()
        return struct.pack("<I", len(text)) + text + answer.body

    def _event(self, query: Query) -> bytes:
        view = ViewRequest.of_query(query)
        x, y = (float(query.get(name, [""])[0][:20]) for name in ("x", "y"))
        if not (abs(x) < 1e6 and abs(y) < 1e6):
            raise ValueError("out of bounds")
        return json.dumps(self.server.ask("event", view=view.as_values(), x=x, y=y).values).encode()

    def _neighbour(self, query: Query) -> bytes:
        numbers = {name: int(query.get(name, [""])[0][:20]) for name in ("row", "generation", "direction")}
        return json.dumps(self.server.ask("neighbour", **numbers).values).encode()

    def _findings(self, _query: Query) -> bytes:
        return json.dumps(self.server.ask("findings").values).encode()

    def _news(self) -> None:
        """Server-sent events until the browser or the server goes away."""
        if not self.server.news.enter():
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        try:
            self._send_head(HTTPStatus.OK, "text/event-stream", {"Connection": "close"})
            self.close_connection = True
            known, news = 0, self.server.news
            while not news.is_over:
                known, fresh = news.after(known, _BEAT_S)
                lines = [f"event: {kind}\ndata: {json.dumps(value)}\n\n" for kind, value in fresh]
                self.wfile.write("".join(lines or [": still here\n\n"]).encode())
            self.wfile.write(b"event: ended\ndata: {}\n\n")
        except OSError:
            pass
        finally:
            self.server.news.leave()

    def _answer(
        self, status: HTTPStatus, media_type: str, content: bytes, more: Mapping[str, str] | None = None
    ) -> None:
        with contextlib.suppress(OSError):
            self._send_head(status, media_type, {"Content-Length": str(len(content)), **(more or {})})
            if self.command != "HEAD":
                self.wfile.write(content)

    def _send_head(self, status: HTTPStatus, media_type: str, more: Mapping[str, str]) -> None:
        self.send_response(status)
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET")
        if self.close_connection:
            self.send_header("Connection", "close")
        for name, value in {**HEADERS, "Content-Type": media_type, **more}.items():
            self.send_header(name, value)
        self.end_headers()


_QUESTIONS: dict[str, Callable[[PageHandler, Query], bytes]] = {
    "/frame": PageHandler._frame,
    "/event": PageHandler._event,
    "/neighbour": PageHandler._neighbour,
    "/findings": PageHandler._findings,
}
