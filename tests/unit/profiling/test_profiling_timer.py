"""Timing without recording: Paddle's words, Paddle's rule for warming up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

import warpline
from warpline.profiling import benchmark, events, readers, timing

MS = 1_000_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Time stands still but for what is asked for, in ms."""
    now = [MS]

    def advance(ms: float) -> None:
        now[0] += int(ms * MS)

    for module in (timing, readers, events, benchmark):
        monkeypatch.setattr(module, "perf_counter_ns", lambda: now[0])
    return advance


def run(profiler: warpline.Profiler, clock: Callable[[float], None], steps: int, samples: int | None) -> None:
    for step in range(steps):
        with warpline.RecordEvent("load", warpline.TracerEventType.Dataloader):
            clock(10)
        clock(40 if step < 10 else 20 + 10 * (step % 2))
        profiler.step(samples)


def test_step_info_covers_the_steps_since_its_last_call(clock: Callable[[float], None]) -> None:
    profiler = warpline.Profiler(timer_only=True)
    profiler.start()
    run(profiler, clock, 4, 8)
    assert (
        profiler.step_info("images") == " reader_cost: 0.01000 s batch_cost: 0.05000 s ips: 160.000 images/s"
    )
    clock(100)
    profiler.step(8)
    assert profiler.step_info() == " batch_cost: 0.10000 s ips: 80.000 samples/s"
    assert profiler.step_info() == ""
    clock(50)
    profiler.step()
    assert profiler.step_info("images") == " batch_cost: 0.05000 s ips: 20.000 steps/s"
    profiler.stop()


def test_the_summary_leaves_the_first_ten_steps_out(
    clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with warpline.Profiler(timer_only=True) as profiler:
        run(profiler, clock, 14, 3)
        profiler.step_info("images")
    # 4 steps of 30, 40, 30, 40 ms, 10 of them reading.
    assert capsys.readouterr().out.splitlines() == [
        "============================================Perf Summary============================================",
        "Reader Ratio: 28.571%",
        "Time Unit: s, IPS Unit: images/s",
        "|                 |       avg       |       max       |       min       |",
        "|   reader_cost   |     0.01000     |     0.01000     |     0.01000     |",
        "|    batch_cost   |     0.03500     |     0.04000     |     0.03000     |",
        "|       ips       |     85.71429    |    100.00000    |     75.00000    |",
    ]


def test_too_few_steps_give_a_message_instead_of_a_table(
    clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with warpline.Profiler(timer_only=True) as profiler:
        run(profiler, clock, 10, None)
    assert (
        capsys.readouterr().out == "No benchmark: only 10 steps were timed, and the first 10 are warm-up.\n"
    )


def test_reading_ahead_in_another_thread_is_not_a_wait(clock: Callable[[float], None]) -> None:
    profiler = warpline.Profiler(timer_only=True)
    profiler.start()

    def read_ahead() -> None:
        with warpline.RecordEvent("load", warpline.TracerEventType.Dataloader):
            clock(5)

    thread = threading.Thread(target=read_ahead)
    thread.start()
    thread.join()
    profiler.step()
    assert "reader_cost" not in profiler.step_info()
    profiler.stop()


@pytest.fixture
def loader(monkeypatch: pytest.MonkeyPatch, clock: Callable[[float], None]) -> type:
    """A stand-in for torch's loader, which takes 7 ms for a batch."""

    class _BaseDataLoaderIter:
        def __next__(self) -> int:
            clock(7)
            return 1

        def __iter__(self) -> Iterator[int]:
            return self

    module = ModuleType("torch.utils.data.dataloader")
    module._BaseDataLoaderIter = _BaseDataLoaderIter  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "torch.utils.data.dataloader", module)
    return _BaseDataLoaderIter


def test_loaders_are_timed_from_start_to_stop(loader: type, clock: Callable[[float], None]) -> None:
    original = vars(loader)["__next__"]
    profiler = warpline.Profiler(timer_only=True)
    assert vars(loader)["__next__"] is original
    profiler.start()
    for _batch, _again in zip(range(3), loader(), strict=False):
        clock(13)
        profiler.step()
    assert profiler.step_info() == " reader_cost: 0.00700 s batch_cost: 0.02000 s ips: 50.000 steps/s"
    profiler.stop()
    assert vars(loader)["__next__"] is original


def test_a_wrapper_on_top_of_ours_stays(loader: type) -> None:
    profiler = warpline.Profiler(timer_only=True)
    profiler.start()
    ours = vars(loader)["__next__"]

    def others(self: object) -> int:
        return int(ours(self))

    loader.__next__ = others  # type: ignore[attr-defined]
    profiler.stop()
    assert vars(loader)["__next__"] is others
    assert next(loader()) == 1


def test_a_benchmark_times_steps_without_a_profiler(
    clock: Callable[[float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    timer = warpline.benchmark()
    assert timer is warpline.benchmark()
    timer.step(8)  # before it begins nothing is timed
    assert timer.step_info() == ""
    timer.begin()
    for _step in range(12):
        timer.before_reader()
        clock(10)
        timer.after_reader()
        clock(30)
        timer.step(num_samples=512)
    assert (
        timer.step_info("tokens") == " reader_cost: 0.01000 s batch_cost: 0.04000 s ips: 12800.000 tokens/s"
    )
    timer.end()
    timer.end()
    printed = capsys.readouterr().out
    assert printed.count("Perf Summary") == 1
    assert "Reader Ratio: 25.000%" in printed
    assert "Time Unit: s, IPS Unit: tokens/s" in printed
