"""Which names a filter lets pass: one answer for the timeline and for every panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from warpline.storage.columns.strings import Strings
    from warpline_app.state.timeline_state import Filter


def passing_names(strings: Strings, wanted: Filter) -> npt.NDArray[np.int64] | None:
    """String ids of the names that pass, ascending (int64); None where every name does.

    Raises re.error when the expression of the filter is broken.
    """
    if not (wanted.names or wanted.kept_names or wanted.hidden_names):
        return None
    passes = np.ones(len(strings), bool)
    if wanted.names:
        passes[:] = False
        passes[strings.find(wanted.names, regex=wanted.regex, case=wanted.case)] = True
    if wanted.kept_names:
        kept = np.zeros(len(strings), bool)
        kept[_ids(strings, wanted.kept_names)] = True
        passes &= kept
    passes[_ids(strings, wanted.hidden_names)] = False
    return np.flatnonzero(passes).astype(np.int64)


def _ids(strings: Strings, names: tuple[str, ...]) -> npt.NDArray[np.int64]:
    found = [strings.id(name) for name in names]
    return np.array([name for name in found if name is not None], np.int64)
