"""CUDA API calls and CUPTI's overhead, on tracks below the host's threads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model import AttributeSpec, KindSpec
from warpline.model.cuda_names import function_name, overhead_name, result_name
from warpline.model.links import LAUNCH
from warpline.recording.sources.cuda import records
from warpline.recording.sources.cuda.gpu_clock import GpuClock
from warpline.recording.sources.cuda.projected_ranges import Calls
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.spool.string_columns import distinct, take_records
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]
Structured = npt.NDArray[np.void]

API_EXTRA = KindSpec(
    "cuda_api",
    "CUDA API call",
    "api",
    "api",
    (
        AttributeSpec("layer", "string", "Layer of the API"),
        AttributeSpec("external_id", "int64", "External id"),
    ),
)
"""Attributes of calls that only the agent records."""


class CallTracks:
    """Adds the host side of CUDA of one process."""

    def __init__(
        self,
        translation: Translation,
        builder: CaptureBuilder,
        spool: SpoolFile,
        clock: GpuClock,
        scope: int,
    ) -> None:
        self._translation = translation
        self._builder = builder
        self._spool = spool
        self._clock = clock
        self._scope = scope
        self._tracks: dict[int, int] = {}
        builder.add_kind(API_EXTRA)
        functions = spool.records(records.CUPTI_FUNCTION, records.cupti_function).values
        self._functions = {
            (bool(is_driver), int(function)): spool.text(name)
            for is_driver, function, name, _reserved in functions.tolist()
        }
        external = spool.records(records.CUPTI_EXTERNAL, records.cupti_external).values
        order = np.argsort(external["correlation"], kind="stable")
        self._external = external[order]

    def add_calls(self) -> Calls:
        """Add runtime and driver calls below their threads, with the launching end of links."""
        parts = [
            *self._add(records.CUPTI_RUNTIME, is_driver=False),
            *self._add(records.CUPTI_DRIVER, is_driver=True),
        ]
        none = np.empty(0, np.int64)
        return Calls(
            np.concatenate([none, *(part.correlation for part in parts)]),
            np.concatenate([none, *(part.thread for part in parts)]),
            np.concatenate([none, *(part.start_ns for part in parts)]),
        )

    def _add(self, record_type: int, is_driver: bool) -> list[Calls]:
        pid = self._spool.header.pid
        layer = self._builder.string("driver" if is_driver else "runtime")
        done: list[Calls] = []
        for piece in self._spool.pieces(record_type, records.cupti_api):
            values = piece.values
            times = self._clock.intervals(values)
            self._builder.add_skipped(
                english("CUDA API calls"), times.unknown, english("their times are invalid")
            )
            values, start, stop = times.of(values)
            threads = self._translation.threads.lookup(pid, values["tid"], start)
            done.append(Calls(values["correlation"].astype(np.int64), threads, start))
            callers, inverse = distinct(threads)
            tracks = np.array([self._track(thread) for thread in callers.tolist()], np.int64)[inverse]
            if len(callers) > 1:
                rows = np.argsort(
                    inverse.astype(np.uint16) if len(callers) < 1 << 16 else inverse, kind="stable"
                )
                values, start, stop = take_records(values, rows), start[rows], stop[rows]
                tracks = tracks[rows]
            attributes: dict[str, npt.ArrayLike] = {
                "correlation": values["correlation"].astype(np.int64),
                "return_value": values["result"],
                "return_name": self._results(values["result"], is_driver),
                "callback_id": values["function"],
                "layer": layer,
            }
            if len(self._external):
                attributes["external_id"] = self._external_ids(values["correlation"])
            first = self._builder.add_events(
                tracks,
                "cuda_api",
                self._translation.capture_time(start),
                stop - start,
                self._names(values["function"], is_driver),
                attributes=attributes,
            )
            linked = np.flatnonzero(values["correlation"])
            keys = values["correlation"]
            if len(linked) < len(keys):
                keys = keys[linked]
            self._builder.add_link_keys(LAUNCH, self._scope, "from", keys, first + linked)
        return done

    def _track(self, thread: int) -> int:
        track = self._tracks.get(thread)
        if track is None:
            track = self._tracks[thread] = self._translation.below_thread(thread, "api")
        return track

    def _names(self, functions: npt.NDArray[np.uint32], is_driver: bool) -> npt.NDArray[np.uint32]:
        codes, inverse = distinct(functions)
        texts = [
            function_name(is_driver, self._functions.get((is_driver, int(function)), ""), int(function))
            for function in codes.tolist()
        ]
        return self._builder.strings(texts)[inverse]

    def _results(self, results: npt.NDArray[np.int32], is_driver: bool) -> npt.ArrayLike:
        if not results.any():
            return self._builder.string(result_name(is_driver, 0))
        codes, inverse = distinct(results)
        ids = self._builder.strings(result_name(is_driver, int(result)) for result in codes.tolist())[inverse]
        return np.ma.masked_equal(ids, 0)

    def _external_ids(self, correlation: npt.NDArray[np.uint32]) -> npt.ArrayLike:
        keys = self._external["correlation"]
        at = np.minimum(np.searchsorted(keys, correlation), len(keys) - 1)
        return np.ma.MaskedArray(self._external["external"][at].astype(np.int64), keys[at] != correlation)

    def add_overhead(self) -> None:
        """Add the time that CUPTI and the driver took from each thread."""
        values = self._spool.records(records.CUPTI_OVERHEAD, records.cupti_overhead).values
        values, start, stop = self._clock.intervals(values).of(values)
        pid = self._spool.header.pid
        threads = self._translation.threads.lookup(
            pid, np.where(values["tid"] > 0, values["tid"], pid), start
        )
        kinds, inverse = distinct(values["kind"])
        names = self._builder.strings(map(overhead_name, kinds.tolist()))[inverse]
        for thread in np.unique(threads).tolist():
            rows = np.flatnonzero(threads == thread)
            self._builder.add_events(
                self._translation.below_thread(thread, "overhead"),
                "overhead",
                self._translation.capture_time(start[rows]),
                stop[rows] - start[rows],
                names[rows],
            )
