"""Converts files of other profilers into one capture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import english, english_n, tr, translated
from warpline.interchange.framework import ranks, registry
from warpline.interchange.framework.bundles import TraceFiles, traces_of
from warpline.interchange.framework.detection import detect, read_head
from warpline.interchange.framework.importer import Importer, ImportOptions, ImportSummary
from warpline.model import Cancelled, ImportFormatError, UsageError
from warpline.model.launch_calls import missing_work
from warpline.model.progress import IsCancelled, Progress, check_cancelled, never, unwatched
from warpline.model.track_factory import rank_prefix, rank_track

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

MEMORY_BYTES = 128 << 20
"""Memory limit of the builder before it spills; decoding needs about as much again."""
CONVERTING_SHARE = 0.7
"""Share of the whole time; sorting, packing and the level of detail take the rest."""


def import_files(
    paths: Sequence[Path | str],
    out: Path | str,
    *,
    format: str | None = None,  # noqa: A002  # named like the option --format
    align: str = "auto",
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> Path:
    """Convert the files into the capture ``out`` and return its path.

    Folders and archives are replaced by the traces in them. Several files are the ranks of one job: each gets a group
    of tracks ``rank/R`` and its own clock, and ``align`` aligns the clocks (`ranks.align`). ``format`` names an
    importer; by default the content of each file decides.

    Raises ImportFormatError, StorageError, UsageError, Cancelled.
    """
    inputs = [Path(path) for path in paths]
    if not inputs:
        raise UsageError(tr("name at least one file to import"))
    if align not in ranks.METHODS:
        raise UsageError(
            tr(
                "unknown alignment {align!r}; use one of {names}",
                align=align,
                names=", ".join(ranks.METHODS),
            )
        )
    is_cancelled = cancelled or never
    with traces_of(inputs, is_cancelled) as files:
        return _import(files, Path(out), format, align, progress or unwatched, is_cancelled)


def _import(
    files: TraceFiles, out: Path, name: str | None, align: str, report: Progress, is_cancelled: IsCancelled
) -> Path:
    converters = [registry.importer_named(name) if name else detect(path) for path in files]
    from warpline.storage import CaptureBuilder  # loads h5py, so only when there is something to write

    with CaptureBuilder(out, memory_budget_bytes=MEMORY_BYTES) as builder:
        builder.meta["imported_from"] = [
            {"file": path.name, "format": converter.name}
            for path, converter in zip(files, converters, strict=True)
        ]
        builder.add_skipped(
            english("files of the folder"),
            len(files.left_out),
            english("another file holds the same run, or a newer one"),
        )
        if len(files) == 1:
            options = [ImportOptions()]
        else:
            options = _options_of_ranks(files, builder)
        summaries = convert_each(files, converters, options, builder, report, is_cancelled)
        if len(files) > 1:
            alignment = ranks.align(summaries, align)
            ranks.apply(alignment, builder, [option.clock for option in options])
        check_cancelled(is_cancelled, tr("the import was cancelled"))
        contents = builder.contents()
        kinds = {kind.spec.name for kind in contents.kinds if kind.count}
        if warning := missing_work(
            kinds, contents.strings.texts, [converter.name for converter in converters]
        ):
            builder.add_warning(warning)
        return builder.finish(
            lambda fraction, text: report(CONVERTING_SHARE + (1 - CONVERTING_SHARE) * fraction, text),
            is_cancelled,
        )


def convert_each(
    files: list[Path],
    converters: list[Importer],
    options: list[ImportOptions],
    builder: CaptureBuilder,
    report: Progress,
    is_cancelled: IsCancelled,
) -> list[ImportSummary]:
    """Adds each file to the builder with its importer, and records it as a source of the capture.

    Raises ImportFormatError for a file without events, Cancelled.
    """
    sizes = [max(1, path.stat().st_size) for path in files]
    total = sum(sizes)
    summaries: list[ImportSummary] = []
    done = 0
    for path, converter, option, size in zip(files, converters, options, sizes, strict=True):
        check_cancelled(is_cancelled, tr("the import was cancelled"))
        before = done

        def report_part(fraction: float, text: str, before: int = before, size: int = size) -> None:
            report(CONVERTING_SHARE * (before + min(max(fraction, 0.0), 1.0) * size) / total, text)

        report_part(0.0, tr("reading {name}", name=path.name))
        try:
            summary = converter.convert(path, builder, option, report_part, is_cancelled)
        except Cancelled as error:
            raise Cancelled(tr("the import was cancelled")) from error
        if summary.start_ns is None:
            raise ImportFormatError(_why_nothing(path, builder))
        summaries.append(summary)
        builder.add_source(
            english("import {file}", file=path.name),
            enabled=True,
            reason=english_n(
                "{title}, {count:,} event", "{title}, {count:,} events", summary.events, title=converter.title
            ),
        )
        done += size
    return summaries


def _why_nothing(path: Path, builder: CaptureBuilder) -> str:
    """Why a file of a known format yielded no events: what was skipped, and whether it is damaged."""
    contents = builder.contents()
    left_out = [
        f"{translated(entry.what)}: {entry.count:,} ({translated(entry.reason)})"
        for entry in contents.skipped
    ]
    return tr(
        "{path} holds no events for a timeline: {reasons}",
        path=path,
        reasons="; ".join([*left_out, *map(translated, contents.warnings)][:4])
        or tr("its list of events is empty"),
    )


def _options_of_ranks(files: list[Path], builder: CaptureBuilder) -> list[ImportOptions]:
    numbers = ranks.rank_numbers([(path, read_head(path)) for path in files])
    options: list[ImportOptions] = []
    for number in numbers:
        clock = builder.add_clock(f"rank {number}")
        builder.add_track(rank_track(number), rank=number, clock=clock)
        options.append(ImportOptions(prefix=rank_prefix(number), rank=number, clock=clock))
    return options
