"""Writes samples of native stacks to a spool file: each distinct chain once, stack copies up to a limit."""

from __future__ import annotations

import struct

from warpline.i18n import english_n, forms
from warpline.recording.sources.native_stacks.decode import RingContent, Sample
from warpline.recording.sources.native_stacks.records import (
    NATIVE_IMAGE,
    NATIVE_MEMORY,
    NATIVE_MODULE,
    NATIVE_SAMPLE,
    NATIVE_STACK,
)
from warpline.recording.spool.writer import SpoolWriter

MOST_MEMORY_BYTES = 4 << 30
"""Limit of stack copies in one recording: 90 minutes of one core."""
_SAMPLE = struct.Struct("<QIIII")
_STACK = struct.Struct("<IIQ")
_MODULE = struct.Struct("<QQQQII")
_IMAGE = struct.Struct("<QII")
_MEMORY = struct.Struct("<QIIIIQQQQ")
_SHORTENED = forms(
    "{count:,} sample has no callers: stack copies reached {most} GiB",
    "{count:,} samples have no callers: stack copies reached {most} GiB",
)


class ChainStore:
    """Writes the output of `decode_chains`. Samples beyond the limit keep only their innermost address."""

    def __init__(self, writer: SpoolWriter, most_memory_bytes: int = MOST_MEMORY_BYTES) -> None:
        self._writer = writer
        self._stacks: dict[tuple[int, int], int] = {}
        self._most, self._used, self._short = most_memory_bytes, 0, 0
        self.events = 0
        self.lost = 0

    @property
    def shortened(self) -> str:
        """A text with the number of samples without callers because of the limit; empty if there are none."""
        return english_n(*_SHORTENED, self._short, most=self._most >> 30) if self._short else ""

    def add(self, chains: RingContent) -> None:
        """Write the decoded content of a ring."""
        writer = self._writer
        for time_ns, pid, parent in chains.images:
            writer.append_packed(NATIVE_IMAGE, _IMAGE.pack(time_ns, pid, parent))
        for time_ns, start, size, offset, pid, path in chains.modules:
            packed = _MODULE.pack(time_ns, start, size, offset, pid, writer.string(path))
            writer.append_packed(NATIVE_MODULE, packed)
        for sample in chains.samples:
            self._store_sample(sample)
        self.events += len(chains.samples)
        self.lost += chains.lost

    def _store_sample(self, sample: Sample) -> None:
        registers, user = sample.registers, sample.user
        if registers is not None and self._used + len(sample.memory) > self._most:
            self._short += 1
            user, registers = registers[2:], None
        stack = 0
        for address in reversed(sample.kernel if registers is not None else sample.kernel + user):
            stack = self._stack(stack, address)
        about = sample.time_ns, sample.pid, sample.tid, stack, sample.cpu
        if registers is not None:
            self._used += len(sample.memory)
            head = _MEMORY.pack(*about, *registers, len(sample.memory))
            self._writer.append_variable(NATIVE_MEMORY, head + sample.memory + bytes(-len(sample.memory) % 8))
        elif stack:
            self._writer.append_packed(NATIVE_SAMPLE, _SAMPLE.pack(*about))

    def _stack(self, parent: int, address: int) -> int:
        number = self._stacks.get((parent, address))
        if number is None:
            number = self._stacks[parent, address] = len(self._stacks) + 1
            self._writer.append_packed(NATIVE_STACK, _STACK.pack(number, parent, address))
        return number
