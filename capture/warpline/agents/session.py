"""The captures that a client has open, and what a call needs to answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING

from warpline.agents.privacy import Privacy
from warpline.agents.roots import Roots
from warpline.model.errors import UsageError, WarplineError

if TYPE_CHECKING:
    from warpline.library.capture_reader import CaptureReader
    from warpline.library.picture_process import PictureProcess
    from warpline.query.session import QuerySession

MOST_OPEN = 8
"""Captures open at once; the one that was opened first is closed for another."""


class AgentSession:
    """Open captures by file name. A capture is opened when it is first asked for."""

    def __init__(
        self, files: tuple[Path, ...] = (), *, roots: Roots, privacy: Privacy, allows_recording: bool = False
    ) -> None:
        self.roots, self.privacy, self.allows_recording = roots, privacy, allows_recording
        self.turn = Lock()
        """Held by the call that reads: a call that was given up may still run."""
        self._paths: dict[str, Path] = {}
        self._open: dict[str, CaptureReader] = {}
        self._queries: QuerySession | None = None
        self._queried: Path | None = None
        self._pictures: PictureProcess | None = None
        for file in files:
            self.name(file)

    @property
    def names(self) -> list[str]:
        """The names of all captures, those not yet read included."""
        return list(self._paths)

    def name(self, path: Path) -> str:
        """The name by which calls mean a file: its file name; with a number when another has it."""
        path = path.resolve()
        for name, known in self._paths.items():
            if known == path:
                return name
        name, number = path.name, 2
        while name in self._paths:
            name, number = f"{path.stem}-{number}{path.suffix}", number + 1
        self._paths[name] = path
        return name

    def contains(self, path: Path) -> bool:
        """Whether a file has a name already."""
        return path.resolve() in self._paths.values()

    def forget(self, name: str) -> None:
        """Close a capture, and forget its name."""
        self._paths.pop(name, None)
        reader = self._open.pop(name, None)
        if reader is not None:
            reader.close()

    def reader(self, name: str | None, call: ToolCall) -> CaptureReader:
        """An open capture. Raises UsageError when it is not clear which, WarplineError when it cannot be opened."""
        chosen = self._chosen(name)
        reader = self._open.get(chosen)
        if reader is None:
            reader = self._read(self._paths[chosen], call)
            while len(self._open) >= MOST_OPEN:
                self._open.pop(next(iter(self._open))).close()
            self._open[chosen] = reader
            self.privacy.learn(reader.metadata)
        return reader

    def _chosen(self, name: str | None) -> str:
        if name is None:
            if len(self._paths) == 1:
                return next(iter(self._paths))
            which = (
                f"which capture? open are: {', '.join(self._paths)}" if self._paths else "no capture is open"
            )
            raise UsageError(f"{which}; open_capture opens one")
        if name in self._paths:
            return name
        path = self.roots.checked(name)
        if not path.exists():
            known = ", ".join(self._paths) or "none"
            raise UsageError(f"no capture {name[:200]!r}; open are: {known}; open_capture opens another")
        return self.name(path)

    @staticmethod
    def _read(path: Path, call: ToolCall) -> CaptureReader:
        from warpline.library.entrance import open as open_file

        if path.is_dir():
            # Finishing a recording would write.
            raise UsageError(f"{path} is a folder; name a file in it, or ask job about it")
        return open_file(path, progress=call.progress, cancelled=call.cancelled.is_set)

    def queries(self, name: str | None, call: ToolCall) -> QuerySession:
        """SQL over a capture, in a process of its own; only the process for the capture queried last is kept."""
        from warpline.query.session import QuerySession

        path = self.reader(name, call).storage.path
        if self._queries is None or self._queried != path:
            self._end_queries()
            self._queries, self._queried = QuerySession([path]), path
        return self._queries

    def pictures(self) -> PictureProcess:
        """Pictures, from a process that stays."""
        from warpline.library.picture_process import PictureProcess

        if self._pictures is None:
            self._pictures = PictureProcess()
        return self._pictures

    def _end_queries(self) -> None:
        if self._queries is not None:
            self._queries.close()
            self._queries = None

    def close(self) -> None:
        """Close all captures."""
        self._end_queries()
        if self._pictures is not None:
            self._pictures.close()
        for reader in self._open.values():
            with suppress(WarplineError):
                reader.close()
        self._open.clear()


def _silent(_fraction: float, _text: str) -> None:
    pass


@dataclass(frozen=True)
class ToolCall:
    """One call: the session, whether it was cancelled, and where its progress goes."""

    session: AgentSession
    cancelled: Event = field(default_factory=Event)
    progress: Callable[[float, str], None] = _silent

    def reader(self, name: str | None) -> CaptureReader:
        """The capture that a call is about."""
        return self.session.reader(name, self)

    def queries(self, name: str | None) -> QuerySession:
        """SQL over the capture that a call is about."""
        return self.session.queries(name, self)
