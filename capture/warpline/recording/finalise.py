"""Turns the spool files of a recording into a capture; after a crash as well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpline.i18n import english, tr
from warpline.model.errors import RecordingError, StorageError, WarplineError
from warpline.recording.session import Session, load_session, readable
from warpline.recording.sources.cuda import translate as translate_cupti
from warpline.recording.sources.nvml import translate as translate_nvml
from warpline.recording.sources.nvtx import translate as translate_nvtx
from warpline.recording.sources.perf import translate as translate_cpu
from warpline.recording.sources.procfs import translate as translate_procfs
from warpline.recording.spool import records
from warpline.recording.spool.reader import SpoolFile, read_spools
from warpline.recording.spool.spool_to_tracks import Translation, Translator
from warpline.recording.spool.thread_history import read_schedule, read_threads
from warpline.storage import CaptureBuilder

TRANSLATORS: tuple[tuple[str, Translator], ...] = (
    ("perf", translate_cpu.translate),
    ("procfs", translate_procfs.translate),
    ("nvml", translate_nvml.translate),
    ("nvtx", translate_nvtx.translate),
    ("cuda", translate_cupti.translate),
)
"""Each source's translator, in the order in which they run."""

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Finalised:
    """The capture that was written: where, how many events, and how many records were lost."""

    path: Path
    events: int
    lost: int


def finalise(
    directory: Path,
    output: Path,
    *,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    memory_budget_bytes: int = 256 << 20,
) -> Finalised:
    """Write the capture of a spool directory; the directory stays as it is.

    Raises RecordingError when the directory holds no recording, StorageError when the capture cannot be written and
    Cancelled when ``cancelled()`` becomes true; no file is left then.
    """
    session = load_session(directory)
    spools, problems = read_spools(directory)
    if not spools:
        raise RecordingError(f"{directory}: holds no spool file that can be read")
    schedule = read_schedule(session, spools)
    with CaptureBuilder(output, memory_budget_bytes=memory_budget_bytes) as builder:
        _describe(session, builder)
        for problem in problems:
            builder.add_warning(problem)
        builder.set_span(0, schedule.stop_ns - schedule.start_ns)
        pauses = schedule.pauses - schedule.start_ns
        for start, stop in pauses.tolist():
            builder.add_pause(start, stop)
        _add_sources(spools, builder)
        threads = read_threads(session, spools, schedule)
        translation = Translation(session, threads, builder, schedule.start_ns, schedule.stop_ns, pauses)
        for number, (name, translate) in enumerate(TRANSLATORS):
            if progress is not None:
                progress(0.3 * number / len(TRANSLATORS), tr("reading {source}", source=name))
            _translate(name, translate, translation, spools, builder)
        contents = builder.contents()
        path = builder.finish(_from(progress, 0.3), cancelled)
    return Finalised(path, contents.n_events, sum(source.lost for source in contents.sources))


def _translate(
    name: str,
    translate: Translator,
    translation: Translation,
    spools: Sequence[SpoolFile],
    builder: CaptureBuilder,
) -> None:
    """One source's failure must not cost the others: it is told in the capture."""
    try:
        translate(translation, spools, builder)
    except (StorageError, MemoryError):
        raise
    except (WarplineError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        text = english("what {source} recorded is damaged: {error}", source=name, error=error)
        builder.add_warning(text)
        builder.add_source(name, False, text)


def _describe(session: Session, builder: CaptureBuilder) -> None:
    builder.meta.update(
        command_line=[readable(word) for word in session.command],
        working_directory=readable(session.working_directory),
        host=session.host,
        start_utc_ns=session.start_realtime_ns,
        start_monotonic_ns=session.start_monotonic_ns,
        tool=session.tool,
        exit_status=session.exit_status,
        trace=list(session.options.trace),
    )


def _add_sources(spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """What the recorder said about each source, and its messages."""
    for spool in spools:
        text = spool.text
        for name, enabled, reason, remedy, lost in spool.records(
            records.SOURCE_STATE, records.source_state
        ).values.tolist():
            builder.add_source(text(name), bool(enabled), text(reason), int(lost), text(remedy))
        for _time, number, _severity in spool.records(records.MESSAGE, records.message).values.tolist():
            builder.add_warning(text(number))
        if not spool.header.finished and spool.header.producer == "recorder":
            builder.add_warning(
                english("the recorder was killed: the capture ends with the last record it had written")
            )


def _from(progress: Progress | None, start: float) -> Progress | None:
    if progress is None:
        return None
    return lambda fraction, text: progress(start + (1 - start) * fraction, text)
