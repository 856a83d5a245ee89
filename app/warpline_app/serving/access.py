"""Who may look: those with the address that was printed, once; then their browser, by its cookie.

Browsers send a cookie to every port of a host. Only its path keeps it from other servers of this computer, so the page
lies below a folder whose name nobody else knows.
"""

from __future__ import annotations

import hmac
import re
import secrets
import threading
from urllib.parse import urlsplit

_BYTES = 32
_FOLDER_BYTES = 12
_LOCAL = frozenset(("127.0.0.1", "localhost", "::1"))


def is_local_host(host: str | None) -> bool:
    """Whether a request's ``Host`` names this computer, with any port: ``ssh -L`` may use another one.

    A name that somebody else's server resolves to 127.0.0.1 is none (DNS rebinding).
    """
    if not host or not re.fullmatch(r"[A-Za-z0-9.:\[\]-]+", host):
        return False
    try:
        parts = urlsplit(f"//{host}")
        return parts.hostname in _LOCAL and parts.path == "" and (parts.port or 0) >= 0
    except ValueError:
        return False


class Access:
    """The folder of the page, the token of the next browser, and the session of those that came."""

    def __init__(self, port: int) -> None:
        self.cookie = f"warpline-{port}"
        self.folder = f"/{secrets.token_urlsafe(_FOLDER_BYTES)}/"
        self._lock = threading.Lock()
        self._session = secrets.token_urlsafe(_BYTES)
        self._token = secrets.token_urlsafe(_BYTES)

    @property
    def token(self) -> str:
        """What the next browser has to bring."""
        return self._token

    def path_of(self, path: str) -> str | None:
        """What a request's path names below the folder of the page, beginning with a slash; None for anything else."""
        end = len(self.folder)
        is_below = hmac.compare_digest(path[:end].encode(), self.folder.encode())
        return path[end - 1 :] if is_below else None

    def exchange(self, token: str) -> str | None:
        """The ``Set-Cookie`` for who brings the token, which is worth nothing afterwards; None for another one."""
        with self._lock:
            if not hmac.compare_digest(token.encode(), self._token.encode()):
                return None
            self._token = secrets.token_urlsafe(_BYTES)
        return f"{self.cookie}={self._session}; Path={self.folder}; HttpOnly; SameSite=Strict"

    def knows(self, cookies: str | None) -> bool:
        """Whether a request's ``Cookie`` is that of a browser that brought a token."""
        # By hand: `http.cookies` gives up at the first cookie it dislikes, and other servers of this computer set some.
        sent = (part.partition("=") for part in (cookies or "").split(";"))
        own = [value.strip() for name, _, value in sent if name.strip() == self.cookie]
        return any(hmac.compare_digest(value.encode(), self._session.encode()) for value in own)
