"""The collectives of all ranks put side by side: who came when, who came last, what the others lost."""

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
"""A rank that waited this part of what others wait for it now is late because of that."""
_FAR = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Attendance:
    """What a rank took part in, one entry each: ``meeting`` numbers collectives, ``start``/``stop`` are ns of its
    own clock. Of one collective a rank has one entry at most.
    """

    meeting: Int32Array
    start: Int64Array
    stop: Int64Array

    @property
    def wait(self) -> Int64Array:
        """ns that the rank was in each."""
        return self.stop - self.start

    def only(self, wanted: npt.NDArray[np.bool_]) -> Attendance:
        """Those of the collectives that are ``wanted`` (one flag for each collective)."""
        chosen = wanted[self.meeting]
        return Attendance(self.meeting[chosen], self.start[chosen], self.stop[chosen])


@dataclass(frozen=True, eq=False)
class Share:
    """What a rank did of one kind of communication: ``facts`` numbers kinds, how often, how long, how long exposed."""

    facts: Int64Array
    count: Int64Array
    time_ns: Int64Array
    exposed_ns: Int64Array


@dataclass(frozen=True)
class LastOnes:
    """Who came last to each joint collective of two ranks or more: int64 (collectives).

    ``rank`` is −1 where the last two came at once. ``lead_ns`` is how much later than the last but one it came,
    ``others_ns`` what all the others together waited for it, ``step`` the step it happened in, ``facts`` its kind,
    ``transfer_ns`` how long the last one was in it, ``ranks`` how many took part. ``blamed`` is who began it: the rank
    for which the last one had waited itself, in a collective of other ranks just before; mostly it is the last one.
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
    """Collectives matched across ranks by communicator, what they do, size, and order within the step.

    Ranks are added one at a time; of each only its times are kept, 20 bytes a collective.
    """

    def __init__(self) -> None:
        self.facts: list[CommunicationFacts] = []
        """Every kind of communication that any rank has."""
        self.attended: dict[int, Attendance] = {}
        self.shares: dict[int, Share] = {}
        self._codes: dict[str, int] = {}
        self._keys = np.empty(0, np.int64)
        self._ids = np.empty(0, np.int32)

    def add(self, rank: int, table: Table) -> None:
        """The `rank_collectives` of a rank."""
        what = self._codes_of(table)
        step = np.asarray(table.data["step"], np.int64) & ((1 << _STEP_BITS) - 1)
        place = np.minimum(np.asarray(table.data["place"], np.int64), (1 << _PLACE_BITS) - 1)
        start, stop = (np.asarray(table.data[name], np.int64) for name in ("start_ns", "stop_ns"))
        self.shares[rank] = _share(what, stop - start, np.asarray(table.data["exposed_ns"], np.int64))
        keys = (((what << _STEP_BITS) | step) << _PLACE_BITS) | place
        # Of two that cannot be told apart the first counts.
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
        found = self._codes.get(text or "")
        if found is None:
            found = self._codes[text or ""] = len(self.facts)
            self.facts.append(facts_of_text(text) if text else CommunicationFacts("other"))
        return found

    def _ids_of(self, keys: Int64Array) -> Int32Array:
        """Numbers of collectives with these (sorted) keys; those that no rank had before get new ones."""
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
        """How many collectives any rank has."""
        return len(self._keys)

    def counts(self) -> Int64Array:
        """How many ranks each collective has; int64 (collectives)."""
        found = np.zeros(len(self), np.int64)
        for one in self.attended.values():
            found[one.meeting] += 1
        return found

    def steps(self) -> Int64Array:
        """The step of each collective."""
        return self._by_id((self._keys >> _PLACE_BITS) & ((1 << _STEP_BITS) - 1))

    def kinds(self) -> Int64Array:
        """What each collective is: its place in ``facts``."""
        return self._by_id(self._keys >> (_PLACE_BITS + _STEP_BITS))

    def _by_id(self, values: Int64Array) -> Int64Array:
        found = np.empty(len(values), np.int64)
        found[self._ids] = values
        return found

    def joint(self) -> npt.NDArray[np.bool_]:
        """Which collectives two ranks or more have that end on all of them at once."""
        is_joint = np.array([facts.is_joint for facts in self.facts], bool)
        return (self.counts() > 1) & is_joint[self.kinds()] if len(self) else np.zeros(0, bool)

    def meeting_ranks(self, wanted: npt.NDArray[np.bool_]) -> Iterator[tuple[int, Attendance]]:
        """Each rank with what it attended of the ``wanted`` collectives, by rank; ranks without any are left out."""
        for rank, one in sorted(self.attended.items()):
            part = one.only(wanted)
            if len(part.meeting):
                yield rank, part


def _share(what: Int64Array, time: Int64Array, exposed: Int64Array) -> Share:
    facts, inverse, count = np.unique(what, return_inverse=True, return_counts=True)
    sums = np.zeros((2, len(facts)), np.int64)
    np.add.at(sums[0], inverse.reshape(-1), time)
    np.add.at(sums[1], inverse.reshape(-1), exposed)
    return Share(facts, count.astype(np.int64), sums[0], sums[1])


def last_ones(found: Meetings) -> LastOnes:
    """Who came last to each collective, and what that cost the others.

    Of joint collectives the ranks end together, so who is in it for the shortest time came last, whatever the clocks
    say.
    """
    joint = found.joint()
    count, total = np.zeros(len(found), np.int64), np.zeros(len(found), np.int64)
    shortest, second = np.full(len(found), _FAR), np.full(len(found), _FAR)
    last = np.full(len(found), -1, np.int64)
    for rank, one in found.meeting_ranks(joint):
        at, wait = one.meeting, one.wait
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
        chosen,
        np.where(lead > 0, last[chosen], -1),
        found.steps()[chosen],
        found.kinds()[chosen],
        lead,
        total[chosen] - count[chosen] * shortest[chosen],
        shortest[chosen],
        count[chosen],
        _blamed(found, joint, last, shortest, second, (total - count * shortest) / np.maximum(count - 1, 1))[
            chosen
        ],
    )


def _blamed(
    found: Meetings,
    joint: npt.NDArray[np.bool_],
    last: Int64Array,
    shortest: Int64Array,
    second: Int64Array,
    usual_wait: npt.NDArray[np.float64],
) -> Int64Array:
    """Who began each collective's lateness; −1 where the last two came at once.

    A rank that came last because it had waited for another one just before, in a collective that not all of these
    ranks took part in, passes the blame on to that one, which may pass it on again.
    """
    before = np.arange(len(found))
    kinds, steps = found.kinds(), found.steps()
    companies = _Companies(found)
    for rank, one in found.meeting_ranks(joint):
        order = np.argsort(one.start, kind="stable")
        at, wait = one.meeting[order], one.wait[order]
        now, then = at[1:], at[:-1]
        its_wait = wait[:-1] - shortest[then]
        chosen = (
            (last[now] == rank) & (steps[now] == steps[then]) & (its_wait >= _INHERITED * usual_wait[now])
        )
        chosen &= usual_wait[now] > 0
        chosen[chosen] = companies.pass_on(kinds[then[chosen]], kinds[now[chosen]])
        before[now[chosen]] = then[chosen]
    for _round in range(len(before).bit_length()):
        before = before[before]
    # What still passes the blame on goes round in a circle, and began by itself.
    begun = before[before] == before
    before = np.where(begun, before, np.arange(len(before)))
    return np.where(second[before] > shortest[before], last[before], -1)


class _Companies:
    """Which ranks each communicator has."""

    def __init__(self, found: Meetings) -> None:
        keys = [(*facts.communicator, facts.name) for facts in found.facts]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        self._of_kind = np.array([numbers[key] for key in keys], np.int64)
        self._members: list[set[int]] = [set() for _ in numbers]
        for rank, share in found.shares.items():
            for number in np.unique(self._of_kind[share.facts]).tolist():
                self._members[number].add(rank)
        self._known: dict[int, bool] = {}

    def pass_on(self, first: Int64Array, second: Int64Array) -> npt.NDArray[np.bool_]:
        """Whether each second kind of communication has ranks that the first has not."""
        pairs = self._of_kind[first] * len(self._members) + self._of_kind[second]
        distinct, inverse = np.unique(pairs, return_inverse=True)
        found = np.array([self._passes(pair) for pair in distinct.tolist()], bool)
        return np.asarray(found[inverse.reshape(-1)])

    def _passes(self, pair: int) -> bool:
        found = self._known.get(pair)
        if found is None:
            first, second = divmod(pair, len(self._members))
            found = self._known[pair] = not self._members[second] <= self._members[first]
        return found


def waited_ns(found: Meetings, last: LastOnes) -> dict[int, tuple[int, int]]:
    """(collectives it took part in, what it waited in them for the last one to come, ns) of each rank."""
    shortest = np.zeros(len(found), np.int64)
    shortest[last.meeting] = last.transfer_ns
    joint = np.zeros(len(found), bool)
    joint[last.meeting] = True
    return {
        rank: (len(one.meeting), int((one.wait - shortest[one.meeting]).sum()))
        for rank, one in found.meeting_ranks(joint)
    }
