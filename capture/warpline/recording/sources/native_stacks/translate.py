"""Turns samples of native stacks into ``cpu_sample`` events below each thread, with Python's frames spliced in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from warpline.i18n import english_n, joined
from warpline.model import Flag
from warpline.recording.sources.native_stacks.chains import Chains, NativeFrame, NativeSample
from warpline.recording.sources.native_stacks.splicing import (
    PythonAt,
    PythonSamples,
    Sureness,
    below_python,
)
from warpline.recording.spool import records
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.symbols.library import require_elf_reader
from warpline.recording.unavailable import Unavailable
from warpline.storage import NO_STACK, CaptureBuilder


@dataclass(kw_only=True)
class _Columns:
    """Columns of the events, one value for each sample."""

    thread: list[int] = field(default_factory=list)
    time_ns: list[int] = field(default_factory=list)
    name: list[int] = field(default_factory=list)
    stack: list[int] = field(default_factory=list)
    cpu: list[int] = field(default_factory=list)
    python: list[int] = field(default_factory=list)
    is_cut: list[bool] = field(default_factory=list)


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add the samples, if any were taken."""
    if not any(spool.header.producer == "native" for spool in spools):
        return
    try:
        require_elf_reader()
    except Unavailable as missing:
        builder.add_warning(f"{missing.reason}; {missing.remedy}")
    samples = [
        sample
        for sample in Chains(spools, translation.session.start_realtime_ns).samples()
        if translation.start_ns <= sample.time_ns <= translation.stop_ns and sample.frames
    ]
    if not samples:
        return
    pythons = PythonSamples(translation.threads, spools, builder)
    stacks = _Stacks(builder)
    columns = _Columns()
    pid, tid, time_ns = (
        np.array([getattr(sample, name) for sample in samples], np.int64)
        for name in ("pid", "tid", "time_ns")
    )
    threads = translation.threads.lookup(pid.astype(np.uint32), tid.astype(np.uint32), time_ns).tolist()
    for sample, thread in zip(samples, threads, strict=True):
        python = pythons.at(thread, sample.time_ns)
        _add(columns, thread, sample, python, stacks)
    _write(translation, builder, columns)
    _add_source(spools, builder, columns)


def _add_source(spools: Sequence[SpoolFile], builder: CaptureBuilder, columns: _Columns) -> None:
    """Add the number of samples without callers to the recorder's report on the source."""
    cut = sum(columns.is_cut)
    reports = [
        (spool.text(reason), int(lost))
        for spool in spools
        for name, _enabled, reason, _remedy, lost in spool.records(
            records.SOURCE_STATE, records.source_state
        ).values.tolist()
        if spool.text(name) == "native"
    ]
    reason, lost = reports[-1] if reports else ("", 0)
    share = english_n(
        "{count:,} of {all:,} samples has only the innermost functions: its callers could not be found",
        "{count:,} of {all:,} samples have only the innermost functions: their callers could not be found",
        cut,
        all=len(columns.is_cut),
    )
    reasons = [text for text in (reason, share if cut else "") if text]
    builder.add_source("native", True, joined("; ", reasons), lost)


def _add(
    columns: _Columns, thread: int, sample: NativeSample, python: PythonAt | None, stacks: _Stacks
) -> None:
    frames = sample.frames if python is None else below_python(sample.frames)
    root = NO_STACK if python is None else python.stack
    columns.thread.append(thread)
    columns.time_ns.append(sample.time_ns)
    columns.cpu.append(sample.cpu)
    columns.stack.append(stacks.add(root, frames))
    name = stacks.text(frames[0]) if frames or python is None else python.place
    columns.name.append(name)
    columns.python.append(Sureness.NONE if python is None else python.sureness)
    is_joined = python is not None and len(frames) < len(sample.frames)
    columns.is_cut.append(not (sample.is_whole or is_joined))


class _Stacks:
    """Adds stacks to the capture."""

    def __init__(self, builder: CaptureBuilder) -> None:
        self._builder = builder
        self._known: dict[tuple[int, tuple[NativeFrame, ...]], int] = {}

    def text(self, frame: NativeFrame) -> int:
        """The string id of a frame."""
        return int(self._builder.string(frame.text))

    def add(self, root: int, frames: tuple[NativeFrame, ...]) -> int:
        """The id of ``frames`` (innermost first) on the stack ``root``."""
        stack = self._known.get((root, frames))
        if stack is None:
            stack = root
            for frame in reversed(frames):
                text = self.text(frame)
                stack = self._builder.stack(text) if stack == NO_STACK else self._builder.stack(text, stack)
            self._known[root, frames] = stack
        return stack


def _write(translation: Translation, builder: CaptureBuilder, columns: _Columns) -> None:
    thread = np.array(columns.thread, np.int64)
    present = np.unique(thread).tolist()
    track = np.zeros(present[-1] + 1, np.int64)
    for number in present:
        track[number] = translation.below_thread(number, "cpu-samples")
    builder.add_events(
        track[thread],
        "cpu_sample",
        translation.capture_time(np.array(columns.time_ns, np.int64)),
        np.zeros(len(thread), np.int64),
        np.array(columns.name, np.uint32),
        flags=np.full(len(thread), Flag.INSTANT, np.uint8),
        attributes={
            "stack": np.array(columns.stack, np.uint32),
            "cpu": np.array(columns.cpu, np.int32),
            "python": np.array(columns.python, np.uint8),
            "is_cut": np.array(columns.is_cut, bool),
        },
    )
