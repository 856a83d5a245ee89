"""Importer for Perfetto's own traces (protocol buffers)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.interchange.framework.importer import CERTAIN, LIKELY, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.protobuf import ProtobufError, read_fields, read_varint
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_SUFFIXES = (".pftrace", ".perfetto-trace", ".perfetto", ".proto")
_PACKET_FIELDS = frozenset({*range(1, 13), 13, *range(33, 90), 95, 98, *range(107, 136), 900})
_MARKER = b"\x82Gzv\xb2\x8dB\xba\x81\xdc32mW\xa0y"
"""The marker that Perfetto's service writes between packets."""
_LOOKED_AT = 16


class PerfettoImporter:
    """``*.pftrace``, ``*.perfetto-trace``."""

    name = "perfetto"
    title = english("Perfetto trace (protobuf)")
    patterns = ("*.pftrace", "*.perfetto-trace")
    position = 54

    def recognise(self, head: bytes, path: Path) -> float:
        packets = _packets(head)
        if not packets:
            return NO
        if _MARKER in head[: 1 << 16] or path.name.endswith(_SUFFIXES):
            return CERTAIN
        return LIKELY

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        from warpline.interchange.perfetto.converter import convert

        return convert(path, builder, options, progress, cancelled)


def _packets(head: bytes) -> int:
    """The number of packets at the start of a file; 0 if one has an unknown field, or none names its sequence."""
    position = packets = 0
    has_sequence = False
    while position < len(head) and packets < _LOOKED_AT:
        if head[position] != 0x0A:
            return 0
        try:
            length, position = read_varint(head, position + 1)
            if position + length > len(head):
                break
            numbers = {number for number, _ in read_fields(head[position : position + length])}
        except ProtobufError:
            return 0
        if not numbers <= _PACKET_FIELDS:
            return 0
        has_sequence = has_sequence or 10 in numbers or 1 in numbers
        position += length
        packets += 1
    return packets if has_sequence else 0


importer = PerfettoImporter()
