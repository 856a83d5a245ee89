"""Values whose fields are columns: numpy arrays with one entry per row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Columns = TypeVar("_Columns", bound="DataclassInstance")


def take(columns: _Columns, rows: npt.NDArray[np.integer[Any] | np.bool_] | slice) -> _Columns:
    """Some of the rows, by indexes, mask or slice."""
    return type(columns)(**{field.name: getattr(columns, field.name)[rows] for field in fields(columns)})


def join(kind: type[_Columns], parts: Sequence[_Columns]) -> _Columns:
    """The rows of all parts, one part after the other; int64 columns without rows where there are none."""
    if not parts:
        return kind(**{field.name: np.empty(0, np.int64) for field in fields(kind)})
    return kind(
        **{
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(kind)
        }
    )
