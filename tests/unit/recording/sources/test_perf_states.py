"""States from switch records: against a plain loop over one thread at a time, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.model.flags import Flag
from warpline.recording.states.state import State
from warpline.recording.states.thread_states import NO_CPU, Mark, Marks, States, thread_states


def marks(*rows: tuple[int, int, int, Mark]) -> Marks:
    thread, time_ns, cpu, mark = zip(*rows, strict=True)
    return Marks.of(thread, time_ns, cpu, mark)


def rows(found: States) -> list[tuple[int, int, int, str, int]]:
    return [
        (int(thread), int(start), int(stop), State(state).name.lower(), int(cpu))
        for thread, start, stop, state, cpu in zip(
            found.thread, found.start_ns, found.stop_ns, found.state, found.cpu, strict=True
        )
    ]


def test_the_life_of_a_thread() -> None:
    found = thread_states(
        marks(
            (5, 100, NO_CPU, Mark.BIRTH),
            (5, 110, 2, Mark.IN),
            (5, 150, 2, Mark.OUT),
            (5, 300, 1, Mark.IN),
            (5, 320, 1, Mark.PREEMPTED),
            (5, 330, 3, Mark.IN),
            (5, 340, NO_CPU, Mark.DEATH),
        )
    )
    assert rows(found) == [
        (5, 100, 110, "runnable", NO_CPU),
        (5, 110, 150, "running", 2),
        (5, 150, 300, "blocked", NO_CPU),
        (5, 300, 320, "running", 1),
        (5, 320, 330, "runnable", NO_CPU),
        (5, 330, 340, "running", 3),
    ]
    assert found.flags.tolist() == [Flag.WAITING, 0, Flag.IDLE, 0, Flag.WAITING, 0]


def test_the_end_of_the_recording_cuts() -> None:
    found = thread_states(
        marks(
            (0, 10, 0, Mark.IN), (0, 90, NO_CPU, Mark.END),
            (1, 10, 1, Mark.IN), (1, 20, 1, Mark.OUT), (1, 90, NO_CPU, Mark.END),
        )
    )  # fmt: skip
    assert rows(found) == [
        (0, 10, 90, "running", 0),
        (1, 10, 20, "running", 1),
        (1, 20, 90, "blocked", NO_CPU),
    ]
    assert found.flags.tolist() == [Flag.CUT_END, 0, Flag.CUT_END | Flag.IDLE]


def test_pauses_have_no_states_and_later_switches_show_the_state_at_their_end() -> None:
    found = thread_states(
        marks(
            (0, 10, 0, Mark.IN), (0, 50, NO_CPU, Mark.PAUSE), (0, 80, NO_CPU, Mark.RESUME_BLOCKED), (0, 90, 1, Mark.IN),
            (1, 50, NO_CPU, Mark.PAUSE), (1, 80, 1, Mark.RESUME_READY), (1, 95, 1, Mark.PREEMPTED),
            (1, 99, 1, Mark.END),
            (2, 80, NO_CPU, Mark.RESUME_UNKNOWN), (2, 99, NO_CPU, Mark.END),
        )
    )  # fmt: skip
    assert rows(found) == [
        (0, 10, 50, "running", 0),
        (0, 80, 90, "blocked", NO_CPU),
        (1, 80, 95, "running", 1),
        (1, 95, 99, "runnable", NO_CPU),
    ]
    assert found.flags.tolist() == [
        Flag.CUT_END,
        Flag.CUT_START | Flag.IDLE,
        Flag.CUT_START,
        Flag.CUT_END | Flag.WAITING,
    ]


def test_wakeups_split_what_is_blocked() -> None:
    found = thread_states(
        marks(
            (0, 10, 0, Mark.IN), (0, 20, 0, Mark.OUT), (0, 70, NO_CPU, Mark.WAKING), (0, 75, 0, Mark.IN),
            (0, 80, NO_CPU, Mark.WAKING), (0, 90, 0, Mark.PREEMPTED), (0, 91, NO_CPU, Mark.WAKING), (0, 95, 0, Mark.IN),
            (0, 99, NO_CPU, Mark.DEATH),
        )
    )  # fmt: skip
    assert rows(found) == [
        (0, 10, 20, "running", 0),
        (0, 20, 70, "blocked", NO_CPU),
        (0, 70, 75, "runnable", NO_CPU),
        (0, 75, 90, "running", 0),
        (0, 90, 95, "runnable", NO_CPU),
        (0, 95, 99, "running", 0),
    ]


def test_a_lost_end_gives_the_core_to_the_next_thread() -> None:
    found = thread_states(
        marks(
            (0, 10, 0, Mark.IN), (0, 90, 1, Mark.IN), (0, 95, 1, Mark.OUT), (0, 99, NO_CPU, Mark.END),
            (1, 40, 0, Mark.IN), (1, 60, 0, Mark.OUT), (1, 99, NO_CPU, Mark.END),
        )
    )  # fmt: skip
    assert rows(found)[:2] == [(0, 10, 40, "running", 0), (0, 90, 95, "running", 1)]
    assert found.flags[0] == Flag.TRUNCATED


def test_a_switch_at_one_time_is_not_a_loss() -> None:
    found = thread_states(
        marks(
            (0, 10, 0, Mark.IN), (0, 40, 0, Mark.OUT), (0, 99, NO_CPU, Mark.DEATH),
            (1, 40, 0, Mark.IN), (1, 60, 0, Mark.OUT), (1, 99, NO_CPU, Mark.DEATH),
        )
    )  # fmt: skip
    ran = found.by_core
    assert found.stop_ns[ran].tolist() == [40, 60]
    assert found.flags[ran].tolist() == [0, 0]


def loop(ordered: list[tuple[int, int, int, Mark]]) -> list[tuple[int, int, int, str, int]]:
    """The rules, one thread and one record at a time, for sequences without loss."""
    result = []
    for thread in sorted({row[0] for row in ordered}):
        since: tuple[str, int, int] | None = None
        for _thread, time_ns, cpu, mark in [row for row in ordered if row[0] == thread]:
            if since is not None and time_ns > since[1]:
                result.append((thread, since[1], time_ns, since[0], since[2]))
            since = {
                Mark.BIRTH: ("runnable", time_ns, NO_CPU),
                Mark.IN: ("running", time_ns, cpu),
                Mark.OUT: ("blocked", time_ns, NO_CPU),
                Mark.PREEMPTED: ("runnable", time_ns, NO_CPU),
            }.get(mark)
    return result


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int, int, int, Mark]]:
    """Threads on two cores as a scheduler would run them: one per core at a time, global order of time."""
    result: list[tuple[int, int, int, Mark]] = []
    time_ns = 0
    running: dict[int, int] = {}
    ready: list[int] = []
    asleep: list[int] = []
    born = 0
    for _ in range(draw(st.integers(0, 60))):
        time_ns += draw(st.integers(0, 3))
        what = draw(st.sampled_from(["birth", "in", "out", "preempt", "wake", "death"]))
        cpu = draw(st.integers(0, 1))
        if what == "birth" and born < 5:
            result.append((born, time_ns, NO_CPU, Mark.BIRTH))
            ready.append(born)
            born += 1
        elif what == "in" and ready and cpu not in running:
            thread = ready.pop(0)
            running[cpu] = thread
            result.append((thread, time_ns, cpu, Mark.IN))
        elif what in {"out", "preempt"} and cpu in running:
            thread = running.pop(cpu)
            (asleep if what == "out" else ready).append(thread)
            result.append((thread, time_ns, cpu, Mark.OUT if what == "out" else Mark.PREEMPTED))
        elif what == "wake" and asleep:
            ready.append(asleep.pop(0))
        elif what == "death" and cpu in running:
            result.append((running.pop(cpu), time_ns, NO_CPU, Mark.DEATH))
    alive = [*running.values(), *ready, *asleep]
    result += [(thread, time_ns + 1, NO_CPU, Mark.END) for thread in alive]
    return result


@pytest.mark.fuzz
@settings(max_examples=rounds(50, 5_000), deadline=None)
@given(histories(), st.randoms(use_true_random=False))
def test_states_agree_with_a_simple_loop(history: list[tuple[int, int, int, Mark]], random: object) -> None:
    if not history:
        return
    # Rings are drained one after the other: per core in order, cores mixed.
    by_core = sorted(range(len(history)), key=lambda i: (history[i][2], i))
    times = {row[1] for row in history}
    shuffled = [history[i] for i in by_core] if len(times) == len(history) else history
    found = thread_states(marks(*shuffled))
    assert rows(found) == loop(history)
    assert not (found.flags & Flag.TRUNCATED).any()


@pytest.mark.fuzz
@settings(max_examples=rounds(50, 5_000), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 2), st.sampled_from(list(Mark))),
        min_size=1,
        max_size=60,
    )
)
def test_states_never_overlap_whatever_was_lost(history: list[tuple[int, int, int, Mark]]) -> None:
    found = thread_states(marks(*history))
    assert (found.stop_ns > found.start_ns).all()
    for column in (found.thread, found.cpu):
        for value in np.unique(column):
            if column is found.cpu and value == NO_CPU:
                continue
            own = np.flatnonzero(column == value)
            own = own[np.argsort(found.start_ns[own], kind="stable")]
            assert (found.start_ns[own][1:] >= found.stop_ns[own][:-1]).all()
    assert not ((found.state == State.RUNNING) & ((found.flags & Flag.IDLE) != 0)).any()


def test_no_marks_give_no_states() -> None:
    assert len(thread_states(Marks.of([], [], [], [])).thread) == 0
