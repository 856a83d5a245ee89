"""Importer for files of speedscope, which py-spy, pyinstrument, rbspy and others write, too."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.columns import MAX_TIME_NS, Int64Array, clean_text
from warpline.interchange.framework.event_sink import EventSink, Holder
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.pairing import match_borders
from warpline.interchange.framework.samples import add_stack_samples, add_weights
from warpline.interchange.framework.stack_tables import innermost_frames
from warpline.interchange.framework.unpacking import unpacked
from warpline.interchange.framework.value_times import NS_PER, steps_of, times_of
from warpline.interchange.speedscope.document import (
    ProfileContents,
    SpeedscopeHead,
    read_contents,
    read_head,
)
from warpline.model import Flag
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.recording.symbols.demangle import demangle_frame

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
        # The member may come last, beyond the head, so its neighbours count as well.
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
        size = max(1, path.stat().st_size)
        sink = EventSink(builder, options)
        with path.open("rb") as file:
            head = read_head(unpacked(file, path))
            _add_units(builder, head)
            process = clean_text(head.name) or "profile"
            stacks_of = partial(_stacks_of, builder, builder.strings(map(_frame_name, head.frames)))
            file.seek(0)
            for number, contents in read_contents(unpacked(file, path), head.profiles, stacks_of):
                check_cancelled(cancelled)
                progress(min(1.0, file.tell() / size), path.name)
                if contents is not None:
                    # py-spy writes the name of a thread in quotes, and empty quotes for none.
                    name = clean_text(contents.profile.name).removesuffix(' ""') or f"profile {number}"
                    thread = sink.thread(process, f"{number} {name}", name)
                    _add_samples(sink, thread, contents)
                    _add_ranges(sink, thread, contents, head.frames)
                    sink.skip(english("events or samples"), contents.damaged, english("they are damaged"))
        if head.problem:
            builder.add_warning(
                english("The file is damaged or ends early ({error}).", error=head.problem), is_loss=True
            )
        return sink.summary()


def _add_units(builder: CaptureBuilder, head: SpeedscopeHead) -> None:
    units = {profile.unit for profile in head.profiles.values()}
    sampled = {profile.unit for profile in head.profiles.values() if profile.type != "evented"}
    is_time = bool(sampled) and sampled <= NS_PER.keys()
    add_weights(builder, "ns" if is_time else "bytes" if sampled == {"bytes"} else "")
    if not units <= NS_PER.keys():
        builder.add_warning(
            english("the profile counts no time; the timeline shows its values one after the other")
        )


def _frame_name(frame: str) -> str:
    return demangle_frame(clean_text(frame))


def _stacks_of(
    builder: CaptureBuilder, ids: npt.NDArray[np.uint32], frames: Int64Array, sizes: Int64Array
) -> tuple[Int64Array, npt.NDArray[np.uint32]]:
    """Stacks and innermost frames of samples. Frames that the file does not have are left out."""
    usable = (frames >= 0) & (frames < len(ids))
    if not usable.all():
        samples = np.repeat(np.arange(len(sizes)), sizes)
        sizes = np.bincount(samples[usable], minlength=len(sizes))
        frames = frames[usable]
    names = ids[frames]
    return builder.stacks(names, sizes), innermost_frames(names, sizes)


def _add_samples(sink: EventSink, thread: Holder, contents: ProfileContents) -> None:
    stacks, names = contents.samples
    if not len(stacks):
        return
    profile, weights = contents.profile, contents.weights
    count = min(len(stacks), len(weights) or len(stacks))
    chosen = weights[:count] if len(weights) else np.ones(count)
    durations = steps_of(chosen, profile.unit)
    add_stack_samples(
        sink,
        thread,
        times_of(profile.start_value, profile.unit) + np.cumsum(durations) - durations,
        stacks[:count],
        names[:count],
        durations=durations,
        weight=durations
        if profile.unit in NS_PER
        else np.clip(chosen, -MAX_TIME_NS, MAX_TIME_NS).astype(np.int64),
    )
    sink.skip(
        english("samples or weights"),
        abs(len(stacks) - len(weights)) if len(weights) else 0,
        english("their numbers differ"),
    )


def _add_ranges(sink: EventSink, thread: Holder, contents: ProfileContents, texts: list[str]) -> None:
    profile = contents.profile
    frame, time, begins = contents.events
    if not len(frame):
        return
    is_usable = (frame >= 0) & (frame < len(texts))
    unusable = int((~is_usable).sum())
    frame, time, begins = frame[is_usable], time[is_usable], begins[is_usable]
    pairs = match_borders(np.zeros(len(frame), np.int64), time, begins, frame)
    is_open = pairs.end < 0
    last = max(times_of(profile.end_value, profile.unit), int(time.max(initial=0)))
    start = time[pairs.begin]
    stop: Int64Array = np.where(is_open, np.maximum(last, start), time[pairs.end])
    names = sink.builder.strings(map(clean_text, texts))[frame[pairs.begin]]
    flags = np.where(is_open, np.uint8(Flag.CUT_END), np.uint8(0)).astype(np.uint8)
    sink.add(sink.thread_track(thread, "ranges"), "range", start, stop, names, flags=flags)
    sink.skip(
        english("events of a profile"),
        unusable + pairs.lone_ends,
        english("they name a frame that the file lacks, or end what did not begin"),
    )


importer = SpeedscopeImporter()
