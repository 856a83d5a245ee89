"""Maps device numbers to GPUs, and adds the tracks of GPUs, contexts and streams."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from warpline.interchange.nsys.context import Context
from warpline.interchange.nsys.tables.access import NULL, decode, read_all
from warpline.model import Packing
from warpline.model.track_factory import TrackSpec

_PID_BITS = 24
_LOW = (1 << _PID_BITS) - 1

# Column of TARGET_INFO_GPU → name of the property.
_PROPERTIES = {
    "totalMemory": "memory_bytes",
    "memoryBandwidth": "memory_bandwidth_bytes_per_s",
    "clockRate": "clock_hz",
    "smCount": "sm_count",
    "l2CacheSize": "l2_cache_bytes",
    "maxWarpsPerSm": "max_warps_per_sm",
    "maxBlocksPerSm": "max_blocks_per_sm",
    "maxRegistersPerSm": "max_registers_per_sm",
    "maxShmemPerSm": "max_shared_memory_per_sm_bytes",
    "threadsPerWarp": "threads_per_warp",
    "computeMajor": "compute_major",
    "computeMinor": "compute_minor",
}


@dataclass(kw_only=True)
class Devices:
    """Maps device numbers in rows to GPUs of the machine, and adds their tracks when needed."""

    context: Context
    _gpu_of: dict[tuple[int, int], int] = field(default_factory=dict)
    _gpu_by_ordinal: dict[int, int] = field(default_factory=dict)
    _names: dict[int, str] = field(default_factory=dict)
    _added: dict[int, int] = field(default_factory=dict)
    _null_streams: set[tuple[int, int, int]] = field(default_factory=set)
    _stream_names: dict[tuple[int, int, int], str] = field(default_factory=dict)
    _stream_priorities: dict[tuple[int, int, int], int] = field(default_factory=dict)
    _context_names: dict[tuple[int, int], str] = field(default_factory=dict)
    _device_of: dict[tuple[int, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._read_gpus()
        self._read_ordinals()
        self._read_streams()

    def _read_gpus(self) -> None:
        rows = read_all(
            self.context.tables,
            "TARGET_INFO_GPU",
            ints=("id", "cuDevice", *_PROPERTIES),
            texts=("name", "uuid", "busLocation", "chipName"),
        )
        order = np.argsort(rows["id"], kind="stable")
        for index in order.tolist():
            number = int(rows["id"][index])
            if number == NULL or number in self._added:
                continue
            name = decode(rows.texts["name"][index])
            properties: dict[str, str | int | float] = {
                title: int(rows[column][index])
                for column, title in _PROPERTIES.items()
                if rows[column][index] != NULL
            }
            for column, title in (("uuid", "uuid"), ("busLocation", "pci_bus"), ("chipName", "chip")):
                if text := decode(rows.texts[column][index]):
                    properties[title] = text
            self._names[number] = name
            ordinal = int(rows["cuDevice"][index])
            self._gpu_by_ordinal[number if ordinal == NULL else ordinal] = number
            self._added[number] = self.context.builder.add_device(
                number, name, rank=self.context.options.rank, properties=properties
            )

    def _read_ordinals(self) -> None:
        rows = read_all(self.context.tables, "TARGET_INFO_CUDA_DEVICE", ints=("gpuId", "cudaId", "pid"))
        for gpu, ordinal, pid in zip(
            rows["gpuId"].tolist(), rows["cudaId"].tolist(), rows["pid"].tolist(), strict=True
        ):
            if gpu != NULL:
                self._gpu_of[pid, ordinal] = gpu

    def _read_streams(self) -> None:
        tables = self.context.tables
        columns = ("streamId", "processId", "contextId")
        rows = read_all(tables, "TARGET_INFO_CUDA_STREAM", ints=(*columns, "flag", "priority"))
        for stream, pid, context, flag, priority in zip(
            *(rows[name].tolist() for name in (*columns, "flag", "priority")), strict=True
        ):
            if flag == 3:
                self._null_streams.add((pid, context, stream))
            if priority not in (NULL, 0):
                # Stored as an unsigned 32-bit number; CUDA's priorities are negative or 0.
                self._stream_priorities[pid, context, stream] = (priority + (1 << 31)) % (1 << 32) - (1 << 31)
        for table, stream_column in (
            ("TARGET_INFO_CUDA_NULL_STREAM", "streamId"),
            ("TARGET_INFO_CUDA_CONTEXT_INFO", "nullStreamId"),
        ):
            rows = read_all(tables, table, ints=(stream_column, "processId", "contextId"))
            pairs = (rows["processId"].tolist(), rows["contextId"].tolist(), rows[stream_column].tolist())
            self._null_streams.update(zip(*pairs, strict=True))
        rows = read_all(tables, "TARGET_INFO_NVTX_CUDA_STREAM", ints=columns, texts=("name",))
        for stream, pid, context, name in zip(
            *(rows[c].tolist() for c in columns), rows.texts["name"], strict=True
        ):
            self._stream_names[pid, context, stream] = decode(name)
        rows = read_all(tables, "TARGET_INFO_NVTX_CUDA_CONTEXT", ints=columns[1:], texts=("name",))
        for pid, context, name in zip(
            *(rows[c].tolist() for c in columns[1:]), rows.texts["name"], strict=True
        ):
            self._context_names[pid, context] = decode(name)

    def gpu(self, global_pid: int, device: int) -> int:
        """The machine's number of a process's ``device`` (CUDA_VISIBLE_DEVICES renumbers GPUs)."""
        device = max(device, 0)
        pid = (global_pid >> _PID_BITS) & _LOW
        return self._gpu_of.get((pid, device), self._gpu_by_ordinal.get(device, device))

    def gpu_track(self, gpu: int) -> int:
        if gpu not in self._added:
            self._added[gpu] = self.context.builder.add_device(gpu, "", rank=self.context.options.rank)
        name = self._names.get(gpu, "")
        return self.context.track(self.context.specs.gpu(gpu, name))

    def device_of_context(self, global_pid: int, context: int, device: int) -> int:
        """The device that ran the context's work; ``device`` if there was none.

        In some exports, synchronisation rows always say device 0.
        """
        return self._device_of.get((global_pid, context), device)

    def context_track(self, global_pid: int, device: int, context: int) -> int:
        """Track of a process's CUDA context on its GPU."""
        parent = self.gpu_track(self.gpu(global_pid, device))
        process = self.context.process(global_pid)
        return self.context.track(self._context_spec(global_pid, device, context), parent, process)

    def _context_spec(self, global_pid: int, device: int, context: int) -> TrackSpec:
        shared, context = self.context, max(context, 0)
        return shared.specs.context(
            self.gpu(global_pid, device),
            shared.process_uri(global_pid),
            context,
            process_title=shared.process_title(global_pid),
            name=self._context_names.get(((global_pid >> _PID_BITS) & _LOW, context), ""),
        )

    def stream_track(self, global_pid: int, device: int, context: int, stream: int) -> int:
        """Track of a stream; kernels that overlap on it are packed into lanes."""
        self._device_of.setdefault((global_pid, context), device)
        key = ((global_pid >> _PID_BITS) & _LOW, context, stream)
        spec = self.context.specs.stream(
            self._context_spec(global_pid, device, context),
            None if stream == NULL else stream,
            is_default=key in self._null_streams,
            name=self._stream_names.get(key, ""),
        )
        return self._below(spec, global_pid, device, context)

    def sync_track(self, global_pid: int, device: int, context: int) -> int:
        """Track of the synchronisations of a context."""
        device = self.device_of_context(global_pid, context, device)
        spec = self.context.specs.sync(self._context_spec(global_pid, device, context), Packing.PACK)
        return self._below(spec, global_pid, device, context)

    def memory_track(self, global_pid: int, device: int, context: int) -> int:
        """Track of the allocations and releases in a context."""
        place = self._context_spec(global_pid, device, context)
        spec = self.context.specs.context_memory(place, Packing.PACK)
        return self._below(spec, global_pid, device, context)

    def _below(self, spec: TrackSpec, global_pid: int, device: int, context: int) -> int:
        parent = self.context_track(global_pid, device, context)
        return self.context.track(spec, parent, self.context.process(global_pid))

    def priority(self, global_pid: int, context: int, stream: int) -> int | None:
        """Priority of a stream, None if default or unknown."""
        return self._stream_priorities.get(((global_pid >> _PID_BITS) & _LOW, context, stream))
