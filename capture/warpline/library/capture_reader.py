"""`CaptureReader`: an open capture for programs, which returns columns."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from functools import cached_property
from html import escape
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.registry import compute_report, reports
from warpline.analysis.framework.selection import View
from warpline.i18n import tr
from warpline.library.counter_samples import CounterSamples
from warpline.library.event_frame import EventFrame, find_rows
from warpline.library.info import describe
from warpline.library.link_frame import LinkFrame
from warpline.library.pictures import PngPicture, draw
from warpline.library.report_frame import ReportFrame
from warpline.library.selecting import (
    NamePatterns,
    Patterns,
    Time,
    TimeRange,
    matching_names,
    range_ns,
    select,
)
from warpline.memory_room import require_memory
from warpline.model import (
    BUILTIN_KINDS_BY_NAME,
    Device,
    KindSpec,
    Process,
    Source,
    Thread,
    Track,
    UsageError,
    WarplineError,
    format_duration,
)

if TYPE_CHECKING:
    from warpline.library.notebook_page import NotebookPage
    from warpline.library.opening import Opened
    from warpline.library.sql_frame import SqlFrame
    from warpline.query.session import QuerySession
    from warpline.query.wire import Parameters
    from warpline.storage import Capture

_NOTEBOOK_SIZE = (1000, 500)


class CaptureReader:
    """An open capture. `warpline.open` makes one; leaving its ``with`` block, or `close`, closes the file.

    Times are texts with a unit (``"1.5s"``, ``"20ms"``) or whole nanoseconds, and count from the start of the capture,
    in questions and in answers. Tracks are named by patterns over their URIs (``"gpu/0/*"``), which include what is
    below them. What is wrong with a question raises `UsageError`, everything else another `WarplineError`.
    """

    def __init__(self, opened: Opened) -> None:
        self._capture: Capture | None = opened.capture
        self._sessions: dict[tuple[int | Path, ...], QuerySession] = {}
        self.path: Path = opened.source
        """The file that was opened; that of another profiler when it was converted."""

    # The file

    @property
    def storage(self) -> Capture:
        """The capture as `warpline.storage` reads it, for what is not answered here. Raises UsageError when closed."""
        if self._capture is None:
            raise UsageError(tr("{path}: the capture is closed", path=self.path))
        return self._capture

    def close(self) -> None:
        """Closes the file. Columns that were read stay usable."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        if self._capture is not None:
            self._capture.close()
            self._capture = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # What is in it

    @property
    def uuid(self) -> str:
        """The UUID of the capture."""
        return self.storage.uuid

    @property
    def duration_ns(self) -> int:
        """Duration of the recording in ns."""
        return self.storage.duration_ns

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Metadata of the recording: command line, machine …"""
        return self.storage.meta

    @property
    def kinds(self) -> dict[str, KindSpec]:
        """Kinds with events and their attributes, by name."""
        return {name: table.spec for name, table in self.storage.kinds.items()}

    @property
    def tracks(self) -> tuple[Track, ...]:
        """Every row of the timeline, parents before their children."""
        return self.storage.tracks

    @property
    def processes(self) -> tuple[Process, ...]:
        """Processes of the recorded program, as `Track.process` numbers them."""
        return self.storage.processes

    @property
    def threads(self) -> tuple[Thread, ...]:
        """Threads of the recorded program, as `Track.thread` numbers them."""
        return self.storage.threads

    @property
    def devices(self) -> tuple[Device, ...]:
        """GPUs and other accelerators."""
        return self.storage.devices

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources: which of them recorded, and why others did not."""
        return self.storage.sources

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the program that wrote the capture."""
        return self.storage.warnings

    def info(self) -> dict[str, Any]:
        """The contents of the capture as plain values, as ``warpline info --json`` prints them."""
        return describe(self.storage)

    # Events

    def events(
        self,
        kind: str | Iterable[str] | None = None,
        *,
        track: Patterns | None = None,
        name: NamePatterns | None = None,
        start: Time | None = None,
        stop: Time | None = None,
    ) -> EventFrame:
        """The events of one or several kinds (None: of every kind) that overlap [start, stop) on the tracks named.

        ``name`` is what events are called: exactly, by a pattern with ``*``, by a compiled regular expression that is
        searched for, or several of these. Attributes are columns when kinds are asked for.

        Raises UsageError for an unknown kind, a pattern that no track matches, times that are none.
        """
        capture = self.storage
        kinds = None if kind is None else [kind] if isinstance(kind, str) else list(dict.fromkeys(kind))
        for wanted in kinds or ():
            if wanted not in capture.kinds and wanted not in BUILTIN_KINDS_BY_NAME:
                known = ", ".join(capture.kinds) or tr("none")
                raise UsageError(
                    tr("no kind {name!r}; {path} has {known}", name=wanted, path=self.path, known=known)
                )
        view = View(capture, select(capture, self.path, range_ns((start, stop)), track))
        names = None if name is None else matching_names(capture.strings, name)
        return EventFrame(capture, kinds, find_rows(view, kinds, names), self._check)

    @cached_property
    def links(self) -> LinkFrame:
        """Links between events, such as launches and kernels, wake-ups and runs."""
        return LinkFrame(self.storage.links, self._check)

    @cached_property
    def counters(self) -> tuple[CounterSamples, ...]:
        """Values over time: GPU utilization, memory, power …"""
        capture = self.storage
        return tuple(CounterSamples(capture, counter, self._check) for counter in capture.counters)

    # Questions in SQL

    def sql(
        self,
        query: str,
        parameters: Parameters = None,
        *,
        others: Iterable[CaptureReader] = (),
        limit: int | None = None,
        seconds: float = 30.0,
        memory_bytes: int = 1 << 30,
    ) -> SqlFrame:
        """The rows of a query in SQL, which ``docs/query.md`` describes; at most ``limit`` rows.

        ``parameters`` stand for ``?`` (a sequence) or ``$name`` (a mapping). ``others`` are captures that the query
        compares with this one: this one is also called ``a``, they are ``b``, ``c`` … The query runs in a process of
        its own, for at most ``seconds`` and with ``memory_bytes`` above what it opened; the first one waits for its
        start, 0.3 to 0.4 s.

        Raises UsageError, with line and column, for what is wrong with the query; NotRecordedError for events that
        were not recorded; WarplineError when it needs more time or memory, or DuckDB (extra ``sql``) is not installed.
        """
        from warpline.library.sql_frame import SqlFrame
        from warpline.query.session import QueryLimits, QuerySession

        paths = (self._check().path, *(other.storage.path for other in others))
        session = self._sessions.get((memory_bytes, *paths))
        if session is None:
            session = QuerySession(paths, QueryLimits(memory_bytes=memory_bytes))
            self._sessions[memory_bytes, *paths] = session
        return SqlFrame(session.run(query, parameters, limit=limit, seconds=seconds))

    # Reports and pictures

    @property
    def reports(self) -> dict[str, str]:
        """Names and titles of all reports."""
        return {spec.name: spec.title for spec in reports()}

    def report(
        self,
        name: str,
        *,
        range: TimeRange | None = None,  # noqa: A002  # named like the option --range
        track: Patterns | None = None,
        step: str | None = None,
        by_thread: bool = False,
    ) -> ReportFrame:
        """A report about a range and tracks, with the columns of ``warpline stats --report NAME --format json``.

        ``step`` names the range that is a step, ``by_thread`` keeps threads apart where the report knows threads.

        Raises NotRecordedError, which says how to record it, when the capture has nothing to report; UsageError for an
        unknown report, range or track.
        """
        capture = self.storage
        selection = select(capture, self.path, range_ns(range), track)
        return ReportFrame(compute_report(capture, name, selection, Options(by_thread=by_thread, step=step)))

    def render(
        self,
        *,
        range: TimeRange | None = None,  # noqa: A002  # named like the option --range
        track: Patterns | None = None,
        size: tuple[int, int] = (1600, 900),
        scale: float = 1.0,
        theme: str = "dark",
    ) -> PngPicture:
        """The timeline as a PNG, drawn without a display; each of ``size`` pixels becomes ``scale`` × ``scale``.

        ``theme`` is ``dark``, ``light``, ``contrast`` or ``contrast-light``.

        Raises WarplineError when the window is not installed (extra ``gui``), UsageError for what
        cannot be drawn.
        """
        self._check()
        patterns = [] if track is None else [track] if isinstance(track, str) else list(track)
        return draw(self.path, range_ns(range), patterns, size, scale, theme)

    def show(
        self,
        *,
        range: TimeRange | None = None,  # noqa: A002  # named like the option --range
        track: Patterns | None = None,
        height: int = 480,
    ) -> NotebookPage:
        """The timeline for a notebook, to zoom and pan: the page that ``warpline export`` writes, ``height`` pixels
        high. Where it cannot run (PDF, a notebook that is not trusted), its picture is shown.

        Raises UsageError for an unknown range or track.
        """
        # Imported late: it cannot be while a program ends, when a profiler's handler may export.
        from concurrent.futures import ThreadPoolExecutor

        from warpline.interchange.export.selection import ExportSelection
        from warpline.library.notebook_page import NotebookPage, page_of

        capture, ends_ns = self.storage, range_ns(range)
        if height < 1:
            raise UsageError(tr("the height is at least 1 pixel, not {height}", height=height))
        part = select(capture, self.path, ends_ns, track)
        require_memory()
        with ThreadPoolExecutor(1) as drawing:
            picture = drawing.submit(self._picture, range, track, height)
            page = page_of(capture, self.path, ExportSelection(part.start_ns, part.stop_ns, part.tracks))
            return NotebookPage(page, picture.result(), height)

    def _picture(self, part: TimeRange | None, track: Patterns | None, height: int) -> PngPicture | None:
        try:
            return self.render(range=part, track=track, size=(_NOTEBOOK_SIZE[0], height), theme="light")
        except WarplineError:
            # Without the window a notebook shows the facts, or the page, alone.
            return None

    def _check(self) -> Capture:
        return self.storage

    # Shown in a session

    def __repr__(self) -> str:
        if self._capture is None:
            return f"<warpline.CaptureReader {self.path} (closed)>"
        return (
            f"<warpline.CaptureReader {self.path}: {len(self._capture.events):,} events in "
            f"{format_duration(self.duration_ns)} on {len(self.tracks):,} tracks>"
        )

    @cached_property
    def _notebook_picture(self) -> PngPicture | None:
        return self._picture(None, None, _NOTEBOOK_SIZE[1])

    def _repr_png_(self) -> bytes | None:
        if self._capture is None or self._notebook_picture is None:
            return None
        return bytes(self._notebook_picture)

    def _repr_html_(self) -> str:
        text = f"<p>{escape(repr(self)[1:-1])}</p>"
        if self._capture is None:
            return text
        cells = [(table.spec.title, name, f"{len(table):,}") for name, table in self._capture.kinds.items()]
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in cells)
        text += f"<table><thead><tr><th></th><th>kind</th><th>events</th></tr></thead><tbody>{rows}</tbody></table>"
        if self._notebook_picture is not None:
            data = base64.b64encode(self._notebook_picture).decode("ascii")
            text += f'<img alt="the timeline" src="data:image/png;base64,{data}"/>'
        return text
