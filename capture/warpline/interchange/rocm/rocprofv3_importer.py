"""Importer for JSON output of rocprofv3 (``*_results.json``).

Source of the format: ``rocprofv3-schema.json`` of rocprofiler-sdk.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from warpline.i18n import english, tr
from warpline.interchange.framework.documents import read_document
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.interchange.rocm.work import RocmWork, launch_shape, uint32, unsigned
from warpline.model.progress import IsCancelled, Progress

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_HEAD = re.compile(rb'\s*\{\s*"rocprofiler-sdk-tool"\s*:')


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


class RecordNames(msgspec.Struct):
    """Names."""

    buffer_records: list[Operations] = []
    marker_api: list[Marker] = []


class Metadata(msgspec.Struct):
    """The process."""

    pid: int = 0
    command: list[str] = []


class Output(msgspec.Struct):
    """What one process recorded."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    agents: list[Processor] = []
    strings: RecordNames = msgspec.field(default_factory=RecordNames)
    kernel_symbols: list[Symbol] = []
    buffer_records: dict[str, list[Record]] = {}
    callback_records: dict[str, list[msgspec.Raw]] = {}


class RocprofFile(msgspec.Struct, rename={"outputs": "rocprofiler-sdk-tool"}):
    """The file."""

    outputs: list[Output] = []


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
        progress(0.0, tr("reading {what}", what=path.name))
        document = read_document(path, RocprofFile, cancelled)
        sink = EventSink(builder, options)
        for output in document.outputs:
            _OutputReader(sink, output).add()
        return sink.summary()


class _OutputReader:
    def __init__(self, sink: EventSink, output: Output) -> None:
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
                sink.gpu(number, agent.product_name or agent.name)
        command = output.metadata.command[:1] or [""]
        sink.process(self._pid, command[0].rpartition("/")[2])

    def add(self) -> None:
        """Adds all records."""
        for sort, raw in self._output.callback_records.items():
            self._sink.builder.add_skipped(sort, len(raw), english("Warpline does not show them yet"))
        for sort, records in self._output.buffer_records.items():
            if not records:
                continue
            if sort == "kernel_dispatch":
                self._add_kernels(records)
            elif sort == "memory_copy":
                self._add_copies(records)
            elif sort == "memory_allocation":
                self._add_allocations(records)
            elif sort.endswith("_api"):
                self._add_calls(sort, records)
            else:
                self._sink.builder.add_skipped(sort, len(records), english("Warpline does not show them yet"))

    def _operation(self, record: Record) -> str:
        kinds = self._output.strings.buffer_records
        names = kinds[record.kind].operations if 0 <= record.kind < len(kinds) else []
        return (
            names[record.operation] if 0 <= record.operation < len(names) else f"operation {record.operation}"
        )

    def _add_kernels(self, records: list[Record]) -> None:
        symbols = {symbol.kernel_id: symbol for symbol in self._output.kernel_symbols}
        kernels = [symbols.get(record.dispatch_info.kernel_id, Symbol()) for record in records]
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
        texts = {marker.key: marker.value for marker in self._output.strings.marker_api}
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
