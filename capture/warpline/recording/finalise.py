"""Turns the spool files of a recording into a capture, also after a crash."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from warpline.i18n import english, tr
from warpline.model import Flag
from warpline.model.errors import RecordingError, StorageError
from warpline.model.progress import IsCancelled, Progress
from warpline.model.times import format_duration
from warpline.recording.again import remembered_options
from warpline.recording.agent.reported_sources import add_agent_losses
from warpline.recording.session import Session, load_session, readable
from warpline.recording.sources.registry import recording_sources
from warpline.recording.sources.source import RecordingSource
from warpline.recording.spool import records
from warpline.recording.spool.error_ring import read_error_tail
from warpline.recording.spool.reader import SpoolFile, read_spools
from warpline.recording.spool.ring import cut_to_ring, in_ring
from warpline.recording.spool.schedule import read_schedule
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.spool.thread_history import read_threads
from warpline.recording.symbols.machine_files import files_in, of_another_machine
from warpline.storage import CaptureBuilder

# Record types below are common to all spool files (docs/spool.md).
_FIRST_OF_A_SOURCE = 100
MARKS_DOMAIN = "warpline control"
"""The NVTX domain in which marks from outside are shown."""


@dataclass(frozen=True)
class Finalised:
    """The capture that was written. ``damaged`` names the sources whose records could not be read; they are only in the
    spool.
    """

    path: Path
    events: int
    lost: int
    damaged: tuple[str, ...] = ()


def finalise(
    directory: Path,
    output: Path,
    *,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
    memory_budget_bytes: int = 256 << 20,
    until_ns: int | None = None,
    since_ns: int | None = None,
    files: Path | None = None,
    read: tuple[list[SpoolFile], list[str]] | None = None,
) -> Finalised:
    """Write the capture of a spool directory; the directory is not changed.

    ``files`` is a folder with files of the machine it was recorded on, for a recording of another machine.
    With ``until_ns`` (CLOCK_MONOTONIC) it covers a recording in progress, up to that time; what ended before
    ``since_ns`` is left out then, as a ring would. ``read`` is what `read_spools` gave, or as much of it as
    matters since then; it may be read only once.
    Raises RecordingError when the directory holds no recording, StorageError when the capture cannot be written and
    Cancelled when ``cancelled()`` becomes true; no file is left then.
    """
    session = load_session(directory)
    asked = session.options
    if until_ns is not None:
        session = _part_of(session, since_ns, until_ns)
    spools, problems = read or read_spools(directory)
    if not spools:
        raise RecordingError(f"{directory}: contains no readable spool file")
    sources = recording_sources()
    timed_records = dict(entry for source in sources for entry in source.timed_records)
    whole = read_schedule(session, spools, timed_records)
    session, schedule = in_ring(session, whole)
    if session.is_cut or session.options.waits:
        passing = {entry[0]: entry[1:] for source in sources for entry in source.passing_records}
        cut_to_ring(spools, passing, schedule.start_ns)
    elsewhere = (files or of_another_machine()) if session.is_remote else None
    with (
        files_in(elsewhere),
        CaptureBuilder(
            output, memory_budget_bytes=memory_budget_bytes, is_temporary=read is not None
        ) as builder,
    ):
        _describe(replace(session, options=asked), builder)
        for problem in problems:
            builder.add_warning(problem, is_loss=True)
        if session.is_cut and read is None:
            gone = format_duration(schedule.start_ns - whole.start_ns)
            text = (
                english("--ring kept only the end: the first {time} are gone", time=gone)
                if session.options == asked
                else english("a part of a recording: its first {time} are left out", time=gone)
            )
            builder.add_warning(text, is_loss=True)
        builder.set_span(0, schedule.stop_ns - schedule.start_ns)
        pauses = schedule.pauses - schedule.start_ns
        for start, stop in pauses.tolist():
            builder.add_pause(start, stop)
        _add_sources(spools, builder, goes_on=until_ns is not None)
        threads = read_threads(session, spools, schedule)
        translation = Translation(
            session=session,
            threads=threads,
            builder=builder,
            start_ns=schedule.start_ns,
            stop_ns=schedule.stop_ns,
            pauses=pauses,
        )
        damaged: list[str] = []
        for source in sources:
            with _contained(source, builder, damaged):
                source.prepare(translation, spools)
        for number, source in enumerate(sources):
            if progress is not None:
                progress(0.3 * number / len(sources), tr("reading {source}", source=source.name))
            with _contained(source, builder, damaged):
                source.translate(translation, spools, builder)
        _add_marks(translation, spools, builder)
        add_agent_losses(spools, builder)
        _add_unread(sources, spools, builder)
        contents = builder.contents()
        path = builder.finish(_from(progress, 0.3), cancelled)
    lost = sum(source.lost for source in contents.sources)
    return Finalised(path, contents.n_events, lost, tuple(dict.fromkeys(damaged)))


def _part_of(session: Session, since_ns: int | None, until_ns: int) -> Session:
    """The session as if it had ended, and as if a ring had kept what came after ``since_ns``."""
    session = session.ended(until_ns, None)
    if since_ns is None or since_ns >= until_ns:
        return session
    ring = session.options.ring_ns or until_ns - since_ns
    return replace(session, options=replace(session.options, ring_ns=min(ring, until_ns - since_ns)))


@contextlib.contextmanager
def _contained(source: RecordingSource, builder: CaptureBuilder, damaged: list[str]) -> Iterator[None]:
    """Turns a source's failure into a warning in the capture, so that the other sources are still translated."""
    try:
        yield
    except (StorageError, MemoryError, OSError):
        raise
    except Exception as error:  # plug-in code and damaged spools may raise anything; the others continue
        text = english("what {source} recorded is damaged: {error}", source=source.name, error=error)
        builder.add_warning(text, is_loss=True)
        builder.add_source(source.name, False, text)
        damaged.append(source.name)


def _add_unread(
    sources: Sequence[RecordingSource], spools: Sequence[SpoolFile], builder: CaptureBuilder
) -> None:
    """Count records of sources that are not installed here."""
    known = frozenset().union(*(source.record_types for source in sources))
    unread: dict[str, int] = {}
    for spool in spools:
        for chunk in spool.chunks:
            if chunk.record_type >= _FIRST_OF_A_SOURCE and chunk.record_type not in known:
                count = len(chunk.payload) // chunk.record_bytes if chunk.record_bytes else 0
                unread[spool.header.producer] = unread.get(spool.header.producer, 0) + count
    for producer, count in unread.items():
        builder.add_skipped(
            english("records of {source}", source=producer),
            count,
            english("no installed source reads them"),
        )


def _describe(session: Session, builder: CaptureBuilder) -> None:
    builder.meta.update(
        command_line=[readable(word) for word in session.command],
        working_directory=readable(session.working_directory),
        host=session.host,
        start_utc_ns=session.start_realtime_ns,
        start_monotonic_ns=session.start_monotonic_ns,
        tool=session.tool,
        exit_status=session.exit_status,
        exit_signal=session.exit_signal,
        stderr_tail=read_error_tail(session.directory),
        trace=list(session.options.trace),
        recording={**remembered_options(session.options), "attached": session.was_running},
    )


def _add_sources(spools: Sequence[SpoolFile], builder: CaptureBuilder, *, goes_on: bool) -> None:
    """Add the recorder's report on each source, and its messages."""
    for spool in spools:
        text = spool.text
        for name, enabled, reason, remedy, lost in spool.records(
            records.SOURCE_STATE, records.source_state
        ).values.tolist():
            builder.add_source(text(name), bool(enabled), text(reason), int(lost), text(remedy))
        for _time, number, severity in spool.records(records.MESSAGE, records.message).values.tolist():
            builder.add_warning(text(number), is_loss=severity == records.LOSS)
        if not spool.header.finished and spool.header.producer == "recorder" and not goes_on:
            builder.add_warning(
                english("the recorder was killed: the capture ends with its last record"),
                is_loss=True,
            )


def _add_marks(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add the moments that were marked from outside, to the program's first thread."""
    pid = translation.session.target_pid
    for spool in spools:
        marks = spool.records(records.MARK, records.mark).values
        time_ns = marks["time_ns"].astype(np.int64)
        marks = marks[(time_ns >= translation.start_ns) & (time_ns <= translation.stop_ns)]
        if spool.header.producer != "recorder" or not len(marks):
            continue
        thread = translation.threads.lookup([pid], [pid], marks["time_ns"][:1].astype(np.int64))
        ranges = translation.tracks.thread_ranges(translation.thread_uri(int(thread[0])), MARKS_DOMAIN)
        builder.add_events(
            translation.thread_child(int(thread[0]), ranges),
            "range",
            translation.capture_time(marks["time_ns"]),
            0,
            builder.strings(map(spool.text, marks["text"].tolist())),
            flags=Flag.INSTANT,
            attributes={"domain": builder.string(MARKS_DOMAIN)},
        )


def _from(progress: Progress | None, start: float) -> Progress | None:
    if progress is None:
        return None
    return lambda fraction, text: progress(start + (1 - start) * fraction, text)
