"""Matches the collectives of all ranks: which rank came last, and how long the others waited."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.report import Table, Texts
from warpline.analysis.jobs.communication_facts import CommunicationFacts, facts_of_text

Int64Array = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
_STEP_BITS, _PLACE_BITS = 23, 20
_INHERITED = 0.5
"""A rank is late because of an earlier wait if that wait was at least this share of what others now wait for it."""
_FAR = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Attendance:
    """The collectives of a rank: ``meeting`` numbers them, ``start``/``stop`` are ns of its own clock. A rank has at
    most one entry per collective.
    """

    meeting: Int32Array
    start: Int64Array
    stop: Int64Array

    @property
    def wait(self) -> Int64Array:
        """The time the rank spent in each collective, ns."""
        return self.stop - self.start

    def only(self, wanted: npt.NDArray[np.bool_]) -> Attendance:
        """The entries of ``wanted`` collectives (one flag per collective)."""
        chosen = wanted[self.meeting]
        return Attendance(self.meeting[chosen], self.start[chosen], self.stop[chosen])


@dataclass(frozen=True, eq=False)
class Share:
    """A rank's communication by kind: ``facts`` numbers the kinds, with count, time and exposed time."""

    facts: Int64Array
    count: Int64Array
    time_ns: Int64Array
    exposed_ns: Int64Array


@dataclass(frozen=True, kw_only=True)
class LastOnes:
    """The last rank of each joint collective of two or more ranks: int64 (collectives).

    ``rank`` is −1 when the last two came at once. ``lead_ns`` is its delay after the second-last rank, ``others_ns``
    the total wait of the others, ``transfer_ns`` its own time in the collective, ``ranks`` the number of ranks.
    ``blamed`` is the origin of the delay: usually the last rank; but if that had just waited for another rank in a
    collective of other ranks, it is that one.
    """

    meeting: Int64Array
    rank: Int64Array
    step: Int64Array
    facts: Int64Array
    lead_ns: Int64Array
    others_ns: Int64Array
    transfer_ns: Int64Array
    ranks: Int64Array
    blamed: Int64Array


class Meetings:
    """Collectives matched across ranks by communicator, operation, size, and order within the step.

    Ranks are added one at a time; 20 bytes per collective are kept.
    """

    def __init__(self) -> None:
        self.facts: list[CommunicationFacts] = []
        """All kinds of communication of any rank."""
        self.attended: dict[int, Attendance] = {}
        self.shares: dict[int, Share] = {}
        self._codes: dict[str, int] = {}
        self._keys = np.empty(0, np.int64)
        self._ids = np.empty(0, np.int32)

    def add(self, rank: int, table: Table) -> None:
        """Add the `rank_collectives` of a rank."""
        kinds = self._codes_of(table)
        step = np.asarray(table.data["step"], np.int64) & ((1 << _STEP_BITS) - 1)
        place = np.minimum(np.asarray(table.data["place"], np.int64), (1 << _PLACE_BITS) - 1)
        start, stop = (np.asarray(table.data[name], np.int64) for name in ("start_ns", "stop_ns"))
        self.shares[rank] = _share(kinds, stop - start, np.asarray(table.data["exposed_ns"], np.int64))
        keys = (((kinds << _STEP_BITS) | step) << _PLACE_BITS) | place
        # The first of two equal keys counts.
        keys, first = np.unique(keys, return_index=True)
        self.attended[rank] = Attendance(self._ids_of(keys), start[first], stop[first])

    def _codes_of(self, table: Table) -> Int64Array:
        texts = table.data["facts"]
        if not isinstance(texts, Texts):
            return np.array([self._code(text) for text in table.values("facts")], np.int64)
        distinct, inverse = np.unique(texts.codes, return_inverse=True)
        codes = [self._code(texts.lookup(code)) for code in distinct.tolist()]
        return np.array(codes, np.int64)[inverse.reshape(-1)] if codes else np.empty(0, np.int64)

    def _code(self, text: str | None) -> int:
        code = self._codes.setdefault(text or "", len(self.facts))
        if code == len(self.facts):
            self.facts.append(facts_of_text(text) if text else CommunicationFacts(operation="other"))
        return code

    def _ids_of(self, keys: Int64Array) -> Int32Array:
        """The numbers of collectives with these sorted keys; new keys get new numbers."""
        at = np.searchsorted(self._keys, keys)
        is_new = np.ones(len(keys), bool)
        inside = at < len(self._keys)
        is_new[inside] = self._keys[at[inside]] != keys[inside]
        if is_new.any():
            fresh = np.arange(len(self._keys), len(self._keys) + int(is_new.sum()), dtype=np.int32)
            self._keys = np.insert(self._keys, at[is_new], keys[is_new])
            self._ids = np.insert(self._ids, at[is_new], fresh)
            at = np.searchsorted(self._keys, keys)
        return self._ids[at]

    def __len__(self) -> int:
        """The number of collectives of any rank."""
        return len(self._keys)

    def counts(self) -> Int64Array:
        """The number of ranks in each collective; int64 (collectives)."""
        counts = np.zeros(len(self), np.int64)
        for attendance in self.attended.values():
            counts[attendance.meeting] += 1
        return counts

    def steps(self) -> Int64Array:
        """The step of each collective."""
        return self._by_id((self._keys >> _PLACE_BITS) & ((1 << _STEP_BITS) - 1))

    def kinds(self) -> Int64Array:
        """The kind of each collective: its index in ``facts``."""
        return self._by_id(self._keys >> (_PLACE_BITS + _STEP_BITS))

    def _by_id(self, values: Int64Array) -> Int64Array:
        ordered = np.empty(len(values), np.int64)
        ordered[self._ids] = values
        return ordered

    def joint(self) -> npt.NDArray[np.bool_]:
        """Which collectives are joint and have two or more ranks."""
        is_joint = np.array([facts.is_joint for facts in self.facts], bool)
        return (self.counts() > 1) & is_joint[self.kinds()] if len(self) else np.zeros(0, bool)

    def meeting_ranks(self, wanted: npt.NDArray[np.bool_]) -> Iterator[tuple[int, Attendance]]:
        """Each rank with its ``wanted`` collectives, in order; ranks without any are left out."""
        for rank, attendance in sorted(self.attended.items()):
            part = attendance.only(wanted)
            if len(part.meeting):
                yield rank, part


def _share(kinds: Int64Array, time: Int64Array, exposed: Int64Array) -> Share:
    facts, inverse, count = np.unique(kinds, return_inverse=True, return_counts=True)
    sums = np.zeros((2, len(facts)), np.int64)
    np.add.at(sums[0], inverse.reshape(-1), time)
    np.add.at(sums[1], inverse.reshape(-1), exposed)
    return Share(facts, count.astype(np.int64), sums[0], sums[1])


def last_ones(meetings: Meetings) -> LastOnes:
    """The last rank of each collective, and the wait of the others.

    A joint collective ends on all ranks together, so the rank with the shortest time came last, whatever clocks say.
    """
    joint = meetings.joint()
    count, total = np.zeros(len(meetings), np.int64), np.zeros(len(meetings), np.int64)
    shortest, second = np.full(len(meetings), _FAR), np.full(len(meetings), _FAR)
    last = np.full(len(meetings), -1, np.int64)
    for rank, attendance in meetings.meeting_ranks(joint):
        at, wait = attendance.meeting, attendance.wait
        count[at] += 1
        total[at] += wait
        before = shortest[at]
        is_shorter = wait < before
        second[at] = np.where(is_shorter, before, np.minimum(second[at], wait))
        shortest[at] = np.minimum(before, wait)
        last[at[is_shorter]] = rank
    chosen = np.flatnonzero(joint)
    lead = second[chosen] - shortest[chosen]
    return LastOnes(
        meeting=chosen,
        rank=np.where(lead > 0, last[chosen], -1),
        step=meetings.steps()[chosen],
        facts=meetings.kinds()[chosen],
        lead_ns=lead,
        others_ns=total[chosen] - count[chosen] * shortest[chosen],
        transfer_ns=shortest[chosen],
        ranks=count[chosen],
        blamed=_blamed(
            meetings, joint, last, shortest, second, (total - count * shortest) / np.maximum(count - 1, 1)
        )[chosen],
    )


def _blamed(
    meetings: Meetings,
    joint: npt.NDArray[np.bool_],
    last: Int64Array,
    shortest: Int64Array,
    second: Int64Array,
    usual_wait: npt.NDArray[np.float64],
) -> Int64Array:
    """The rank at the origin of each collective's delay; −1 when the last two came at once.

    A last rank that had just waited in a collective without some of these ranks passes the blame on to the rank it
    waited for, which may pass it on again.
    """
    before = np.arange(len(meetings))
    kinds, steps = meetings.kinds(), meetings.steps()
    members = _Members(meetings)
    for rank, attendance in meetings.meeting_ranks(joint):
        order = np.argsort(attendance.start, kind="stable")
        at, wait = attendance.meeting[order], attendance.wait[order]
        now, then = at[1:], at[:-1]
        earlier_wait = wait[:-1] - shortest[then]
        chosen = (
            (last[now] == rank) & (steps[now] == steps[then]) & (earlier_wait >= _INHERITED * usual_wait[now])
        )
        chosen &= usual_wait[now] > 0
        chosen[chosen] = members.pass_on(kinds[then[chosen]], kinds[now[chosen]])
        before[now[chosen]] = then[chosen]
    for _round in range(len(before).bit_length()):
        before = before[before]
    # Collectives that still pass the blame on form a circle; each counts as its own origin.
    is_origin = before[before] == before
    before = np.where(is_origin, before, np.arange(len(before)))
    return np.where(second[before] > shortest[before], last[before], -1)


class _Members:
    """The ranks of each communicator."""

    def __init__(self, meetings: Meetings) -> None:
        keys = [(*facts.communicator, facts.name) for facts in meetings.facts]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        self._of_kind = np.array([numbers[key] for key in keys], np.int64)
        self._members: list[set[int]] = [set() for _ in numbers]
        for rank, share in meetings.shares.items():
            for number in np.unique(self._of_kind[share.facts]).tolist():
                self._members[number].add(rank)
        self._known: dict[int, bool] = {}

    def pass_on(self, first: Int64Array, second: Int64Array) -> npt.NDArray[np.bool_]:
        """Whether each second kind of communication has ranks that the first one lacks."""
        pairs = self._of_kind[first] * len(self._members) + self._of_kind[second]
        distinct, inverse = np.unique(pairs, return_inverse=True)
        passes = np.array([self._passes(pair) for pair in distinct.tolist()], bool)
        return np.asarray(passes[inverse.reshape(-1)])

    def _passes(self, pair: int) -> bool:
        if pair not in self._known:
            first, second = divmod(pair, len(self._members))
            self._known[pair] = not self._members[second] <= self._members[first]
        return self._known[pair]


def waited_ns(meetings: Meetings, last: LastOnes) -> dict[int, tuple[int, int]]:
    """(number of collectives, total wait for the last rank, ns) of each rank."""
    shortest = np.zeros(len(meetings), np.int64)
    shortest[last.meeting] = last.transfer_ns
    joint = np.zeros(len(meetings), bool)
    joint[last.meeting] = True
    return {
        rank: (len(attendance.meeting), int((attendance.wait - shortest[attendance.meeting]).sum()))
        for rank, attendance in meetings.meeting_ranks(joint)
    }
