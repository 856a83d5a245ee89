"""Count, total, average, exact median, extremes and standard deviation of values by group.

Keys and values are packed into 64-bit words (group in the high bits) and sorted once. Each group is then a run, with
its smallest, middle and largest value at known places. More than `PACKED_LIMIT` values are sorted in portions of the
groups, so that memory stays bounded. Ties, order and batch sizes never change a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import library
from warpline.compiled import address

Int64Array = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
KeyArray = npt.NDArray[Any]
Batches = Callable[[], Iterable[tuple[KeyArray, Int64Array]]]
"""Returns the same batches of (keys, values) on every call."""

_LARGEST_TOTAL = float(1 << 62)
PACKED_LIMIT = 1 << 23
"""Values sorted at once; sorting takes 24 bytes for each."""
_BLOCK = 1 << 15
_EMPTY = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupStatistics:
    """One entry per group, groups ascending by key.

    ``key``, ``count``, ``total``, ``min``, ``max`` are int64; ``avg``, ``med`` and ``stddev`` float64. ``stddev`` is
    the sample standard deviation (n − 1), 0 for a single value, as Nsight Systems prints it. The median of an even
    count is the mean of the middle two.
    """

    key: Int64Array
    count: Int64Array
    total: Int64Array
    avg: FloatArray
    med: FloatArray
    min: Int64Array
    max: Int64Array
    stddev: FloatArray

    def __len__(self) -> int:
        return len(self.key)

    def take(self, index: npt.NDArray[Any]) -> GroupStatistics:
        """The groups at ``index``, in that order."""
        return GroupStatistics(**{item.name: getattr(self, item.name)[index] for item in fields(self)})

    def by_total(self) -> GroupStatistics:
        """The groups by descending total, ties by key."""
        return self.take(np.argsort(-self.total, kind="stable"))


def group_statistics(keys: KeyArray, values: Int64Array, compiled: bool = True) -> GroupStatistics:
    """Statistics of ``values`` (int64 ≥ 0, any unit) by equal ``keys`` (integers ≥ 0 of the same length).

    Raises ValueError for negative keys or values.
    """
    return _statistics_of_parts([(keys, values)], compiled)


def _statistics_of_parts(parts: list[tuple[KeyArray, Int64Array]], compiled: bool) -> GroupStatistics:
    """`group_statistics` of several batches together; empties ``parts`` to free their memory."""
    parts[:] = [(keys, values) for keys, values in parts if len(keys)]
    if not parts:
        empty = np.empty(0, np.float64)
        return GroupStatistics(
            key=_EMPTY, count=_EMPTY, total=_EMPTY, avg=empty, med=empty, min=_EMPTY, max=_EMPTY, stddev=empty
        )
    if min(int(min(keys.min(), values.min())) for keys, values in parts) < 0:
        raise ValueError("group_statistics takes keys and values of at least 0")
    highest = max(int(keys.max()) for keys, _ in parts)
    bits = max(1, *(int(values.max()).bit_length() for _, values in parts))
    if bits + highest.bit_length() > 64:
        return _statistics_by_lexsort(
            _joined([keys for keys, _ in parts]), _joined([values for _, values in parts])
        )
    packed = np.empty(sum(len(keys) for keys, _ in parts), np.uint64)
    filled = 0
    for keys, values in parts:
        _pack(keys, values, bits, packed[filled : filled + len(keys)])
        filled += len(keys)
    parts.clear()
    packed = _sorted(packed, compiled)
    first = _group_starts(packed, bits, highest)
    key = (packed[first] >> np.uint64(bits)).astype(np.int64)
    return _statistics_of_runs(key, packed.view(np.int64), first, (1 << bits) - 1)


def _sorted(words: npt.NDArray[np.uint64], compiled: bool) -> npt.NDArray[np.uint64]:
    """The words in ascending order, in their own memory or in new memory."""
    loops = library() if compiled else None
    if loops is None:
        words.sort()
        return words
    scratch = np.empty_like(words)
    is_in_scratch = loops.warpline_sort(len(words), address(words), address(scratch))
    return scratch if is_in_scratch else words


def group_totals(keys: KeyArray, values: Int64Array, n_keys: int) -> tuple[Int64Array, Int64Array]:
    """(count, total) of ``values`` for each key 0 … ``n_keys`` − 1, without sorting.

    Totals are exact below 2^53 and limited to 2^62, since times of a damaged file may overflow.
    """
    count = np.bincount(keys, minlength=n_keys)
    total = np.bincount(keys, weights=values, minlength=n_keys)
    return count.astype(np.int64), np.clip(total, -_LARGEST_TOTAL, _LARGEST_TOTAL).astype(np.int64)


def batch_statistics(batches: Batches, limit: int = PACKED_LIMIT, compiled: bool = True) -> GroupStatistics:
    """`group_statistics` over batches, sorting at most ``limit`` values at a time.

    Up to ``limit`` values, the batches are read once. Beyond, they are read once to count and once per portion of
    groups; `_large_group` handles a group that alone exceeds the limit. Memory grows with the largest key.
    """
    parts: list[tuple[KeyArray, Int64Array]] = []
    filled = 0
    for keys, values in batches():
        parts.append((keys, values))
        filled += len(keys)
        if filled > limit:
            break
    else:
        return _statistics_of_parts(parts, compiled)
    parts.clear()
    counts = _EMPTY
    for keys, _ in batches():
        counts = _added(counts, np.bincount(keys))
    results = []
    for portion in _portions(counts, limit):
        if len(portion) == 1 and counts[portion[0]] > limit:
            results.append(_large_group(batches, int(portion[0]), int(counts[portion[0]])))
            continue
        wanted = np.zeros(len(counts), bool)
        wanted[portion] = True
        picked = [(keys[take], values[take]) for keys, values in batches() for take in [wanted[keys]]]
        results.append(_statistics_of_parts(picked, compiled))
    joined = join_statistics(results)
    return joined.take(np.argsort(joined.key, kind="stable"))


def join_statistics(parts: list[GroupStatistics]) -> GroupStatistics:
    """The groups of all parts, concatenated."""
    names = [item.name for item in fields(GroupStatistics)]
    return GroupStatistics(**{name: _joined([getattr(part, name) for part in parts]) for name in names})


def quick_statistics(batches: Batches, n_keys: int) -> GroupStatistics:
    """`batch_statistics` without sorting, for a table that follows a drag: median and deviation are NaN."""
    count = np.zeros(n_keys, np.int64)
    total = np.zeros(n_keys, np.int64)
    low = np.full(n_keys, np.iinfo(np.int64).max, np.int64)
    high = np.zeros(n_keys, np.int64)
    for keys, values in batches():
        part_count, part_total = group_totals(keys, values, n_keys)
        count += part_count
        total += part_total
        np.minimum.at(low, keys, values)
        np.maximum.at(high, keys, values)
    key = np.flatnonzero(count)
    return sums_as_statistics(key, count[key], total[key], low[key], high[key])


def sums_as_statistics(
    key: Int64Array, count: Int64Array, total: Int64Array, low: Int64Array, high: Int64Array
) -> GroupStatistics:
    """Statistics without medians and deviations, which are NaN."""
    unknown = np.full(len(key), np.nan)
    return GroupStatistics(
        key=key,
        count=count,
        total=total,
        avg=total / np.maximum(count, 1),
        med=unknown,
        min=low,
        max=high,
        stddev=unknown,
    )


def _joined(parts: list[Any]) -> Any:
    used = [part for part in parts if len(part)]
    return used[0] if len(used) == 1 else np.concatenate(used) if used else _EMPTY


def _added(counts: Int64Array, more: Int64Array) -> Int64Array:
    """The sum of counts by key; the arrays may differ in length."""
    longer, shorter = (counts, more) if len(counts) > len(more) else (more, counts)
    longer[: len(shorter)] += shorter
    return longer


def _portions(counts: Int64Array, limit: int) -> Iterator[Int64Array]:
    """Non-empty groups in portions of at most ``limit`` values; a larger group is a portion of its own."""
    present = np.flatnonzero(counts)
    large = counts[present] > limit
    for group in present[large]:
        yield np.array([group], np.int64)
    present = present[~large]
    start = 0
    filled = 0
    for index, count in enumerate(counts[present].tolist()):
        if filled + count > limit:
            yield present[start:index]
            start, filled = index, 0
        filled += count
    if start < len(present):
        yield present[start:]


def _pack(keys: KeyArray, values: Int64Array, bits: int, out: npt.NDArray[np.uint64]) -> None:
    """Write ``keys << bits | values`` to ``out``, in blocks that fit the processor's cache."""
    shift = np.uint64(bits)
    for start in range(0, len(keys), _BLOCK):
        block = out[start : start + _BLOCK]
        block[:] = keys[start : start + _BLOCK]
        block <<= shift
        block |= values[start : start + _BLOCK].astype(np.uint64)


def _group_starts(packed: npt.NDArray[np.uint64], bits: int, highest: int) -> Int64Array:
    """The index at which each group begins in the sorted packed values."""
    if highest < len(packed) // 64:
        # For few groups, one binary search each is cheaper than reading every value.
        bounds = np.arange(highest + 1, dtype=np.uint64) << np.uint64(bits)
        starts = np.searchsorted(packed, bounds)
        return starts[np.diff(starts, append=len(packed)) > 0].astype(np.int64)
    return _run_starts(packed >> np.uint64(bits))


def _run_starts(ordered: npt.NDArray[Any]) -> Int64Array:
    head = np.empty(len(ordered), bool)
    head[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=head[1:])
    return np.flatnonzero(head)


def _statistics_by_lexsort(keys: KeyArray, values: Int64Array) -> GroupStatistics:
    """The same for values and keys that together need more than 64 bits; slower."""
    order = np.lexsort((values, keys))
    ordered = keys[order]
    first = _run_starts(ordered)
    return _statistics_of_runs(ordered[first].astype(np.int64), values[order], first, -1)


def _statistics_of_runs(key: Int64Array, packed: Int64Array, first: Int64Array, mask: int) -> GroupStatistics:
    """Statistics of runs of ascending values (``packed & mask``) that begin at ``first``."""
    count = np.diff(first, append=len(packed))
    # An odd count has one middle entry. Halving the difference cannot overflow.
    lower = packed[first + (count - 1) // 2] & mask
    middle = packed[first + count // 2] & mask
    med = lower + (middle - lower) / 2
    sums, squares = _deviations(packed, first, mask, lower)
    total = sums + lower * count
    avg = total / count
    variance = (squares - sums.astype(np.float64) ** 2 / count) / np.maximum(count - 1, 1)
    low, high = packed[first] & mask, packed[first + count - 1] & mask
    # Exactly 0 for equal values, whatever the rounding.
    stddev = np.where(low == high, 0.0, np.sqrt(np.maximum(variance, 0.0)))
    return GroupStatistics(
        key=key, count=count, total=total, avg=avg, med=med, min=low, max=high, stddev=stddev
    )


def _deviations(
    packed: Int64Array, first: Int64Array, mask: int, center: Int64Array
) -> tuple[Int64Array, FloatArray]:
    """Sums of (value − center) and of its square for each run, in blocks that fit the processor's cache.

    Squares of plain nanoseconds would lose digits; those of distances from the median do not.
    """
    sums = np.zeros(len(first), np.int64)
    squares = np.zeros(len(first), np.float64)
    edges = np.append(first, len(packed))
    for start in range(0, len(packed), _BLOCK):
        stop = min(start + _BLOCK, len(packed))
        low = int(np.searchsorted(first, start, "right")) - 1
        high = int(np.searchsorted(first, stop, "left"))
        block = packed[start:stop] & mask
        if high - low == 1:
            block -= center[low]
            cuts = np.zeros(1, np.int64)
        else:
            lengths = np.minimum(edges[low + 1 : high + 1], stop) - np.maximum(edges[low:high], start)
            block -= np.repeat(center[low:high], lengths)
            cuts = np.cumsum(lengths) - lengths
        sums[low:high] += np.add.reduceat(block, cuts)
        exact = block.astype(np.float64)
        exact *= exact
        squares[low:high] += np.add.reduceat(exact, cuts)
    return sums, squares


def _large_group(batches: Batches, key: int, count: int) -> GroupStatistics:
    """Statistics of one group that is too large to sort; finds its middle values by narrowing a histogram."""

    def values() -> Iterator[Int64Array]:
        for keys, batch in batches():
            yield batch[keys == key]

    total = 0
    low, high = np.iinfo(np.int64).max, 0
    for part in values():
        if len(part):
            total += int(part.sum())
            low, high = min(low, int(part.min())), max(high, int(part.max()))
    avg = total / count
    lower = _select(values, (count - 1) // 2, low, high)
    middle = lower if count % 2 else _select(values, count // 2, low, high)
    med = lower + (middle - lower) / 2
    # Distances from an integer: those from a rounded average lose their last digits past 2^53.
    squares = 0.0
    for part in values():
        deviation = (part - lower).astype(np.float64)
        squares += float(deviation @ deviation)
    variance = (squares - float(total - count * lower) ** 2 / count) / max(count - 1, 1)
    stddev = 0.0 if low == high else float(np.sqrt(max(variance, 0.0)))
    return GroupStatistics(
        key=np.array([key], np.int64),
        count=np.array([count], np.int64),
        total=np.array([total], np.int64),
        avg=np.array([avg]),
        med=np.array([med]),
        min=np.array([low], np.int64),
        max=np.array([high], np.int64),
        stddev=np.array([stddev]),
    )


def _select(values: Callable[[], Iterable[Int64Array]], rank: int, low: int, high: int) -> int:
    """The value of a rank (0: smallest) among values in [low, high], by passes over 65,536 equal bins."""
    bins = 1 << 16
    while low < high:
        width = max(-(-(high - low + 1) // bins), 1)
        histogram = np.zeros(bins, np.int64)
        for part in values():
            inside = part[(part >= low) & (part <= high)]
            histogram += np.bincount((inside - low) // width, minlength=bins)
        below = np.cumsum(histogram)
        bin_ = int(np.searchsorted(below, rank, "right"))
        rank -= int(below[bin_] - histogram[bin_])
        low, high = low + bin_ * width, min(low + (bin_ + 1) * width - 1, high)
    return low
