"""What is sick in each program of the bench, and which finding names it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
HEALTHY = Path(__file__).parent / "healthy"


@dataclass(frozen=True)
class Pair:
    """``name`` of the program or world; ``ids`` of findings, any of which is right; ``has_line``: the sick line is
    known to Python; ``on_gpu``: it is recorded with a driver that acts as if there were a GPU. ``make`` writes the
    capture of a world (sick or not), in which ``place``, ``file:line``, is it.
    """

    name: str
    group: str
    ids: tuple[str, ...]
    has_line: bool = True
    on_gpu: bool = False
    make: Callable[[Path, bool], None] | None = field(default=None, compare=False)
    place: str = ""

    @property
    def is_left_out(self) -> bool:
        """Whether the disease lies in what is left out as warm-up: it is measured on the whole."""
        return "first_steps" in self.ids


def _program(name: str, group: str, *ids: str, has_line: bool = True, on_gpu: bool = False) -> Pair:
    return Pair(name, group, ids, has_line, on_gpu)


PROGRAM_PAIRS = (
    _program("lock_held_asleep", "locks", "waits_for_lock"),
    _program("lock_too_wide", "locks", "waits_for_lock"),
    _program("file_lock", "locks", "waits_for_lock"),
    _program("gil", "locks", "waits_for_gil"),
    _program("spinning_helpers", "locks", "waits_for_core"),
    _program("one_core", "locks", "few_cores", has_line=False),
    _program("wanders", "locks", "migrations"),
    _program("sleep_in_loop", "locks", "waits_for_sleep"),
    _program("polling", "locks", "waits_for_sleep"),
    _program("slow_condition", "locks", "waits_for_sleep"),
    _program("late_at_barrier", "locks", "late_at_barrier"),
    _program("slow_stage", "locks", "slow_stage"),
    _program("slow_worker_queue", "locks", "slow_stage"),
    _program("pool_of_sleepers", "locks", "waits_for_sleep", "small_pool"),
    _program("uneven_workers", "locks", "uneven_workers"),
    _program("one_at_a_time", "locks", "one_at_a_time"),
    _program("future_by_future", "locks", "one_at_a_time"),
    _program("last_of_batch", "locks", "stragglers"),
    _program("process_per_item", "outside", "waits_for_child", "process_per_item"),
    _program("fsync_per_line", "outside", "waits_for_file"),
    _program("fresh_buffers", "outside", "page_faults"),
    _program("slow_producer", "outside", "waits_for_sleep"),
    _program("slow_peer", "outside", "waits_for_sleep", "waits_for_network"),
    _program("imports", "host", "imports"),
    _program("median_so_far", "host", "hot_spot"),
    _program("loader_in_main", "input", "data_loading"),
    _program("slow_loader_workers", "input", "data_loading"),
    _program("live_item", "host", "gpu_synchronization", on_gpu=True),
    _program("live_python_alone", "host", "gpu_host", on_gpu=True),
    _program("live_loader_in_main", "input", "gpu_data_loading", on_gpu=True),
)
HEALTHY_PROGRAMS = tuple(sorted(path.stem for path in HEALTHY.glob("*.py")))


def program_of(name: str) -> Path:
    """The program of that name."""
    return next(PROGRAMS.glob(f"*/{name}.py"))


def sick_lines(path: Path) -> tuple[int, ...]:
    """The numbers of the lines that are marked: any of them is right, such as a pool and what its workers do."""
    lines = path.read_text("utf-8").splitlines()
    return tuple(number for number, line in enumerate(lines, 1) if line.endswith("# sick"))
