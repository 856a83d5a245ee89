"""Which row of one capture is that of another: by what it is, not by the numbers a run gave it."""

from __future__ import annotations

import re

from warpline.analysis.compare.names import stable_name
from warpline_app.timeline.model.row import Content, TimelineRow
from warpline_app.timeline.model.rows import RowTree

_NUMBERS = re.compile(r"\d+")


class RowMatch:
    """Counterparts of rows, found level by level and remembered.

    Below rows that belong together those of the same kind belong together: of equal title first, then of titles that
    differ in numbers alone (threads, processes, streams), then in the order in which they stand, so a main thread
    stands against a main thread and the first stream against the first.
    """

    def __init__(self, a: RowTree, b: RowTree) -> None:
        self._trees = (a, b)
        self._known: dict[tuple[str, str], tuple[int, dict[str, str], dict[str, str]]] = {}

    def counterpart(self, side: int, key: str) -> str | None:
        """The key of the row of the other side that belongs to a row of this one (0: a, 1: b); None for none."""
        row = self._trees[side].get(key)
        if row is None:
            return None
        if not key:
            return ""
        above = row.parent
        # What is folded into "n more" belongs to the row above that.
        while above is not None and above.content is Content.MORE:
            above = above.parent
        parent_key = "" if above is None else above.key
        other_parent = self.counterpart(side, parent_key) if parent_key else ""
        if other_parent is None:
            return None
        keys = (parent_key, other_parent) if side == 0 else (other_parent, parent_key)
        return self._children(*keys)[side].get(key)

    def _children(self, key_a: str, key_b: str) -> tuple[dict[str, str], dict[str, str]]:
        """Matches among the children of two rows that belong together: from a to b, and back."""
        rows = [self._children_of(side, key) for side, key in ((0, key_a), (1, key_b))]
        count = len(rows[0]) * 65_536 + len(rows[1])
        known = self._known.get((key_a, key_b))
        if known is None or known[0] != count:
            there = dict(_pairs(rows[0], rows[1]))
            known = self._known[key_a, key_b] = (count, there, {b: a for a, b in there.items()})
        return known[1], known[2]

    def _children_of(self, side: int, key: str) -> list[TimelineRow]:
        tree = self._trees[side]
        row = tree.get(key) if key else tree.root
        if row is None:
            return []
        return [
            below
            for child in row.children
            for below in ([child, *child.children] if child.content is Content.MORE else [child])
        ]


def _pairs(a: list[TimelineRow], b: list[TimelineRow]) -> list[tuple[str, str]]:
    """Rows that belong together, as keys, the surest first."""
    found: list[tuple[str, str]] = []
    left_a, left_b = list(a), list(b)
    for alike in (_same_title, _same_but_for_numbers, _same_kind):
        waiting: dict[tuple[str, ...], list[TimelineRow]] = {}
        for row in left_b:
            waiting.setdefault(alike(row), []).append(row)
        unmatched = []
        for row in left_a:
            others = waiting.get(alike(row))
            if others:
                found.append((row.key, others.pop(0).key))
            else:
                unmatched.append(row)
        left_a = unmatched
        left_b = [row for rows in waiting.values() for row in rows]
    return found


def _same_title(row: TimelineRow) -> tuple[str, ...]:
    return row.role, row.content.value, row.title


def _same_but_for_numbers(row: TimelineRow) -> tuple[str, ...]:
    return row.role, row.content.value, _NUMBERS.sub("#", stable_name(row.title))


def _same_kind(row: TimelineRow) -> tuple[str, ...]:
    # Names and counters of another title are other things; a thread or a stream is one whatever it is called.
    if row.content in (Content.SUBSET, Content.COUNTER) or row.role in ("names", "more"):
        return row.role, row.content.value, row.title
    return (row.role,)
