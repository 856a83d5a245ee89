"""Who may look: those with the address that was printed, once; then their browser, by its cookie."""

from __future__ import annotations

import hmac
import re
import secrets
import threading
from urllib.parse import urlsplit

_BYTES = 32
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
    """The token of the next browser, and the session of those that came.

    Cookies do not tell ports apart, so the name has ours.
    """

    def __init__(self, port: int) -> None:
        self.cookie = f"warpline-{port}"
        self._lock = threading.Lock()
        self._session = secrets.token_urlsafe(_BYTES)
        self._token = secrets.token_urlsafe(_BYTES)

    @property
    def token(self) -> str:
        """What the next browser has to bring."""
        return self._token

    def exchange(self, token: str) -> str | None:
        """The ``Set-Cookie`` for who brings the token, which is worth nothing afterwards; None for another one."""
        with self._lock:
            if not hmac.compare_digest(token.encode(), self._token.encode()):
                return None
            self._token = secrets.token_urlsafe(_BYTES)
        return f"{self.cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"

    def knows(self, cookies: str | None) -> bool:
        """Whether a request's ``Cookie`` is that of a browser that brought a token."""
        # By hand: `http.cookies` gives up at the first cookie it dislikes, and other servers of this computer set some.
        sent = (part.partition("=") for part in (cookies or "").split(";"))
        own = [value.strip() for name, _, value in sent if name.strip() == self.cookie]
        return any(hmac.compare_digest(value.encode(), self._session.encode()) for value in own)
