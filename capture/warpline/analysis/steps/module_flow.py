"""The order of module calls: which module follows which inside the same call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nesting import flat_parents
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import combine_keys
from warpline.analysis.structure.modules import MODULE_KINDS, module_calls

Int64Array = npt.NDArray[np.int64]
NOBODY = -1


@dataclass(frozen=True, eq=False)
class ModuleFlow:
    """Consecutive module calls [n] by name (string ids).

    Inside ``caller`` (`NOBODY`: none), a call of ``second`` followed one of ``first`` ``count`` times.
    """

    caller: Int64Array
    first: Int64Array
    second: Int64Array
    count: Int64Array

    def inside(self, caller: int) -> list[tuple[int, int, int]]:
        """(first, second, count) inside one module, the most frequent first."""
        rows = np.flatnonzero(self.caller == caller)
        rows = rows[np.argsort(-self.count[rows], kind="stable")]
        columns = (column[rows].tolist() for column in (self.first, self.second, self.count))
        return list(zip(*columns, strict=True))


def module_flow(view: View) -> ModuleFlow:
    """The order of the selected calls, all threads together."""
    parts: list[tuple[Int64Array, Int64Array, Int64Array]] = []
    for kind in MODULE_KINDS:
        for _thread, calls in module_calls(view, kind):
            parent, name = flat_parents(calls), view.names(calls.row).astype(np.int64)
            order = np.lexsort((calls.start, parent))
            before, after = order[:-1], order[1:]
            together = parent[before] == parent[after]
            before, after = before[together], after[together]
            caller = np.where(parent[before] >= 0, name[np.maximum(parent[before], 0)], NOBODY)
            parts.append((caller, name[before], name[after]))
    if not parts:
        none = np.empty(0, np.int64)
        return ModuleFlow(none, none, none, none)
    caller, first, second = (np.concatenate(column) for column in zip(*parts, strict=True))
    key, places = combine_keys(caller, first, second)
    return ModuleFlow(
        caller[places],
        first[places],
        second[places],
        np.bincount(key, minlength=len(places)).astype(np.int64),
    )
