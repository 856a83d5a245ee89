"""Begins and ends of NVTX ranges become ranges, whatever was missed during pauses."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from warpline.model import Flag
from warpline.recording.sources.nvtx import records
from warpline.recording.sources.nvtx.pairing import PushPopRecords, match_push_pop, match_start_end
from warpline.recording.spool.columns import join, take

START, STOP = 100, 1_000_000

# One step of a program: which thread and domain, and what it does.
steps = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 1),
        st.sampled_from(["push", "push", "pop", "pop", "pause", "resume"]),
    ),
    max_size=60,
)


class Program:
    """What a program does, and what an agent writes about it; the same rules as the agent's, in plain Python."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, int, int]] = []  # serial, time, name, domain, level
        self.true: list[tuple[int, int, int, int, int, int | None]] = []
        self._open: dict[tuple[int, int], list[tuple[int, int, bool]]] = {}
        self._lost: dict[tuple[int, int], tuple[int, int]] = {}
        self.resumes: list[int] = []
        self._paused = False
        self._time = START
        self._name = 0

    def run(self, actions: list[tuple[int, int, str]]) -> None:
        for thread, domain, action in actions:
            self._time += 10
            if action == "pause":
                self._paused = True
            elif action == "resume":
                if self._paused:
                    self.resumes.append(self._time)
                self._paused = False
            else:
                self._step((thread, domain), action == "push")

    def _step(self, where: tuple[int, int], is_push: bool) -> None:
        stack = self._open.setdefault(where, [])
        if not is_push and not stack:
            return
        if not self._paused and where in self._lost:
            level, time = self._lost.pop(where)
            self.rows.append((where[0], time, records.POPPED_UNSEEN, where[1], level))
        if is_push:
            self._name += 1
            if not self._paused:
                self.rows.append((where[0], self._time, self._name, where[1], len(stack)))
            stack.append((self._name, self._time, not self._paused))
            return
        name, began, was_seen = stack.pop()
        if not self._paused:
            self.rows.append((where[0], self._time, records.POP, where[1], len(stack)))
        elif where not in self._lost or self._lost[where][0] > len(stack):
            self._lost[where] = (len(stack), self._time)
        if was_seen and not self._paused:
            self.true.append((where[0], where[1], name, began, self._time, len(stack)))

    def records(self) -> PushPopRecords:
        columns = np.array(self.rows, np.int64).reshape(-1, 5).T
        return PushPopRecords(
            serial=columns[0],
            tid=columns[0] + 500,
            time_ns=columns[1],
            name=columns[2].astype(np.uint32),
            domain=columns[3],
            level=columns[4],
            attributes=np.full(len(columns[0]), -1, np.int64),
        )


@given(steps, st.randoms(use_true_random=False))
def test_complete_ranges_are_exact_and_all_others_are_flagged(
    actions: list[tuple[int, int, str]], random: object
) -> None:
    program = Program()
    program.run(actions)
    found = program.records()
    order = np.array(random.sample(range(len(found.time_ns)), len(found.time_ns)), np.int64)  # type: ignore[attr-defined]  # hypothesis gives random.Random
    shuffled = take(found, order)
    ranges = match_push_pop(shuffled, START, STOP, program.resumes)
    whole = ranges.flags == 0
    got = sorted(
        zip(
            ranges.serial[whole].tolist(),
            ranges.domain[whole].tolist(),
            ranges.name[whole].tolist(),
            ranges.start_ns[whole].tolist(),
            ranges.stop_ns[whole].tolist(),
            ranges.level[whole].tolist(),
            strict=True,
        )
    )
    assert got == sorted(program.true)
    pushes = int((found.name < records.POPPED_UNSEEN).sum())
    assert int((ranges.name > 0).sum()) == pushes, "every push is a range"
    assert (ranges.stop_ns >= ranges.start_ns).all()
    assert (ranges.start_ns >= START).all()
    assert (ranges.stop_ns <= STOP).all()


def columns(*rows: tuple[int, int, int]) -> PushPopRecords:
    """Records (time, name, level) of one thread and domain."""
    time, name, level = np.array(rows, np.int64).T
    zero = np.zeros(len(time), np.int64)
    return PushPopRecords(
        serial=zero,
        tid=zero,
        time_ns=time,
        name=name.astype(np.uint32),
        domain=zero,
        level=level,
        attributes=zero - 1,
    )


def test_an_unfinished_range_lasts_until_the_end_and_is_flagged() -> None:
    ranges = match_push_pop(columns((200, 1, 0), (300, 2, 1), (400, records.POP, 1)), START, STOP)
    assert dict(zip(ranges.name.tolist(), ranges.stop_ns.tolist(), strict=True)) == {1: STOP, 2: 400}
    assert dict(zip(ranges.name.tolist(), ranges.flags.tolist(), strict=True)) == {1: Flag.CUT_END, 2: 0}


def test_a_range_begun_before_the_recording_starts_with_it() -> None:
    ranges = match_push_pop(columns((400, records.POP, 0)), START, STOP)
    assert (ranges.start_ns[0], ranges.stop_ns[0], ranges.flags[0]) == (START, 400, Flag.CUT_START)


def test_a_range_that_ended_during_a_pause_is_not_given_the_next_pop() -> None:
    rows = ((200, 1, 0), (300, records.POPPED_UNSEEN, 0), (500, records.POP, 0))
    ranges = match_push_pop(columns(*rows), START, STOP, [450])
    by_name = {
        name: (start, stop, flags)
        for name, start, stop, flags in zip(
            ranges.name.tolist(),
            ranges.start_ns.tolist(),
            ranges.stop_ns.tolist(),
            ranges.flags.tolist(),
            strict=True,
        )
    }
    assert by_name == {1: (200, 300, Flag.TRUNCATED), 0: (450, 500, Flag.CUT_START)}


def test_all_ranges_that_ended_during_a_pause_end_there() -> None:
    pushes = ((200, 1, 0), (210, 2, 1), (220, 3, 2))
    ranges = match_push_pop(columns(*pushes, (300, records.POPPED_UNSEEN, 0)), START, STOP, [450])
    stops = dict(zip(ranges.name.tolist(), ranges.stop_ns.tolist(), strict=True))
    assert stops == {1: 300, 2: 300, 3: 300}
    assert set(ranges.flags.tolist()) == {int(Flag.TRUNCATED)}


def test_pops_without_a_push_are_counted() -> None:
    rows = ((200, records.POP, records.LEVEL_UNBALANCED), (300, 1, 0), (400, records.POP, 0))
    ranges = match_push_pop(columns(*rows), START, STOP)
    assert ranges.unbalanced == 1
    assert ranges.name.tolist() == [1]


def test_no_records_give_no_ranges() -> None:
    empty = join(PushPopRecords, ())
    assert len(match_push_pop(empty, START, STOP).name) == 0


def test_started_ranges_are_matched_with_their_ends_by_id() -> None:
    starts = np.zeros(3, records.nvtx_start)
    starts["range"], starts["time_ns"] = [7, 5, 9], [100, 200, 300]
    ends = np.array([(400, 5), (500, 7), (600, 77)], records.nvtx_end)
    found = match_start_end(starts, ends, np.array([11, 12, 13], np.uint32), STOP)
    assert found.stop_ns.tolist() == [500, 400, STOP]
    assert found.end_tid.tolist() == [12, 11, -1]
    assert found.flags.tolist() == [0, 0, Flag.CUT_END]
    assert found.unmatched_ends == 1
