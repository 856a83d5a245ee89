"""Rule: unified memory whose pages migrate between CPU and GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.draft import NOTE, cost, make_finding, pieces_of
from warpline.analysis.findings.finding import Finding, Severity
from warpline.analysis.findings.rule import Rule
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.structure.memory_copies import page_migrations
from warpline.i18n import english, english_n
from warpline.model.intervals import clip_intervals, merge_intervals
from warpline.model.sizes import format_bytes
from warpline.model.times import format_duration

_TO_DEVICE, _TO_HOST = (1, 11), (2, 12)
_EVICTION, _PREFETCHES = 4, (1, 3)


def find_page_migrations(case: Case) -> Iterator[Finding]:
    """Find page migrations, whether or not kernels run meanwhile."""
    if case.gpu is None or not case.view.has("memcpy"):
        return
    copies = case.view.events("memcpy", case.gpu.gpu.tracks)
    migrations = copies.take(page_migrations(case.view, copies)) if len(copies) else copies
    if not len(migrations):
        return
    view = case.view
    start, stop = merge_intervals(
        *clip_intervals(migrations.start, migrations.stop, view.start_ns, view.stop_ns)
    )
    time = int((stop - start).sum())
    if time < NOTE * case.whole_ns:
        return
    pieces = pieces_of(case, "page_migrations")
    exposed = int(case.pieces.length[pieces].sum())
    moved = int(np.ma.filled(view.column("memcpy", "bytes", migrations.index), 0).astype(np.int64).sum())
    text = english_n(
        "Unified memory: {count:,} page migration takes {time} of {whole} ({percent:.0f} %) and moves {size} "
        "{direction}. No kernel runs during {exposed} of it.",
        "Unified memory: {count:,} page migrations take {time} of {whole} ({percent:.0f} %) and move {size} "
        "{direction}. No kernel runs during {exposed} of it.",
        len(migrations), size=format_bytes(moved), direction=_direction(case, migrations),
        exposed=format_duration(exposed), **cost(case, time),
    )  # fmt: skip
    for finding in make_finding(
        case, name="gpu_page_migrations", title=english("Page migrations of unified memory"), text=text,
        pieces=pieces, gain_ns=case.gain_of_pieces(pieces) if len(pieces) else 0, remedy=_remedy(case, migrations),
        worst=Severity.WARNING, time_ns=time, path=[],
    ):  # fmt: skip
        rows = migrations.row[np.argsort(-migrations.duration, kind="stable")[:20]]
        evidence = replace(finding.evidence, ranges=np.column_stack((start, stop)), rows=tuple(rows.tolist()))
        yield replace(finding, evidence=evidence)


def _direction(case: Case, migrations: SelectedEvents) -> str:
    kinds = np.ma.filled(case.view.column("memcpy", "copy_kind", migrations.index).astype(np.int64), 0)
    to_device, to_host = (int(np.isin(kinds, wanted).sum()) for wanted in (_TO_DEVICE, _TO_HOST))
    if to_device and to_host:
        return english("in both directions")
    return english("to the host") if to_host else english("to the {device}", device=case.device)


def _remedy(case: Case, migrations: SelectedEvents) -> str:
    """The remedy for the cause of most migrations."""
    cause = np.zeros(len(migrations), np.int64)
    if "migration_cause" in case.view.capture.kinds["memcpy"].attributes:
        values = case.view.column("memcpy", "migration_cause", migrations.index)
        cause = np.ma.filled(values.astype(np.int64), 0)
    usual = int(np.argmax(np.bincount(np.clip(cause, 0, 255), migrations.inside)))
    if usual == _EVICTION:
        return english(
            "The data does not fit into the memory of the {device}: use less at a time.", device=case.device
        )
    if usual in _PREFETCHES:
        return english("Prefetch earlier and on another stream, so that kernels run meanwhile.")
    return english(
        "Prefetch the pages before the kernel that needs them (cudaMemPrefetchAsync), or copy from pinned memory."
    )


rules = (Rule("gpu_page_migrations", "input", find_page_migrations),)
