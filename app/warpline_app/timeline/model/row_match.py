"""Matches rows of two captures by what they are, not by process or thread ids."""

from __future__ import annotations

import re

from warpline.analysis.compare.names import stable_name
from warpline_app.timeline.model.row import Content, TimelineRow
from warpline_app.timeline.model.rows import RowTree

_NUMBERS = re.compile(r"\d+")


class RowMatch:
    """Counterparts of rows, matched level by level and cached.

    Among the children of matching rows, rows of the same kind match: by equal title first, then by titles that differ
    in numbers only (threads, processes, streams), then by order. So main threads match each other, and first streams.
    """

    def __init__(self, a: RowTree, b: RowTree) -> None:
        self._trees = (a, b)
        self._known: dict[tuple[str, str], tuple[int, dict[str, str], dict[str, str]]] = {}

    def counterpart(self, side: int, key: str) -> str | None:
        """The key of the other side's row that matches a row of this side (0: a, 1: b), or None."""
        row = self._trees[side].get(key)
        if row is None:
            return None
        if not key:
            return ""
        above = row.parent
        # Rows collapsed into "n more" match through their parent.
        while above is not None and above.content is Content.MORE:
            above = above.parent
        parent_key = "" if above is None else above.key
        other_parent = self.counterpart(side, parent_key) if parent_key else ""
        if other_parent is None:
            return None
        keys = (parent_key, other_parent) if side == 0 else (other_parent, parent_key)
        return self._children(*keys)[side].get(key)

    def _children(self, key_a: str, key_b: str) -> tuple[dict[str, str], dict[str, str]]:
        """Matches among the children of two matching rows: from a to b, and back."""
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
    """Keys of matching rows, most certain first."""
    pairs: list[tuple[str, str]] = []
    left_a, left_b = list(a), list(b)
    for alike in (_same_title, _same_but_for_numbers, _same_kind):
        waiting: dict[tuple[str, ...], list[TimelineRow]] = {}
        for row in left_b:
            waiting.setdefault(alike(row), []).append(row)
        unmatched = []
        for row in left_a:
            others = waiting.get(alike(row))
            if others:
                pairs.append((row.key, others.pop(0).key))
            else:
                unmatched.append(row)
        left_a = unmatched
        left_b = [row for rows in waiting.values() for row in rows]
    return pairs


def _same_title(row: TimelineRow) -> tuple[str, ...]:
    return row.role, row.content.value, row.title


def _same_but_for_numbers(row: TimelineRow) -> tuple[str, ...]:
    return row.role, row.content.value, _NUMBERS.sub("#", stable_name(row.title))


def _same_kind(row: TimelineRow) -> tuple[str, ...]:
    # Names and counters with another title differ; threads and streams are alike whatever their title.
    if row.content in (Content.SUBSET, Content.COUNTER) or row.role in ("names", "more"):
        return row.role, row.content.value, row.title
    return (row.role,)
