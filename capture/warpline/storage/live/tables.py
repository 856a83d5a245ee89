"""The tables that all parts of a running recording share: ids stay the same while it grows."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from warpline.model import AttributeSpec, Device, KindSpec, Process, Thread, Track
from warpline.storage.columns.schema import NO_STACK
from warpline.storage.columns.strings import Strings
from warpline.storage.read.capture import Capture

Int64Array = npt.NDArray[np.int64]
UInt32Array = npt.NDArray[np.uint32]


class SharedStrings(Strings):
    """The texts known when it was made; later ones have higher ids."""

    def __init__(self, texts: list[str], ids: dict[str, int]) -> None:
        super().__init__(np.empty(0, np.uint64), np.empty(0, np.uint8))
        self._texts, self._count, self._known = texts, len(texts), ids

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, string_id: int) -> str:
        string_id = int(string_id)
        return self._texts[string_id] if 0 <= string_id < self._count else ""

    def all(self) -> list[str]:
        """Every text in the order of ids."""
        return self._texts[: self._count]

    def id(self, text: str) -> int | None:
        """Id of a text, None when the capture does not have it."""
        known = self._known.get(text)
        return known if known is not None and known < self._count else None

    def defect(self) -> str | None:
        """None: it was not read from a file."""
        return None


class SharedTables:
    """Texts, tracks, processes, threads, GPUs, kinds and stacks by what they are, in the order in which they came."""

    def __init__(self) -> None:
        self._texts: list[str] = [""]
        self._text_ids: dict[str, int] = {"": 0}
        self._track_of_uri: dict[str, int] = {}
        self._tracks: list[Track] = []
        self._process_ids: dict[int, int] = {}
        self._processes: list[Process] = []
        self._thread_ids: dict[tuple[int, int], int] = {}
        self._threads: list[Thread] = []
        self._devices: dict[int, Device] = {}
        self._kinds: dict[str, tuple[int, KindSpec]] = {}
        self._link_kinds: dict[str, int] = {}
        self._stacks: dict[tuple[int, int], int] = {}
        self._lock = threading.Lock()

    @property
    def strings(self) -> SharedStrings:
        """The texts known now."""
        return SharedStrings(self._texts, self._text_ids)

    @property
    def tracks(self) -> tuple[Track, ...]:
        """The tracks known now; each is described as in the latest part that has it."""
        return tuple(self._tracks)

    @property
    def processes(self) -> tuple[Process, ...]:
        """The processes known now."""
        return tuple(self._processes)

    @property
    def threads(self) -> tuple[Thread, ...]:
        """The threads known now."""
        return tuple(self._threads)

    @property
    def devices(self) -> tuple[Device, ...]:
        """The GPUs known now."""
        return tuple(self._devices.values())

    @property
    def kinds(self) -> Mapping[str, tuple[int, KindSpec]]:
        """Code and description of each kind."""
        return dict(self._kinds)

    @property
    def link_kinds(self) -> tuple[str, ...]:
        """Names of the kinds of links by code."""
        return tuple(self._link_kinds)

    @property
    def stacks(self) -> tuple[UInt32Array, UInt32Array]:
        """The trie of stacks, as `Capture.stacks`."""
        with self._lock:
            pairs = np.array(list(self._stacks), np.uint32).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def ids(self, texts: Iterable[str]) -> UInt32Array:
        """Ids of texts, which are added if they are new."""
        known, table = self._text_ids, self._texts
        result = []
        for text in texts:
            number = known.get(text)
            if number is None:
                # The text first: another thread that finds the id must find the text.
                table.append(text)
                number = known[text] = len(table) - 1
            result.append(number)
        return np.array(result, np.uint32)

    def add(self, capture: Capture, base_ns: int) -> Places:
        """Add the tables of a capture whose times begin at ``base_ns``; returns where its entries are now."""
        processes = [self._add_process(process, base_ns) for process in capture.processes]
        threads = [self._add_thread(thread, processes, base_ns) for thread in capture.threads]
        for device in capture.devices:
            self._devices[device.index] = device
        track = np.empty(len(capture.tracks), np.int64)
        for given in capture.tracks:
            track[given.index] = self._add_track(given, track, processes, threads)
        kind = np.zeros(256, np.uint8)
        for name, table in capture.kinds.items():
            kind[table.code] = self._add_kind(name, table.spec)
        link_kind = np.array(
            [
                self._link_kinds.setdefault(name, len(self._link_kinds))
                for name in (capture.links.kinds if len(capture.links) else ())
            ],
            np.uint8,
        )
        return Places(self, capture, track, kind, link_kind, self.ids(capture.strings.all()))

    def add_stacks(self, frames: Iterable[int], parents: Iterable[int]) -> UInt32Array:
        """Ids of stacks that are given as a trie."""
        result: list[int] = []
        with self._lock:  # the window's thread calls this, too
            for frame, parent in zip(frames, parents, strict=True):
                above = result[parent] if parent < len(result) else NO_STACK
                result.append(self._stacks.setdefault((frame, above), len(self._stacks)))
        return np.array(result, np.uint32)

    def _add_process(self, process: Process, base_ns: int) -> int:
        index = self._process_ids.setdefault(process.pid, len(self._processes))
        start = None if process.start_ns is None else process.start_ns + base_ns
        stop = None if process.stop_ns is None else process.stop_ns + base_ns
        if index == len(self._processes):
            self._processes.append(replace(process, start_ns=start, stop_ns=stop))
        else:
            former = self._processes[index].start_ns
            self._processes[index] = replace(
                process, start_ns=former if former is not None else start, stop_ns=stop
            )
        return index

    def _add_thread(self, thread: Thread, processes: list[int], base_ns: int) -> int:
        process = processes[thread.process]
        index = self._thread_ids.setdefault((process, thread.tid), len(self._threads))
        start = None if thread.start_ns is None else thread.start_ns + base_ns
        stop = None if thread.stop_ns is None else thread.stop_ns + base_ns
        if index == len(self._threads):
            self._threads.append(replace(thread, process=process, start_ns=start, stop_ns=stop))
        else:
            former = self._threads[index].start_ns
            self._threads[index] = replace(
                thread, process=process, start_ns=former if former is not None else start, stop_ns=stop
            )
        return index

    def _add_track(self, track: Track, known: Int64Array, processes: list[int], threads: list[int]) -> int:
        index = self._track_of_uri.setdefault(track.uri, len(self._tracks))
        mine = replace(
            track,
            index=index,
            parent=int(known[track.parent]) if track.parent >= 0 else -1,
            process=None if track.process is None else processes[track.process],
            thread=None if track.thread is None else threads[track.thread],
            clock=0,
        )
        if index == len(self._tracks):
            self._tracks.append(mine)
        else:
            self._tracks[index] = mine
        return index

    def _add_kind(self, name: str, spec: KindSpec) -> int:
        code, former = self._kinds.get(name, (len(self._kinds), spec))
        attributes: dict[str, AttributeSpec] = {
            attribute.name: attribute for attribute in (*former.attributes, *spec.attributes)
        }
        self._kinds[name] = code, replace(spec, attributes=tuple(attributes.values()))
        return code


@dataclass(frozen=True)
class Places:
    """Where the rows of a capture's tables are in the shared ones: arrays by the capture's own numbers."""

    tables: SharedTables
    capture: Capture
    track: Int64Array
    kind: npt.NDArray[np.uint8]
    link_kind: npt.NDArray[np.uint8]
    name: UInt32Array

    @cached_property
    def is_shared(self) -> bool:
        """Whether the capture's texts and kinds have the shared ids already, as that of joined parts has."""
        return isinstance(self.capture.strings, SharedStrings)

    @cached_property
    def stack(self) -> UInt32Array:
        """Ids of the capture's stacks."""
        frame, parent = self.capture.stacks
        return self.tables.add_stacks(self.name[frame].tolist(), parent.tolist())
