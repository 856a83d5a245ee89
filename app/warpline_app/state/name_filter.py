"""Applies the name filter; timeline and panels share the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from warpline.storage.columns.strings import Strings
    from warpline_app.state.timeline_state import Filter


def passing_names(strings: Strings, names_filter: Filter) -> npt.NDArray[np.int64] | None:
    """String ids of the names that pass the filter, ascending (int64); None when every name passes.

    Raises re.error for an invalid regular expression.
    """
    if not (names_filter.names or names_filter.kept_names or names_filter.hidden_names):
        return None
    passes = np.ones(len(strings), bool)
    if names_filter.names:
        passes[:] = False
        passes[strings.find(names_filter.names, regex=names_filter.regex, case=names_filter.case)] = True
    if names_filter.kept_names:
        kept = np.zeros(len(strings), bool)
        kept[_ids(strings, names_filter.kept_names)] = True
        passes &= kept
    passes[_ids(strings, names_filter.hidden_names)] = False
    return np.flatnonzero(passes).astype(np.int64)


def _ids(strings: Strings, names: tuple[str, ...]) -> npt.NDArray[np.int64]:
    ids = (strings.id(name) for name in names)
    return np.array([i for i in ids if i is not None], np.int64)
