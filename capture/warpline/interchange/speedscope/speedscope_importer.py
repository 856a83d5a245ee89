"""Importer for files of speedscope, which py-spy, pyinstrument, rbspy and others write, too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpline.i18n import english
from warpline.interchange.framework.columns import Int64Array, clean_text
from warpline.interchange.framework.documents import read_document
from warpline.interchange.framework.event_sink import EventSink, Holder
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.pairing import match_borders
from warpline.interchange.framework.samples import add_stack_samples, add_weights
from warpline.interchange.framework.stack_tables import StackChains
from warpline.interchange.framework.value_times import NS_PER, steps_of, times_of
from warpline.interchange.speedscope.document import Profile, SpeedscopeDocument
from warpline.model import Flag
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_MARK = b"speedscope.app/file-format-schema.json"


class SpeedscopeImporter:
    """Profiles of events become ranges, profiles of samples become samples; each has a row of its own."""

    name = "speedscope"
    title = english("speedscope profile")
    patterns = ("*.speedscope.json", "*.json")
    position = 61

    def recognise(self, head: bytes, path: Path) -> float:
        """See `Importer.recognise`."""
        del path
        # The member may stand last, so its neighbours count as well.
        is_alike = b'"shared"' in head and b'"frames"' in head and b'"profiles"' in head
        return CERTAIN if head.lstrip().startswith(b"{") and (_MARK in head or is_alike) else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        """See `Importer.convert`."""
        document = read_document(path, SpeedscopeDocument, cancelled)
        texts = [clean_text(frame.text) for frame in document.shared.frames]
        sink = EventSink(builder, options)
        chains = StackChains(builder)
        sampled = [profile for profile in document.profiles if profile.samples]
        units = {profile.unit for profile in sampled}
        add_weights(
            builder,
            "ns"
            if units and all(unit in NS_PER for unit in units)
            else "bytes"
            if units == {"bytes"}
            else "",
        )
        if any(profile.unit not in NS_PER for profile in document.profiles):
            builder.add_warning(
                english("the profile counts no time; the timeline shows its values one after the other")
            )
        process = clean_text(document.name or "") or "profile"
        for number, profile in enumerate(document.profiles):
            check_cancelled(cancelled)
            progress(number / len(document.profiles), path.name)
            name = clean_text(profile.name) or f"profile {number}"
            thread = sink.thread(process, f"{number} {name}", name)
            if profile.samples:
                _add_samples(sink, thread, profile, texts, chains)
            if profile.events:
                _add_ranges(sink, thread, profile, texts)
        return sink.summary()


def _add_samples(
    sink: EventSink, thread: Holder, profile: Profile, texts: list[str], chains: StackChains
) -> None:
    count = min(len(profile.samples), len(profile.weights) or len(profile.samples))
    durations = steps_of(profile.weights[:count] or [1] * count, profile.unit)
    known = len(texts)
    added = [
        chains.add(texts[frame] for frame in frames if 0 <= frame < known)
        for frames in profile.samples[:count]
    ]
    stacks, names = np.array(added, np.int64).reshape(-1, 2).T
    times = times_of(profile.start_value, profile.unit) + np.cumsum(durations) - durations
    weights = (
        durations
        if profile.unit in NS_PER
        else np.array(profile.weights[:count] or [1] * count).astype(np.int64)
    )
    add_stack_samples(
        sink, thread, times, stacks, names.astype(np.uint32), durations=durations, weight=weights
    )
    sink.skip(
        english("samples or weights"),
        abs(len(profile.samples) - len(profile.weights)) if profile.weights else 0,
        english("there are more of the one than of the other"),
    )


def _add_ranges(sink: EventSink, thread: Holder, profile: Profile, texts: list[str]) -> None:
    frame = np.array([event.frame for event in profile.events], np.int64)
    usable = np.flatnonzero((frame >= 0) & (frame < len(texts)))
    frame = frame[usable]
    time = np.array([times_of(event.at, profile.unit) for event in profile.events], np.int64)[usable]
    begins = np.array([event.type == "O" for event in profile.events], bool)[usable]
    pairs = match_borders(np.zeros(len(frame), np.int64), time, begins, frame)
    is_open = pairs.end < 0
    last = max(times_of(profile.end_value, profile.unit), int(time.max(initial=0)))
    start = time[pairs.begin]
    stop: Int64Array = np.where(is_open, np.maximum(last, start), time[pairs.end])
    names = sink.builder.strings(texts)[frame[pairs.begin]]
    flags = np.where(is_open, np.uint8(Flag.CUT_END), np.uint8(0)).astype(np.uint8)
    sink.add(sink.thread_track(thread, "ranges"), "range", start, stop, names, flags=flags)
    sink.skip(
        english("events of a profile"),
        len(profile.events) - len(usable) + pairs.lone_ends,
        english("they name no frame of the file, or end what did not begin"),
    )


importer = SpeedscopeImporter()
