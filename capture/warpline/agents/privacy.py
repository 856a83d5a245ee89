"""What an answer may say of the machine and its user."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from warpline.untrusted import visible

_FOLDER = re.compile(r"(?<![\w.~…])(?:[A-Za-z]:)?[/\\](?:[^\s/\\:\"'`()<>|,;\[\]]+[/\\])+")
"""The folders of an absolute path."""


class Privacy:
    """Puts ``~`` in place of the home folder; with ``is_redacted`` hides hosts and folders outside the roots too."""

    def __init__(self, roots: Iterable[Path] = (), *, is_redacted: bool = False) -> None:
        self.is_redacted = is_redacted
        home = str(Path.home())
        self._home = home if len(home) > 1 else ""
        self._roots = [f"{root}/" for root in roots]
        self._hosts = {platform.node()} - {""}

    def learn(self, meta: Any) -> None:
        """Hide the host that a capture's metadata names, too."""
        host = meta.get("host")
        if isinstance(host, dict):
            host = host.get("name") or host.get("hostname")
        if isinstance(host, str) and len(host) > 1:
            self._hosts.add(host)

    def cleaned(self, text: str) -> str:
        """The text as it may leave the server, with every control character as an escape."""
        text = visible(text)
        if self.is_redacted:
            for host in self._hosts:
                text = re.sub(rf"(?<![\w-]){re.escape(host)}(?![\w-])", "HOST", text)
            text = _FOLDER.sub(self._shortened, text)
        if self._home:
            text = re.sub(rf"{re.escape(self._home)}(?=[/\\\s:,;)\"']|$)", "~", text)
        return text

    def _shortened(self, match: re.Match[str]) -> str:
        folder = match.group()
        root = next((root for root in self._roots if folder.startswith(root)), None)
        return folder.removeprefix(root) if root else "…/"
