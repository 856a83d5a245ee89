"""Bugs as somebody could write them, one or two in each room, and the tests that should notice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """``old`` in ``file`` becomes ``new``. ``old`` occurs once; ``tests`` are run until the first that fails."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


STORAGE = "capture/warpline/storage"
ANALYSIS = "capture/warpline/analysis"
INTERCHANGE = "capture/warpline/interchange"
RECORDING = "capture/warpline/recording"
TIMELINE = "app/warpline_app/timeline/model"

BUGS: tuple[Bug, ...] = (
    # storage
    Bug(
        "an event that ends where a range begins is in it",
        f"{STORAGE}/index/lane_columns.py",
        "if low and self.recorded_stop(first + low - 1) > start_ns + offset:",
        "if low and self.recorded_stop(first + low - 1) >= start_ns + offset:",
        ("tests/unit/storage",),
    ),
    Bug(
        "busy time of short events before a view is drawn in it",
        f"{STORAGE}/index/strip_numpy.py",
        "if first_bin != origin >> level:",
        "if first_bin > origin >> level:",
        ("tests/unit/storage",),
    ),
    Bug(
        "an event that starts where another stops gets another lane",
        f"{STORAGE}/write/packing.py",
        'following = np.searchsorted(starts, stops, "left")',
        'following = np.searchsorted(starts, stops, "right")',
        ("tests/unit/storage",),
    ),
    Bug(
        "a launch at the very start of its kernel is not its launch",
        f"{STORAGE}/write/join_keys.py",
        "order = np.lexsort((is_to, np.r_[starts, to_starts], np.r_[keys, to_keys]))",
        "order = np.lexsort((-is_to, np.r_[starts, to_starts], np.r_[keys, to_keys]))",
        ("tests/unit/storage",),
    ),
    Bug(
        "a counter has no value past its last sample",
        f"{STORAGE}/columns/counters.py",
        "        if index < 0:\n            return None",
        "        if not 0 <= index < len(self.values) - 1:\n            return None",
        ("tests/unit/storage",),
    ),
    # model
    Bug(
        "intervals that touch stay two",
        "capture/warpline/model/intervals.py",
        "np.greater(starts[1:], reach[:-1], out=head[1:])",
        "np.greater_equal(starts[1:], reach[:-1], out=head[1:])",
        ("tests/unit/analysis",),
    ),
    Bug(
        "digits of a time below one unit are lost",
        "capture/warpline/model/times.py",
        'int(fraction or "0") * scale // 10 ** len(fraction)',
        'int(fraction or "0") * (scale // 10 ** len(fraction))',
        ("tests/unit/test_times.py", "tests/unit/cli"),
    ),
    # recording
    Bug(
        "a thread that leaves a core as another comes in is called cut off",
        f"{RECORDING}/states/thread_states.py",
        "np.flatnonzero((states.stop_ns[order[:-1]] > start[1:]) & (cpu[1:] == cpu[:-1]))",
        "np.flatnonzero((states.stop_ns[order[:-1]] >= start[1:]) & (cpu[1:] == cpu[:-1]))",
        ("tests/unit/recording/sources/test_perf_states.py",),
    ),
    Bug(
        "the deepest range stays open when several are popped unseen",
        f"{RECORDING}/sources/nvtx/pairing.py",
        "for level in range(int(table.level[row]) + 1, deepest + 1):",
        "for level in range(int(table.level[row]) + 1, deepest):",
        ("tests/unit/recording/sources/test_nvtx_pairing.py",),
    ),
    Bug(
        "a record at the birth of a thread goes to who had the id before",
        f"{RECORDING}/spool/threads.py",
        'which = np.searchsorted(births, times[where], "right") - 1',
        'which = np.searchsorted(births, times[where], "left") - 1',
        ("tests/unit/recording/test_recording_threads.py",),
    ),
    Bug(
        "correlation ids of one process meet those of another",
        f"{RECORDING}/sources/cuda/translate.py",
        "self._scope = self._translation.process_index(self._tracks.process)",
        "self._scope = 0",
        ("tests/unit/recording/sources/test_cuda_links.py",),
    ),
    # interchange
    Bug(
        "an arrow at the end of an event leaves it although another contains it",
        f"{INTERCHANGE}/framework/pairing.py",
        "index = self._last_reaching(last, times + 1)",
        "index = self._last_reaching(last, times)",
        (
            "tests/unit/interchange/trace_json/test_pairing.py",
            "tests/unit/interchange/trace_json/test_trace_events.py",
        ),
    ),
    Bug(
        "microseconds are taken for nanoseconds",
        f"{INTERCHANGE}/torch/gpu.py",
        'np.ma.masked_equal(numbers["queued"], 0) * 1000',
        'np.ma.masked_equal(numbers["queued"], 0)',
        ("tests/unit/interchange/torch/test_torch_events.py",),
    ),
    # analysis
    Bug(
        "the longest gap is the average one",
        f"{ANALYSIS}/gpu/gpu_idle.py",
        "longest.append(int(values.max(initial=0)))",
        "longest.append(int(values.mean()) if len(values) else 0)",
        ("tests/unit/analysis",),
    ),
    Bug(
        "ten times as long a gap still counts as launch latency",
        f"{ANALYSIS}/structure/gpu_gaps.py",
        "LATENCY_NS = 10_000",
        "LATENCY_NS = 100_000",
        ("tests/unit/analysis",),
    ),
    Bug(
        "a copy behind communication counts as exposed",
        f"{ANALYSIS}/gpu/overlap.py",
        '"exposed_memory": time_of(combinations, MEMORY, COMPUTATION | COMMUNICATION),',
        '"exposed_memory": time_of(combinations, MEMORY, COMPUTATION),',
        ("tests/unit/analysis",),
    ),
    Bug(
        "the median of an even number is its lower middle",
        f"{ANALYSIS}/framework/statistics.py",
        "middle = packed[first + count // 2] & mask",
        "middle = packed[first + (count - 1) // 2] & mask",
        ("tests/unit/analysis/test_statistics.py",),
    ),
    # window
    Bug(
        "the previous hit before the first one is the first",
        f"{TIMELINE}/search.py",
        "        if direction < 0:\n            index -= 1",
        "        if direction < 0 and index:\n            index -= 1",
        ("tests/unit/timeline", "tests/gui/timeline"),
    ),
    Bug(
        "zooming out at the end shows what lies behind the capture",
        f"{TIMELINE}/time_model.py",
        "new_start = min(max(new_start, span[0]), span[1] - new_length)",
        "new_start = max(new_start, span[0])",
        ("tests/unit/timeline",),
    ),
    Bug(
        "panning to the left by less than a nanosecond goes to the right",
        f"{TIMELINE}/time_model.py",
        "step = SNAP_NS if pixels > 0 else -SNAP_NS",
        "step = SNAP_NS",
        ("tests/unit/timeline",),
    ),
    Bug(
        "a row that begins above the picture is not drawn",
        f"{TIMELINE}/layout.py",
        'first = max(0, int(np.searchsorted(tops, top, "right")) - 1)',
        'first = int(np.searchsorted(tops, top, "left"))',
        ("tests/unit/timeline", "tests/gui/timeline"),
    ),
    Bug(
        "rows nobody moved come before those somebody did",
        f"{TIMELINE}/layout.py",
        "key=lambda child: rank.get(child.key, len(rank))",
        "key=lambda child: rank.get(child.key, -1)",
        ("tests/unit/timeline", "tests/gui/timeline"),
    ),
    Bug(
        "what was undone can be done again after something else",
        "app/warpline_app/state/undo_state.py",
        "        self._redo.clear()\n",
        "",
        ("tests/unit/timeline", "tests/gui/timeline"),
    ),
    Bug(
        "the start of a recording is told in UTC",
        "app/warpline_app/panels/sources/panel.py",
        "datetime.fromtimestamp(start_utc / 1e9, UTC).astimezone()",
        "datetime.fromtimestamp(start_utc / 1e9, UTC)",
        ("tests/unit/test_local_time.py",),
    ),
)
