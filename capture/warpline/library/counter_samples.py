"""A counter of a capture as a table of its samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.interchange.export.event_columns import CodedColumn
from warpline.library.column_frame import ColumnFrame
from warpline.library.selecting import Time, TimeRange, range_ns, time_ns
from warpline.model import UsageError

if TYPE_CHECKING:
    from warpline.storage import Capture, Counter

Float64Array = npt.NDArray[np.float64]


class CounterSamples(ColumnFrame):
    """Samples of one value: the columns ``time_ns`` (since the start of the capture) and ``value``, masked in a gap.

    ``track`` is the URI of the track it belongs to. ``interpolation`` is ``step`` (a value holds until the next sample)
    or ``linear``.
    """

    def __init__(self, capture: Capture, counter: Counter, check: Callable[[], object] | None = None) -> None:
        self._counter = counter
        self._span = capture.span
        self.track = capture.tracks[counter.track].uri
        self.name = counter.name
        self.unit = counter.unit
        self.interpolation = counter.interpolation
        super().__init__(("time_ns", "value"), len(counter.values), check)

    @property
    def times_ns(self) -> npt.NDArray[np.int64]:
        """Times of the samples, int64 ns since the start of the capture, ascending."""
        return self.column("time_ns").codes

    @property
    def values(self) -> Float64Array:
        """Samples, float64; NaN is a gap."""
        return self._counter.values

    def value_at(self, time: Time) -> float | None:
        """The value at a time; None before the first sample and in a gap."""
        return self._counter.value_at(self._span[0] + time_ns(time))

    def resample(
        self,
        bins: int,
        range: TimeRange | None = None,  # noqa: A002  # as everywhere in the library
    ) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Minimum, maximum and mean of the samples in each of ``bins`` equal parts of a range; NaN without a sample.

        Costs bins, not samples.
        """
        start, stop = range_ns(range)
        low = self._span[0] + (start or 0)
        high = self._span[1] if stop is None else self._span[0] + stop
        if bins < 1 or high <= low:
            raise UsageError(f"nothing to count: {bins} parts of {max(high - low, 0)} ns")
        return self._counter.query(low, high, bins)

    def _make(self, name: str) -> CodedColumn:
        if name == "time_ns":
            return CodedColumn(self._counter.times - self._span[0])
        return CodedColumn(self._counter.values, ~np.isnan(self._counter.values))

    def __repr__(self) -> str:
        unit = f" in {self.unit}" if self.unit else ""
        return f"<CounterSamples: {self.name}{unit} of {self.track}, {len(self):,} samples>"
