"""Serves a timeline until Ctrl-C: starts the process that draws and the server, and says where to look."""

from __future__ import annotations

import contextlib
import getpass
import os
import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from warpline.i18n import tr
from warpline.model.errors import WarplineError
from warpline.platform.systems import has_screen
from warpline_app.serving.drawing_process import DrawingProcess
from warpline_app.serving.http_server import LOOPBACK, PageServer
from warpline_app.serving.news import News


class Serving:
    """A server and the process that draws for it."""

    def __init__(self, arguments: list[str], port: int, signed_in: Callable[[], None] = lambda: None) -> None:
        """Start both; port 0 is any that is free. Raises WarplineError for a file or a port that cannot be opened."""
        self.news = News(self._watched)
        self.process = DrawingProcess(arguments, self._tell)
        try:
            # Before the file is opened, which may take long: a port that is taken is said at once.
            self.server = PageServer(port, "", self.process.ask, self.news, signed_in)
        except OSError as error:
            raise WarplineError(
                tr(
                    "port {port} cannot be used: {reason}; choose another one with --port, or leave it out",
                    port=port,
                    reason=error.strerror or error,
                )
            ) from error
        try:
            self.process.begin()
        except BaseException:
            self.server.server_close()
            raise
        self.server.title = self.process.title
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.2,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where the next browser begins; worth nothing once it was there."""
        access = self.server.access
        return f"http://{LOOPBACK}:{self.server.port}{access.folder}?token={access.token}"

    def _tell(self, values: dict[str, Any]) -> None:
        self.news.tell(str(values.pop("news", "")), values)

    def _watched(self, on: bool) -> None:
        self.process.tell("watch", on=on)

    def end(self) -> None:
        """End both; nothing is left. It may be called again."""
        if self.news.is_over:
            return
        self.news.end()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()
        self.process.end()


def serve(arguments: list[str], name: str, port: int, *, opens_browser: bool) -> int:
    """Serve until Ctrl-C. Raises WarplineError."""
    print(tr("Opening {name} …", name=name), flush=True)
    serving: list[Serving] = []

    def signed_in() -> None:
        with contextlib.suppress(OSError):  # the terminal may be gone; the browser is to get its cookie
            print(tr("Signed in. For another browser: {address}", address=serving[0].address), flush=True)

    try:
        serving.append(Serving(arguments, port, signed_in))
        address, own_port = serving[0].address, serving[0].server.port
        print(tr("{name} is at {address}", name=name, address=address))
        print(tr("The address works once. To open it on another computer, first run this there:"))
        print(f"  ssh -N -L {own_port}:{LOOPBACK}:{own_port} {_own_name()}")
        print(tr("Press Ctrl-C to stop."), flush=True)
        if opens_browser and has_screen():
            webbrowser.open(address)
        threading.Event().wait()
    except KeyboardInterrupt:
        print()
    finally:
        for one in serving:
            one.end()
    return 0


def _own_name() -> str:
    """This computer as ``ssh`` may know it: by the address that was used to come here, else by its name."""
    came = os.environ.get("SSH_CONNECTION", "").split()
    host = came[2] if len(came) == 4 else socket.gethostname()
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user without an entry
        return host
    return f"{user}@{host}"


def file_arguments(path: Path) -> list[str]:
    """What the process that draws is started with for a file."""
    return [str(path.absolute())]


def live_arguments(spool: Path) -> list[str]:
    """What the process that draws is started with for a running recording."""
    return ["--live", str(spool.absolute())]
