"""Importer for JSON output of rocprofv3 (``*_results.json``).

Source of the format: ``rocprofv3-schema.json`` of rocprofiler-sdk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from warpline.i18n import english, tr
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.framework.json_parts import (
    DECODING_ERRORS,
    JsonPart,
    JsonParts,
    Pattern,
    add_damage,
    decode_elements,
)
from warpline.interchange.framework.unpacking import unpacked
from warpline.interchange.rocm.work import RocmWork, launch_shape, uint32, unsigned
from warpline.model.progress import IsCancelled, Progress, check_cancelled

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_HEAD = re.compile(rb'\s*\{\s*"rocprofiler-sdk-tool"\s*:')

_BUFFER_RECORDS: Pattern = ("rocprofiler-sdk-tool", "*", "buffer_records", "*")
_CALLBACK_RECORDS: Pattern = ("rocprofiler-sdk-tool", "*", "callback_records", "*")
_VALUES: list[Pattern] = [
    ("rocprofiler-sdk-tool", "*", "metadata"),
    ("rocprofiler-sdk-tool", "*", "agents"),
    ("rocprofiler-sdk-tool", "*", "strings", "buffer_records"),
]
_TABLES: list[Pattern] = [
    ("rocprofiler-sdk-tool", "*", "kernel_symbols"),
    ("rocprofiler-sdk-tool", "*", "strings", "marker_api"),
]


class Handle(msgspec.Struct, gc=False, frozen=True):
    """The number of an agent, a queue, a stream."""

    handle: int = 0


class Size(msgspec.Struct, gc=False, frozen=True):
    """A size in three dimensions."""

    x: int = 0
    y: int = 0
    z: int = 0


class Correlation(msgspec.Struct, gc=False, frozen=True):
    """The number that a call and its work share."""

    internal: int = 0


class Dispatch(msgspec.Struct, gc=False, frozen=True):
    """Where and how a kernel ran."""

    agent_id: Handle = Handle()
    queue_id: Handle = Handle()
    kernel_id: int = 0
    group_segment_size: int = 0
    workgroup_size: Size = Size()
    grid_size: Size = Size()


class Record(msgspec.Struct, gc=False, frozen=True):
    """A record of any sort; what a sort does not have keeps its default."""

    kind: int = 0
    operation: int = 0
    thread_id: int = 0
    start_timestamp: int = 0
    end_timestamp: int = 0
    correlation_id: Correlation = Correlation()
    stream_id: Handle = Handle()
    dispatch_info: Dispatch = Dispatch()
    src_agent_id: Handle = Handle()
    dst_agent_id: Handle = Handle()
    agent_id: Handle = Handle()
    bytes: int | None = None
    allocation_size: int | None = None
    address: Any = None


class Symbol(msgspec.Struct, gc=False, frozen=True):
    """A kernel."""

    kernel_id: int = 0
    formatted_kernel_name: str = ""
    kernel_name: str = ""
    arch_vgpr_count: int = 0


class Processor(msgspec.Struct, gc=False, frozen=True):
    """A processor; type 2 is a GPU."""

    id: Handle = Handle()
    type: int = 0
    logical_node_type_id: int = -1
    product_name: str = ""
    name: str = ""


class Operations(msgspec.Struct, gc=False, frozen=True):
    """A sort of records and the names of its operations."""

    kind: str = ""
    operations: list[str] = []


class Marker(msgspec.Struct, gc=False, frozen=True):
    """The text of a marker."""

    key: int = 0
    value: str = ""


class Metadata(msgspec.Struct):
    """The process."""

    pid: int = 0
    command: list[str] = []


_SYMBOLS = msgspec.json.Decoder(list[Symbol])
_MARKERS = msgspec.json.Decoder(list[Marker])
_RECORDS = msgspec.json.Decoder(list[Record])
_RAW = msgspec.json.Decoder(list[msgspec.Raw])


class RocprofImporter:
    """``rocprofv3 --output-format json``."""

    name = "rocprofv3"
    title = english("rocprofv3 JSON output")
    patterns = ("*_results.json",)
    position = 58

    def recognise(self, head: bytes, path: Path) -> float:
        del path
        return CERTAIN if _HEAD.match(head) else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        sink = EventSink(builder, options)
        outputs: dict[int, _Output] = {}
        size = 2 * max(1, path.stat().st_size)
        with path.open("rb") as file:

            def parts(
                before: int, arrays: list[Pattern], values: Sequence[Pattern] = ()
            ) -> Iterator[JsonPart]:
                file.seek(0)
                reader = JsonParts(unpacked(file, path), arrays=arrays, values=values)
                for part in reader:
                    check_cancelled(cancelled)
                    progress((before + file.tell()) / size, tr("reading {what}", what=path.name))
                    yield part
                if before:
                    add_damage(builder, reader)

            # In some files records precede their names, so names are read first.
            for part in parts(0, _TABLES, _VALUES):
                output = outputs.setdefault(_place(part), _Output())
                output.take(part)
            readers: dict[int, _RecordReader] = {}
            for part in parts(size // 2, [_BUFFER_RECORDS, _CALLBACK_RECORDS]):
                place = _place(part)
                if place not in readers:
                    readers[place] = _RecordReader(sink, outputs.get(place, _Output()))
                readers[place].add(part)
        return sink.summary()


def _place(part: JsonPart) -> int:
    """The number of the process whose part it is."""
    return int(part.path[1])


class _Output:
    """What one process says about its records."""

    def __init__(self) -> None:
        self.metadata = Metadata()
        self.agents: list[Processor] = []
        self.kinds: list[Operations] = []
        self.symbols: dict[int, Symbol] = {}
        self.markers: dict[int, str] = {}
        self._texts: dict[str, str] = {}

    def take(self, part: JsonPart) -> None:
        """Takes a part of the file that defines names; a damaged one is ignored."""
        member = part.path[-1]
        try:
            if member == "metadata":
                self.metadata = msgspec.json.decode(part.text, type=Metadata)
            elif member == "agents":
                self.agents = msgspec.json.decode(part.text, type=list[Processor])
            elif member == "buffer_records":
                self.kinds = msgspec.json.decode(part.text, type=list[Operations])
        except DECODING_ERRORS:
            return
        if member == "kernel_symbols":
            symbols, _ = decode_elements(part.text, _SYMBOLS)
            self.symbols.update((symbol.kernel_id, symbol) for symbol in symbols)
        elif member == "marker_api":
            markers, _ = decode_elements(part.text, _MARKERS)
            self.markers.update(
                (marker.key, self._texts.setdefault(marker.value, marker.value)) for marker in markers
            )


class _RecordReader:
    """Adds the records of one process."""

    def __init__(self, sink: EventSink, output: _Output) -> None:
        self._sink = sink
        self._work = RocmWork(sink)
        self._output = output
        self._pid = output.metadata.pid
        self._gpus: dict[int, int] = {}
        for agent in output.agents:
            if agent.type == 2:
                number = (
                    agent.logical_node_type_id
                    if 0 <= agent.logical_node_type_id < 1 << 16
                    else len(self._gpus)
                )
                self._gpus[agent.id.handle] = number
                sink.device(number, agent.product_name or agent.name)
        command = output.metadata.command[:1] or [""]
        sink.process(self._pid, command[0].rpartition("/")[2])

    def add(self, part: JsonPart) -> None:
        """Adds some records of a sort."""
        sort = str(part.path[-1])
        if part.path[2] == _CALLBACK_RECORDS[2]:
            self._skip(sort, decode_elements(part.text, _RAW)[0])
            return
        records, lost = decode_elements(part.text, _RECORDS)
        self._sink.skip(sort, lost, english("they are damaged"))
        if sort == "kernel_dispatch":
            self._add_kernels(records)
        elif sort == "memory_copy":
            self._add_copies(records)
        elif sort == "memory_allocation":
            self._add_allocations(records)
        elif sort.endswith("_api"):
            self._add_calls(sort, records)
        else:
            self._skip(sort, records)

    def _skip(self, sort: str, records: Sequence[Any]) -> None:
        self._sink.skip(sort, len(records), english("Warpline does not show them yet"))

    def _operation(self, record: Record) -> str:
        kinds = self._output.kinds
        names = kinds[record.kind].operations if 0 <= record.kind < len(kinds) else []
        return (
            names[record.operation] if 0 <= record.operation < len(names) else f"operation {record.operation}"
        )

    def _add_kernels(self, records: list[Record]) -> None:
        symbols, unknown = self._output.symbols, Symbol()
        kernels = [symbols.get(record.dispatch_info.kernel_id, unknown) for record in records]
        info = [record.dispatch_info for record in records]
        grid = [[getattr(entry.grid_size, axis) for entry in info] for axis in "xyz"]
        block = [[getattr(entry.workgroup_size, axis) for entry in info] for axis in "xyz"]
        attributes = launch_shape(grid, block, in_threads=[True] * len(info))
        attributes["static_shared_memory_bytes"] = uint32([entry.group_segment_size for entry in info])
        attributes["registers_per_thread"] = uint32([kernel.arch_vgpr_count for kernel in kernels])
        names = [
            kernel.formatted_kernel_name or kernel.kernel_name or f"kernel {entry.kernel_id}"
            for kernel, entry in zip(kernels, info, strict=True)
        ]
        streams = [record.stream_id.handle or record.dispatch_info.queue_id.handle for record in records]
        gpus = [self._gpus.get(entry.agent_id.handle, 0) for entry in info]
        self._add_work("kernel", records, gpus, streams, names, attributes)

    def _add_work(
        self,
        kind: str,
        records: list[Record],
        gpus: list[int],
        streams: list[int],
        names: list[str],
        attributes: dict[str, Any],
    ) -> None:
        self._work.add_work(
            kind,
            [self._pid] * len(records),
            gpus,
            streams,
            [record.start_timestamp for record in records],
            [record.end_timestamp for record in records],
            names,
            [record.correlation_id.internal for record in records],
            attributes,
        )

    def _add_copies(self, records: list[Record]) -> None:
        gpus = [
            self._gpus.get(record.dst_agent_id.handle, self._gpus.get(record.src_agent_id.handle, 0))
            for record in records
        ]
        streams = [record.stream_id.handle for record in records]
        names = [self._operation(record) for record in records]
        size = unsigned([record.bytes for record in records])
        self._add_work("memcpy", records, gpus, streams, names, {"bytes": size})

    def _add_allocations(self, records: list[Record]) -> None:
        names = [self._operation(record) for record in records]
        self._work.add_allocations(
            [self._pid] * len(records),
            [record.thread_id for record in records],
            [record.start_timestamp for record in records],
            names,
            is_release=["FREE" in name.upper() for name in names],
            address=[record.address for record in records],
            size=[record.allocation_size for record in records],
            device=[f"GPU {self._gpus.get(record.agent_id.handle, '?')}" for record in records],
        )

    def _add_calls(self, sort: str, records: list[Record]) -> None:
        texts = self._output.markers
        is_marker = sort.startswith("marker")
        names = [texts.get(record.correlation_id.internal, "") if is_marker else "" for record in records]
        self._work.add_calls(
            [self._pid] * len(records),
            [record.thread_id for record in records],
            [record.start_timestamp for record in records],
            [record.end_timestamp for record in records],
            [name or self._operation(record) for name, record in zip(names, records, strict=True)],
            [record.correlation_id.internal for record in records],
            [sort] * len(records),
            [""] * len(records),
        )


importer = RocprofImporter()
