"""The small tables of a capture while it is built: texts, processes, clocks, kinds, tracks, sources …"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model import (
    BUILTIN_KINDS,
    AttributeValue,
    Clock,
    Device,
    KindSpec,
    Packing,
    Process,
    Skipped,
    Source,
    StorageError,
    Thread,
    Track,
)
from warpline.model.track_factory import TrackSpec
from warpline.storage.columns.attribute_types import ATTRIBUTE_TYPES, is_group_name
from warpline.storage.columns.schema import MAX_DEPTH, MAX_KINDS, MAX_TRACKS, NO_STACK
from warpline.storage.write.builder_contents import KindBuffer
from warpline.storage.write.stack_ids import stack_ids
from warpline.storage.write.string_ids import StringIds
from warpline.storage.write.track_attributes import TrackAttributes


class TableBuilder:
    """Everything of a `CaptureBuilder` that is not columns of events, links or counters."""

    path: Path

    def __init__(self) -> None:
        self.meta: dict[str, Any] = {}
        self.span: tuple[int, int] | None = None
        self._strings = StringIds([""])
        self._stacks = stack_ids()
        self._processes: list[Process] = []
        self._threads: list[Thread] = []
        self._devices: list[Device] = []
        self._clocks: list[Clock] = [Clock("capture")]
        self._sources: dict[str, Source] = {}
        self._skipped: dict[tuple[str, str], int] = {}
        self._warnings: list[str] = []
        self._pauses: list[tuple[int, int]] = []
        self._kinds: dict[str, KindBuffer] = {}
        self._kind_list: list[KindBuffer] = []
        self._tracks: list[Track] = []
        self._packings: list[Packing] = []
        self._depths: list[int] = []
        self._track_ids: dict[str, int] = {}
        self._track_attributes = TrackAttributes()
        for spec in BUILTIN_KINDS:
            self.add_kind(spec)

    # Strings and stacks

    def string(self, text: str) -> int:
        """Id of a text, interned; 0 is the empty text."""
        return self._strings[text]

    def strings(self, texts: Iterable[str]) -> npt.NDArray[np.uint32]:
        """Ids of texts, uint32, in their order."""
        wanted = texts if isinstance(texts, list) else list(texts)
        return np.fromiter(map(self._strings.__getitem__, wanted), np.uint32, len(wanted))

    def text(self, string_id: int) -> str:
        """The text with this id."""
        return self._strings.texts[string_id]

    def stack(self, frame: int, parent: int = NO_STACK) -> int:
        """Id of the stack that has ``frame`` (a string id) on top of the stack ``parent``."""
        return self._stacks.add(int(frame), int(parent))

    def stacks(self, frames: npt.NDArray[np.uint32], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Ids of whole stacks, int64 [n]; -1 for one without frames.

        ``frames`` holds their frames (string ids) one after the other, the outermost first; ``sizes``, int64 [n], how
        many each has.
        """
        return self._stacks.add_chains(frames, sizes)

    # Tables

    def add_clock(
        self, name: str, offset_ns: int = 0, method: str = "", residual_ns: int | None = None
    ) -> int:
        """A time base for tracks; capture time = its time − ``offset_ns``."""
        self._clocks.append(Clock(name, offset_ns, method, residual_ns))
        return len(self._clocks) - 1

    def set_clock_offset(
        self, clock: int, offset_ns: int, *, method: str | None = None, residual_ns: int | None = None
    ) -> None:
        """Changes a clock's offset; possible until `finish`."""
        old = self._clocks[clock]
        self._clocks[clock] = replace(
            old,
            offset_ns=offset_ns,
            method=old.method if method is None else method,
            residual_ns=old.residual_ns if residual_ns is None else residual_ns,
        )

    def add_process(self, pid: int, **fields: Any) -> int:
        """Index of a new process; fields as in `warpline.model.Process`."""
        self._processes.append(Process(pid=pid, **fields))
        return len(self._processes) - 1

    def add_thread(self, process: int, tid: int, **fields: Any) -> int:
        """Index of a new thread of the process with index ``process``; fields as in `warpline.model.Thread`."""
        if not 0 <= process < len(self._processes):
            raise StorageError(f"{self.path}: there is no process {process} for thread {tid}")
        self._threads.append(Thread(process, tid, **fields))
        return len(self._threads) - 1

    def add_device(self, index: int, name: str, **fields: Any) -> int:
        """Index of a new device; fields as in `warpline.model.Device`, ``properties`` may be a dict."""
        properties = fields.pop("properties", ())
        if isinstance(properties, Mapping):
            properties = tuple(properties.items())
        self._devices.append(Device(index, name, properties=tuple(properties), **fields))
        return len(self._devices) - 1

    def update_process(self, index: int, **changes: Any) -> None:
        self._processes[index] = replace(self._processes[index], **changes)

    def update_thread(self, index: int, **changes: Any) -> None:
        self._threads[index] = replace(self._threads[index], **changes)

    def update_device(self, index: int, **changes: Any) -> None:
        self._devices[index] = replace(self._devices[index], **changes)

    def update_track(self, index: int, **changes: Any) -> None:
        """Changes fields of a track other than index, URI and parent, such as a title known only later.

        Attributes replace those the track has. Raises StorageError for what cannot be stored.
        """
        if "attributes" in changes:
            uri = self._tracks[index].uri
            changes["attributes"] = self._track_attributes.checked(self.path, uri, changes["attributes"])
        self._tracks[index] = replace(self._tracks[index], **changes)

    def add_source(self, name: str, enabled: bool, reason: str = "", lost: int = 0, remedy: str = "") -> None:
        """Add a source: what recorded, or why it did not. A second one with the same name replaces the first."""
        self._sources[name] = Source(name, enabled, reason, lost, remedy)

    def add_skipped(self, what: str, count: int, reason: str) -> None:
        """Counts what is left out; equal entries are added up."""
        if count:
            self._skipped[what, reason] = self._skipped.get((what, reason), 0) + count

    def add_warning(self, text: str, *, is_loss: bool = False) -> None:
        """``is_loss``: part of the recording is missing from the capture; readers show such warnings first."""
        if text not in self._warnings:
            self._warnings.append(text)
            if is_loss:
                self.meta.setdefault("incomplete", []).append(text)

    def add_pause(self, start_ns: int, stop_ns: int) -> None:
        """An interval of capture time in which nothing was recorded on purpose."""
        self._pauses.append((int(start_ns), int(stop_ns)))

    def set_span(self, start_ns: int, stop_ns: int) -> None:
        """The interval of capture time that was recorded; otherwise that of the events and counters."""
        self.span = (int(start_ns), int(stop_ns))

    # Kinds and tracks

    def add_kind(self, spec: KindSpec, *, anew: bool = False) -> None:
        """Declares a kind. Declaring it again may add attributes.

        With ``anew`` it is exactly ``spec``, even if Warpline has a kind of this name: for copies
        of captures, which describe their own kinds. Raises StorageError when there are events of it already.
        """
        self._check_attributes(spec)
        known = self._kinds.get(spec.name)
        if known is None:
            if len(self._kind_list) == MAX_KINDS:
                raise StorageError(f"{self.path}: a capture has at most {MAX_KINDS} kinds of events")
            if not is_group_name(spec.name):
                raise StorageError(f"{self.path}: {spec.name!r} cannot be the name of a kind")
            buffer = KindBuffer(spec, len(self._kind_list))
            self._kinds[spec.name] = buffer
            self._kind_list.append(buffer)
            return
        if anew:
            if known.count:
                raise StorageError(f"{self.path}: there are events of kind {spec.name!r} already")
            known.spec = spec
            return
        have = {attribute.name for attribute in known.spec.attributes}
        more = tuple(attribute for attribute in spec.attributes if attribute.name not in have)
        known.spec = replace(known.spec, attributes=known.spec.attributes + more)

    def rename_kind(self, name: str, title: str) -> None:
        """Changes the title of a known kind, such as that of API calls, which may be CUDA's or HIP's."""
        self._kinds[name].spec = replace(self._kinds[name].spec, title=title)

    def _check_attributes(self, spec: KindSpec) -> None:
        for attribute in spec.attributes:
            if attribute.dtype not in ATTRIBUTE_TYPES or not is_group_name(attribute.name):
                raise StorageError(
                    f"{self.path}: kind {spec.name!r} cannot have an attribute {attribute.name!r} of the type "
                    f"{attribute.dtype!r}"
                )

    def add_track(
        self,
        spec: TrackSpec,
        *,
        parent: int | str | None = None,
        process: int | None = None,
        thread: int | None = None,
        rank: int | None = None,
        clock: int | None = None,
        attributes: Mapping[str, AttributeValue] | None = None,
    ) -> int:
        """Index of the track that a `TrackFactory` describes, added if new; the other arguments as in `track`."""
        return self.track(
            spec.uri,
            title=spec.title,
            role=spec.role,
            parent=parent,
            process=process,
            thread=thread,
            device=spec.device,
            context=spec.context,
            stream=spec.stream,
            rank=rank,
            clock=clock,
            sort_key=spec.sort_key,
            packing=spec.packing,
            attributes=attributes,
        )

    def track(
        self,
        uri: str,
        *,
        title: str = "",
        role: str = "other",
        parent: int | str | None = None,
        process: int | None = None,
        thread: int | None = None,
        device: int | None = None,
        context: int | None = None,
        stream: int | None = None,
        rank: int | None = None,
        clock: int | None = None,
        sort_key: int = 0,
        packing: Packing = Packing.NEST,
        attributes: Mapping[str, AttributeValue] | None = None,
    ) -> int:
        """Index of the track with this URI, added if new; other arguments are ignored for a known one.

        ``parent`` is an index or the URI of a track that exists. Clock and rank are the parent's where not given.
        ``attributes`` are what else there is to know, by name: texts, numbers or truth values, on all tracks of
        one type. Raises StorageError for what cannot be stored.
        """
        known = self._track_ids.get(uri)
        if known is not None:
            return known
        parent_index = (
            self._track_ids.get(parent, -2) if isinstance(parent, str) else -1 if parent is None else parent
        )
        if not -1 <= parent_index < len(self._tracks):
            raise StorageError(f"{self.path}: there is no track {parent!r} to hold {uri}")
        above = self._tracks[parent_index] if parent_index >= 0 else None
        if clock is None:
            clock = above.clock if above else 0
        if not 0 <= clock < len(self._clocks):
            raise StorageError(f"{self.path}: there is no clock {clock} for {uri}")
        if rank is None:
            rank = above.rank if above else None
        index = len(self._tracks)
        depth = 1 + (self._depths[parent_index] if above else 0)
        if index == MAX_TRACKS or depth > MAX_DEPTH:
            raise StorageError(
                f"{self.path}: {uri} is one track too many: at most {MAX_TRACKS}, {MAX_DEPTH} deep, are possible"
            )
        checked = self._track_attributes.checked(self.path, uri, attributes or {})
        self._depths.append(depth)
        self._tracks.append(
            Track(
                index=index,
                uri=uri,
                title=title or uri.rpartition("/")[2],
                role=role,
                parent=parent_index,
                process=process,
                thread=thread,
                device=device,
                context=context,
                stream=stream,
                rank=rank,
                clock=clock,
                sort_key=sort_key,
                attributes=checked,
            )
        )
        self._packings.append(packing)
        self._track_ids[uri] = index
        return index

    def _skipped_entries(self) -> list[Skipped]:
        return [Skipped(what, count, reason) for (what, reason), count in self._skipped.items()]
