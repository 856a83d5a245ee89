"""Adds the columns of a PyTorch (Kineto) trace to a capture: NVIDIA and AMD GPUs, or CPU only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from warpline.i18n import english, forms
from warpline.interchange.framework.collectives import CollectiveLog
from warpline.interchange.framework.columns import NO_INTEGER, clean_text
from warpline.interchange.framework.importer import ImportOptions, ImportSummary
from warpline.interchange.torch.columns import (
    ANNOTATION,
    API,
    DIAGNOSTIC,
    GPU_ANNOTATION,
    GPU_GROUPS,
    KERNEL,
    LAUNCH_FLOWS,
    MEMORY,
    OPERATOR,
    OVERHEAD,
    PHASE,
    PROFILER,
    PYTHON,
)
from warpline.interchange.torch.cpu import CALL, SLICE, STATE, add_scheduling, stack_id
from warpline.interchange.torch.gpu import KinetoGpuTracks
from warpline.interchange.torch.kinds import KINDS_WITH_MORE
from warpline.interchange.torch.memory import add_memory
from warpline.interchange.torch.owners import DeviceOwners
from warpline.interchange.torch.releases import add_releases
from warpline.interchange.trace_json.converter import TraceConverter
from warpline.interchange.trace_json.json_stream import StreamState
from warpline.interchange.trace_json.piece_columns import FLOWS, INSTANTS, Group, ThreadKey
from warpline.interchange.trace_json.target import name_ids, optional_ids, payload_of
from warpline.interchange.trace_json.tracks import ProcessEntry, number_of
from warpline.interchange.trace_json.unfinished import PendingFlows
from warpline.model import AttributeSpec, Flag, KindSpec, links
from warpline.model.track_titles import HIP_API

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_STEP = re.compile(r"Profiler?Step#(\d{1,12})")
_THREAD_NAME = re.compile(r"thread -?\d+ \((.*)\)")
_MAX_META_TEXT = 4000
_LINKS = {
    "fwdbwd": links.FORWARD_BACKWARD,
    **{kind: kind for kind in (links.WAKEUP, links.RELEASE, links.DATA, links.EXIT)},
}
"""Kind of link by category of flow."""
CATEGORY = AttributeSpec("category", "string", "Category")
_HEADER_NOT_META = frozenset({"stackFrames", "samples", "systemTraceEvents"})


class TorchConverter(TraceConverter):
    """Adds the groups of `torch.columns` to a capture."""

    def __init__(self, builder: CaptureBuilder, options: ImportOptions) -> None:
        super().__init__(builder, options)
        self.gpu = KinetoGpuTracks(self.tracks, builder)
        # Paddle's reports sort phases by their type.
        builder.add_kind(KindSpec("phase", "Phase", "range", "phase", (CATEGORY,)))
        for kind in KINDS_WITH_MORE:
            builder.add_kind(kind)
        self._main: ProcessEntry | None = None
        self._owners = DeviceOwners()
        self._waiting: list[tuple[str, Group]] = []
        self._annotations: list[Group] = []
        self._unlinked = 0
        self._collectives = CollectiveLog(builder)
        self._launch_flows = PendingFlows()
        self._scheduling_rows: dict[ThreadKey, int] = {}
        # GPU events do not name their process. A trace has one process, so one scope serves the file.
        self._scope = -1 - options.clock

    def absorb_group(self, name: str, group: Group) -> None:
        """See `TraceConverter.absorb_group`."""
        if name == GPU_ANNOTATION:
            self._annotations.append(group)
        elif name in GPU_GROUPS:
            self._add_gpu(name, group)
        elif name == API:
            self._find_main(group)
            self._add_api(group)
        elif name in (OPERATOR, ANNOTATION):
            self._find_main(group)
            self._add_operators(name, group)
        elif name == PYTHON:
            self._find_main(group)
            attributes = {
                "python_id": group.numbers["own"],
                "python_parent_id": group.numbers["parent"],
                **self._optional_attributes(group, module_id="module", event_index="index"),
            }
            self.add_slices(group, "python", "python", attributes, flags=self.duration_flags(group))
        elif name in (OVERHEAD, PROFILER):
            self._add_apart(name, group)
        elif name == PHASE:
            self._find_main(group)
            self.add_phases(group)
        elif name in (STATE, SLICE, CALL):
            self.saw(group.start, group.start + group.duration)
            add_scheduling(self, name, group, self._scheduling_rows)
        elif name == INSTANTS:
            others = add_releases(self, self._without_messages(group), self._scheduling_rows)
            if len(others):
                super().absorb_group(name, others)
        elif name == FLOWS:
            of_launches = np.array([text.lower() in LAUNCH_FLOWS for text in group.category.table], bool)
            chosen = of_launches[group.category.codes]
            for flows, index in (
                (self._launch_flows, np.flatnonzero(chosen)),
                (self.flows, np.flatnonzero(~chosen)),
            ):
                if len(index):
                    flows.add(group if len(index) == len(group) else group.take(index))
        elif name == MEMORY:
            self.saw(group.start, group.start)
            add_memory(self, group)
        else:
            super().absorb_group(name, group)

    def thread_of(self, key: ThreadKey) -> ThreadKey:
        """Moves threads of process 0, which the profiler could not attribute, to the recorded process."""
        if self._main is not None and key[0] in (0, "0"):
            return self._main.pid, key[1]
        return key

    def _find_main(self, group: Group) -> None:
        if self._main is None:
            for pid, _tid in group.threads:
                if number_of(pid) > 0:
                    self._main = self.tracks.process(pid)
                    break

    # CPU side

    def name_calls(self, track_title: str, kind_title: str) -> None:
        """Call the rows and the kind of API calls what they are, unless Warpline's own export has named the rows."""
        self.tracks.titles["api"] = track_title
        self.builder.rename_kind("cuda_api", kind_title)

    def _add_api(self, group: Group) -> None:
        if "api" not in self.tracks.titles and any(name.startswith("hip") for name in group.name.table):
            self.name_calls(HIP_API, english("HIP API call"))
        correlation = group.numbers["correlation"]
        attributes = {
            "correlation": correlation,
            "callback_id": np.ma.masked_less(group.numbers["callback"], 0),
            **self._optional_attributes(group, external_id="external"),
        }
        ids = self.add_slices(group, "cuda_api", "api", attributes, flags=self.duration_flags(group))
        self._link_keys(links.LAUNCH, "from", correlation, ids)
        for process, index in self._other_processes(group):
            self._owners.add_calls(process, np.ma.filled(correlation, NO_INTEGER)[index])

    def _other_processes(self, group: Group) -> Iterator[tuple[ProcessEntry, npt.NDArray[np.intp]]]:
        """The processes of a group but the first one of the file, each with the indexes of its events."""
        of_code = [self.tracks.process(self.thread_of(key)[0]) for key in group.threads]
        for process in {process.index: process for process in of_code if process is not self._main}.values():
            codes = [code for code, other in enumerate(of_code) if other is process]
            yield process, np.flatnonzero(np.isin(group.thread, codes))

    def _add_operators(self, name: str, group: Group) -> None:
        numbers = np.array([_step_number(text) for text in group.name.table], np.int64)[group.name.codes]
        is_step = numbers >= 0
        if is_step.any():
            index = np.flatnonzero(is_step)
            steps = group.take(index)
            ids = self.add_slices(
                steps,
                "phase",
                "phases",
                {"step": numbers[index], **self._optional_attributes(steps, event_index="index")},
                flags=self.duration_flags(steps),
            )
            self._link_annotations(steps, ids)
            for step, start, duration in zip(
                numbers[index].tolist(), steps.start.tolist(), steps.duration.tolist(), strict=True
            ):
                self.steps[step] = (start, start + duration)
            group = group.take(np.flatnonzero(~is_step))
        if not len(group):
            return
        flags = self.duration_flags(group)
        if name == ANNOTATION:
            attributes: dict[str, npt.NDArray[Any]] = {
                "category": optional_ids(self.builder, group.category),
                **self._optional_attributes(group, event_index="index", record_function_id="function"),
            }
            ids = self.add_slices(group, "range", "ranges", attributes, flags=flags)
            self._link_annotations(group, ids)
            return
        attributes = {
            "input_shapes": optional_ids(self.builder, group.texts["shapes"]),
            "input_types": optional_ids(self.builder, group.texts["types"]),
            "arguments": optional_ids(self.builder, group.texts["inputs"]),
            "sequence_number": group.numbers["sequence"],
            "external_id": group.numbers["external"],
            "forward_thread": group.numbers["forward"],
            **self._optional_attributes(group, event_index="index", record_function_id="function"),
        }
        stacks = group.texts["stack"]
        if any(stacks.table):
            table = np.array([stack_id(self.builder, text) for text in stacks.table], np.int64)[stacks.codes]
            attributes["stack"] = np.ma.MaskedArray(np.maximum(table, 0).astype(np.uint32), table < 0)
        self.add_slices(group, "operator", "operators", attributes, flags=flags)

    def add_phases(self, group: Group) -> None:
        """Add phases named by their category, and note the steps among them."""
        table = [_STEP.fullmatch(text) for text in group.name.table]
        numbers = np.array([int(match[1]) if match else -1 for match in table], np.int64)[group.name.codes]
        self.add_slices(
            group,
            "phase",
            "phases",
            {
                "step": np.ma.masked_less(numbers, 0),
                "category": optional_ids(self.builder, group.category),
                **self._optional_attributes(group),
            },
            flags=self.duration_flags(group),
        )
        for at in np.flatnonzero(numbers >= 0).tolist():
            start = int(group.start[at])
            self.steps[int(numbers[at])] = (start, start + int(group.duration[at]))

    def _optional_attributes(self, group: Group, **numbers: str) -> dict[str, npt.NDArray[Any]]:
        """Attributes for the columns that exist, and the payload."""
        columns = {name: group.numbers[column] for name, column in numbers.items() if column in group.numbers}
        return columns | payload_of(self.builder, group)

    def _without_messages(self, group: Group) -> Group:
        """Adds the messages of a profiler that Warpline exported; returns the other instants."""
        is_message = np.array([text == DIAGNOSTIC for text in group.category.table], bool)[
            group.category.codes
        ]
        if not self.tracks.header.tracks or not is_message.any():
            return group
        self._add_apart(DIAGNOSTIC, group.take(np.flatnonzero(is_message)))
        return group.take(np.flatnonzero(~is_message))

    def _add_apart(self, name: str, group: Group) -> None:
        """Adds the profiler's own events: its overhead, its messages, the recorded window."""
        self.saw(group.start, group.start + group.duration)
        specs = self.tracks.specs
        kind, spec = {
            OVERHEAD: ("overhead", specs.overhead),
            DIAGNOSTIC: ("diagnostic", specs.messages),
        }.get(name, ("other", specs.profiler))
        names = name_ids(self.builder, group.name)
        flags = (
            np.full(len(group), Flag.INSTANT, np.uint8) if name == DIAGNOSTIC else self.duration_flags(group)
        )
        attributes = self._optional_attributes(group)
        for key, index in self.groups_by_thread(group):
            track = self.tracks.row_track(*key)
            if track is None:
                track = self.tracks.add_track(spec())
            first = self.builder.add_events(
                track,
                kind,
                group.start[index],
                group.duration[index],
                names[index],
                flags=flags[index],
                attributes={name: values[index] for name, values in attributes.items()},
            )
            if self.tracks.header.tracks:
                # Arrows end here, too: some work of accelerators has no kind of its own.
                start = group.start[index]
                ids = np.arange(first, first + len(start))
                self.slices.add(self.gpu.row(key), start, start + group.duration[index], ids)

    # GPU side

    def _add_gpu(self, name: str, group: Group) -> None:
        if self._main is None:
            self._waiting.append((name, group))
            return
        self.saw(group.start, group.start + group.duration)
        self.duration_flags(group)
        main = self._main
        if name == GPU_ANNOTATION:
            group.places = [
                (self._owners.device_of(device), context, stream) for device, context, stream in group.places
            ]
        else:
            self._owners.learn(group)
        ids, kind = self.gpu.add(name, group, lambda device: self._owners.of(device, main), self.slices)
        if kind == GPU_ANNOTATION:
            if "external" in group.numbers:
                owners = np.array([self._scope_of(self._owners.of(place[0], main)) for place in group.places])
                for scope in np.unique(owners[group.thread]).tolist():
                    index = np.flatnonzero(owners[group.thread] == scope)
                    self._link_keys(
                        links.ANNOTATION, "to", group.numbers["external"][index], ids[index], scope
                    )
            return
        if kind == KERNEL:
            names = self.builder.strings(group.name.table)[group.name.codes]
            self._collectives.add(names, group.start + group.duration)
        correlation = group.numbers["correlation"]
        if not self.tracks.header.has_arrows:
            self._unlinked += int((np.ma.getmaskarray(correlation) | (np.ma.getdata(correlation) == 0)).sum())
        self._link_keys(links.LAUNCH, "to", correlation, ids)

    def _scope_of(self, process: ProcessEntry) -> int:
        """Where external ids are unique: ranks that were merged into one file keep theirs."""
        return self._scope if process is self._main else process.index

    def _link_annotations(self, group: Group, ids: npt.NDArray[np.int64]) -> None:
        """Register annotations by their external ids."""
        external, rest = group.numbers["external"], np.ones(len(group), bool)
        for process, index in self._other_processes(group):
            self._link_keys(links.ANNOTATION, "from", external[index], ids[index], self._scope_of(process))
            rest[index] = False
        self._link_keys(links.ANNOTATION, "from", external[rest], ids[rest])

    def _link_keys(
        self,
        kind: str,
        end: Literal["from", "to"],
        keys: Any,
        ids: npt.NDArray[np.int64],
        scope: int | None = None,
    ) -> None:
        """Register event ids under their link keys; ignores missing keys and 0 (none)."""
        if kind == links.LAUNCH and self.tracks.header.has_arrows:
            return
        values = np.ma.getdata(keys)
        known = ~np.ma.getmaskarray(keys) & (values != 0)
        if known.any():
            self.builder.add_link_keys(
                kind, self._scope if scope is None else scope, end, values[known], ids[known]
            )

    def finish(self, state: StreamState) -> ImportSummary:
        """See `TraceConverter.finish`."""
        if self._main is None and (self._waiting or self._annotations):
            self._main = self.tracks.process("unknown")
        for name, group in self._waiting:
            self._add_gpu(name, group)
        for group in self._annotations:
            self._add_gpu(GPU_ANNOTATION, group)
        self.gpu.name_devices(state.header.get("deviceProperties") or state.header.get("computeProperties"))
        self.note(
            forms(
                "{count:,} GPU event has no correlation id, so its launch is unknown",
                "{count:,} GPU events have no correlation id, so their launches are unknown",
            ),
            self._unlinked,
        )
        self._launch_flows.finish(
            self.builder, self.slices, lambda _category: links.LAUNCH, self.row_of, self._adds_launch
        )
        self._keep_header(state)
        return replace(super().finish(state), collectives=self._collectives.result())

    def _adds_launch(self, source: ThreadKey, target: ThreadKey) -> bool:
        """Whether a launch arrow adds to the correlation ids: it leads from the host to a device without such ids.

        An arrow for a GPU ends at the work, or at the call itself.
        """
        if self.tracks.header.has_arrows:
            return True
        return source[0] != target[0] and source not in self.gpu.rows and target not in self.gpu.rows

    def _keep_header(self, state: StreamState) -> None:
        header: dict[str, Any] = {}
        for key, value in state.header.items():
            if key not in _HEADER_NOT_META and value is not None and len(str(value)) <= _MAX_META_TEXT:
                header[clean_text(key)] = value
        if header:
            self.builder.meta.setdefault("trace_header", {})[self.options.prefix.rstrip("/") or "file"] = (
                header
            )
        info = state.header.get("distributedInfo")
        rank = info.get("rank") if isinstance(info, dict) else None
        if self._main is not None and isinstance(rank, int):
            self.builder.update_process(self._main.index, rank=rank)

    def link_kind(self, category: str) -> str:
        """See `TraceConverter.link_kind`."""
        return _LINKS.get(category, links.FLOW)

    def row_of(self, key: ThreadKey) -> int:
        """See `TraceTarget.row_of`; the key of a stream is (device, stream)."""
        row = self.gpu.rows.get(key)
        if row is None:
            row = self._scheduling_rows.get(key)
        return super().row_of(key) if row is None else row

    def thread_title(self, name: str) -> str:
        """``python`` for ``thread 3554 (python)``."""
        match = _THREAD_NAME.fullmatch(name)
        return match[1] if match else name


def _step_number(name: str) -> int:
    match = _STEP.fullmatch(name)
    return int(match[1]) if match else -1
