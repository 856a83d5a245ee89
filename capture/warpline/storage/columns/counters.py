"""Counters: values over time with a pyramid of minimum, maximum and mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.storage.columns.schema import COUNTER_BLOCK

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]


def counter_pyramid(values: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Minimum, maximum and mean of blocks of 16 samples, then of blocks of 256 … until one block is left.

    All levels of one counter lie behind each other, finest first. NaN samples do not count; a block of them is NaN.
    """
    lows: list[Float64Array] = []
    highs: list[Float64Array] = []
    means: list[Float64Array] = []
    low = high = total = values
    weight = np.isfinite(values).astype(np.float64)
    total = np.where(weight > 0, values, 0.0)
    while len(low) > COUNTER_BLOCK:
        heads = np.arange(0, len(low), COUNTER_BLOCK)
        low = np.fmin.reduceat(low, heads)
        high = np.fmax.reduceat(high, heads)
        with np.errstate(over="ignore"):
            total = np.add.reduceat(total, heads)
        weight = np.add.reduceat(weight, heads)
        lows.append(low)
        highs.append(high)
        means.append(np.divide(total, weight, out=np.full(len(total), np.nan), where=weight > 0))
    empty = np.empty(0)
    return (
        np.concatenate([empty, *lows]),
        np.concatenate([empty, *highs]),
        np.concatenate([empty, *means]),
    )


def pyramid_sizes(count: int) -> list[int]:
    """Number of entries of each level of a counter with ``count`` samples, finest first."""
    sizes = []
    while count > COUNTER_BLOCK:
        count = -(-count // COUNTER_BLOCK)
        sizes.append(count)
    return sizes


@dataclass(frozen=True, kw_only=True)
class Counter:
    """Samples of one value: ``times`` int64 ns ascending in capture time, ``values`` float64, NaN for a gap.

    ``interpolation`` is ``step`` (a value holds until the next sample) or ``linear``. ``pyramid`` holds the
    three columns of `counter_pyramid`.
    """

    index: int
    track: int
    name: str
    unit: str
    interpolation: str
    recorded_times: Int64Array
    offset_ns: int
    values: Float64Array
    pyramid: tuple[Float64Array, Float64Array, Float64Array]

    @property
    def times(self) -> Int64Array:
        """Sample times in capture time; a copy when the counter's clock has an offset."""
        return self.recorded_times - self.offset_ns if self.offset_ns else self.recorded_times

    def query(
        self, start_ns: int, stop_ns: int, bins: int
    ) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Minimum, maximum and mean of the samples in each of ``bins`` equal parts of [start_ns, stop_ns).

        Bins without a sample are NaN. Costs bins, not samples: with more than 32 samples a bin, blocks of
        the pyramid count into the bin in which they begin, and each with the same weight in the mean.
        """
        edges = start_ns + (np.arange(bins + 1) * ((stop_ns - start_ns) / bins)).astype(np.int64)
        edges[-1] = stop_ns
        index = np.searchsorted(self.recorded_times, edges + self.offset_ns, "left")
        # Only damaged files need this: their times may go backwards.
        index = np.maximum.accumulate(index)
        low = high = mean = np.asarray(self.values)
        first, block = 0, 1
        sizes = pyramid_sizes(len(self.values))
        while sizes and (index[-1] - index[0]) / bins > 2 * COUNTER_BLOCK * block:
            size = sizes.pop(0)
            low, high, mean = (column[first : first + size] for column in self.pyramid)
            first += size
            block *= COUNTER_BLOCK
        bounds = -(-index // block)
        filled = np.flatnonzero(bounds[1:] > bounds[:-1])
        result = tuple(np.full(bins, np.nan) for _ in range(3))
        if len(filled):
            heads, tails = bounds[filled], bounds[filled + 1]
            # The bins with samples follow each other without gaps, so the end of one is the head of the next.
            part = slice(int(heads[0]), int(tails[-1]))
            heads = heads - heads[0]
            result[0][filled] = np.fmin.reduceat(low[part], heads)
            result[1][filled] = np.fmax.reduceat(high[part], heads)
            weight = np.isfinite(mean[part])
            with np.errstate(over="ignore"):
                total = np.add.reduceat(np.where(weight, mean[part], 0.0), heads)
            number = np.add.reduceat(weight.astype(np.float64), heads)
            result[2][filled] = np.divide(total, number, out=np.full(len(filled), np.nan), where=number > 0)
        return result[0], result[1], result[2]

    def value_at(self, time_ns: int) -> float | None:
        """The value at a time; None before the first sample and in a gap."""
        index = int(np.searchsorted(self.recorded_times, time_ns + self.offset_ns, "right")) - 1
        if index < 0:
            return None
        value = float(self.values[index])
        if self.interpolation == "linear" and index + 1 < len(self.values):
            t0, t1 = int(self.recorded_times[index]), int(self.recorded_times[index + 1])
            if t1 > t0:
                value += (float(self.values[index + 1]) - value) * (time_ns + self.offset_ns - t0) / (t1 - t0)
        return None if np.isnan(value) else value
