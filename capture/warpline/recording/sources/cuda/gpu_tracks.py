"""GPUs, contexts and streams of a recording: the device of each record, and the tracks below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from warpline.model.track_factory import TrackFactory, TrackSpec
from warpline.recording.sources.cuda import records
from warpline.recording.sources.cuda.occupancy import Multiprocessor
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.spool.threads import command_title
from warpline.storage import CaptureBuilder

_NULL_STREAM_FLAG = 3


@dataclass(frozen=True)
class CudaGpu:
    """A GPU as a process described it; ``number`` is the capture's (`number_devices`)."""

    number: int
    name: str
    multiprocessors: int
    limits: Multiprocessor
    properties: dict[str, str | int | float]


def uuid_text(raw: bytes) -> str:
    """``GPU-xxxxxxxx-xxxx-…``, as in NVML and nvidia-smi."""
    digits = raw.hex()
    return f"GPU-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def number_devices(spools: Sequence[SpoolFile], known: Mapping[str, int]) -> dict[str, int]:
    """A number for each GPU, by UUID: NVML's from ``known``, else the process's own if free, else the lowest.

    Processes that see one GPU each all call it 0 (``CUDA_VISIBLE_DEVICES``), so their numbers do not identify a GPU.
    """
    numbers = dict(known)
    taken = set(numbers.values())
    described = [
        (int(row["device"]), uuid_text(row["uuid"].tobytes()))
        for spool in spools
        for row in spool.records(records.CUPTI_DEVICE, records.cupti_device).values
        if row["uuid"].any()
    ]
    for own, uuid in described:
        if uuid not in numbers:
            numbers[uuid] = own if own not in taken else next(n for n in count() if n not in taken)
            taken.add(numbers[uuid])
    return numbers


@dataclass(kw_only=True)
class GpuTracks:
    """The GPU side of one process. Tracks are created on first use."""

    translation: Translation
    builder: CaptureBuilder
    spool: SpoolFile
    numbers: dict[str, int]
    devices: dict[int, CudaGpu] = field(default_factory=dict)
    _device_of_context: dict[int, int] = field(default_factory=dict)
    _default_streams: set[tuple[int, int]] = field(default_factory=set)
    _priorities: dict[tuple[int, int], int] = field(default_factory=dict)
    _names: dict[tuple[int, int, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.spool.records(records.CUPTI_DEVICE, records.cupti_device).values:
            gpu = self._gpu(row)
            self.devices[int(row["device"])] = gpu
        contexts = self.spool.records(records.CUPTI_CONTEXT, records.cupti_context).values
        for context, device in contexts[["context", "device"]].tolist():
            self._device_of_context[context] = device
        streams = self.spool.records(records.CUPTI_STREAM, records.cupti_stream).values
        for context, stream, priority, flag in streams.tolist():
            if flag == _NULL_STREAM_FLAG:
                self._default_streams.add((context, stream))
            if priority:
                self._priorities[context, stream] = priority
        named = self.spool.records(records.CUPTI_NAME, records.cupti_name).values
        for what, context, number, name in named.tolist():
            self._names[what, context, number] = self.spool.text(name)
        self.process = self.translation.threads.process_of(
            self.spool.header.pid, self.spool.header.monotonic_ns
        )

    def _gpu(self, row: np.void) -> CudaGpu:
        uuid = uuid_text(row["uuid"].tobytes())
        has_uuid = bool(row["uuid"].any())
        number = self.numbers.get(uuid, int(row["device"])) if has_uuid else int(row["device"])
        properties: dict[str, str | int | float] = {
            "memory_bytes": int(row["memory_bytes"]),
            "memory_bandwidth_bytes_per_s": int(row["memory_bandwidth_kbps"]) * 1000,
            "clock_hz": int(row["clock_khz"]) * 1000,
            "sm_count": int(row["multiprocessors"]),
            "l2_cache_bytes": int(row["l2_bytes"]),
            "max_warps_per_sm": int(row["max_warps_per_sm"]),
            "max_blocks_per_sm": int(row["max_blocks_per_sm"]),
            "max_registers_per_sm": int(row["max_registers_per_sm"]),
            "max_shared_memory_per_sm_bytes": int(row["max_shared_per_sm_bytes"]),
            "threads_per_warp": int(row["threads_per_warp"]),
            "compute_major": int(row["compute_major"]),
            "compute_minor": int(row["compute_minor"]),
        }
        if has_uuid:
            properties["uuid"] = uuid
        limits = Multiprocessor(
            compute_major=int(row["compute_major"]),
            compute_minor=int(row["compute_minor"]),
            threads_per_warp=int(row["threads_per_warp"]),
            max_warps=int(row["max_warps_per_sm"]),
            max_blocks=int(row["max_blocks_per_sm"]),
            registers=int(row["max_registers_per_sm"]),
            registers_per_block=int(row["max_registers_per_block"]),
            shared_bytes=int(row["max_shared_per_sm_bytes"]),
        )
        return CudaGpu(number, self.spool.text(row["name"]), int(row["multiprocessors"]), limits, properties)

    def know_context(self, context: int, device: int) -> None:
        """Learn the device of a context from its work, for contexts created outside the recording."""
        self._device_of_context.setdefault(context, device)

    def device_of(self, context: int) -> int | None:
        """The process's number of the device of a context, None when unknown."""
        return self._device_of_context.get(context)

    def priority(self, context: int, stream: int) -> int | None:
        """The stream's priority, None if it is the default or was not recorded."""
        return self._priorities.get((context, stream))

    def number(self, device: int) -> int:
        """The machine's number of a device of this process."""
        return self.devices[device].number if device in self.devices else device

    def _name(self, what: int, context: int, number: int) -> str:
        """The name that the program set through NVTX, or empty."""
        return self._names.get((what, context, number)) or self._names.get((what, records.NOBODY, number), "")

    def gpu_track(self, device: int) -> int:
        """The track of a GPU."""
        number = self.number(device)
        gpu = self.devices.get(device)
        self.translation.device_index(number, gpu.name if gpu else "", gpu.properties if gpu else {})
        given = self._names.get((records.NAMED_DEVICE, records.NOBODY, device), "")
        return self.builder.add_track(self._specs.gpu(number, gpu.name if gpu else "", given))

    def context_track(self, device: int, context: int) -> int:
        """The track of a context of this process on its GPU."""
        return self.builder.add_track(
            self._context(device, context),
            parent=self.gpu_track(device),
            process=self.translation.process_index(self.process),
        )

    def stream_track(self, device: int, context: int, stream: int) -> int:
        """The track of a stream; overlapping work is packed into lanes."""
        return self._below(
            device,
            context,
            self._specs.stream(
                self._context(device, context),
                stream,
                is_default=(context, stream) in self._default_streams,
                name=self._name(records.NAMED_STREAM, context, stream),
            ),
        )

    def annotations_track(self, device: int, context: int, stream: int) -> int:
        """The track of the host's ranges projected onto a stream."""
        name = self._name(records.NAMED_STREAM, context, stream)
        spec = self._specs.stream_annotations(self._context(device, context), stream, name=name)
        return self._below(device, context, spec)

    def sync_track(self, device: int, context: int) -> int:
        """The track of the synchronisations of a context."""
        return self._below(device, context, self._specs.sync(self._context(device, context)))

    def memory_track(self, device: int, context: int) -> int:
        """The track of the allocations and releases in a context."""
        return self._below(device, context, self._specs.context_memory(self._context(device, context)))

    @property
    def _specs(self) -> TrackFactory:
        return self.translation.tracks

    def _context(self, device: int, context: int) -> TrackSpec:
        life = self.translation.threads.processes[self.process]
        return self._specs.context(
            self.number(device),
            self.translation.process_uri(self.process),
            context,
            process_title=command_title(life.command, life.name, life.pid),
            name=self._name(records.NAMED_CONTEXT, context, context),
        )

    def _below(self, device: int, context: int, spec: TrackSpec) -> int:
        return self.builder.add_track(
            spec,
            parent=self.context_track(device, context),
            process=self.translation.process_index(self.process),
        )
