"""Turns PyTorch's records into operators and ranges below their threads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model.links import FORWARD_BACKWARD
from warpline.recording.agent.reported_sources import add_agent_source
from warpline.recording.session import LATEST_NS
from warpline.recording.sources.torch.autograd import Numbered, forward_of
from warpline.recording.sources.torch.records import (
    FRAMEWORK_OPERATOR,
    FRAMEWORK_SHAPED,
    framework_operator,
    framework_shaped,
)
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.spool.string_columns import capture_strings, distinct
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]
_OPERATOR = re.compile(r"::|Backward\d*$|^detach_?$")
"""An operator (``aten::add``, and two that PyTorch names without a library) or an autograd node (``AddmmBackward0``);
any other name is a ``record_function``.
"""


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add operators, and ranges of ``record_function`` in scripts or in PyTorch itself."""
    for spool in spools:
        if spool.header.producer == "agent":
            _add(translation, spool, builder)
    add_agent_source(
        translation, spools, builder, name="torch", never_used=english("no recorded process imported PyTorch")
    )


@dataclass(frozen=True, kw_only=True)
class _Operators:
    """Operators of one process [n]."""

    numbered: Numbered
    stop: Int64Array
    name: npt.NDArray[np.uint32]
    tid: npt.NDArray[np.integer]
    shapes: npt.NDArray[np.uint32]
    types: npt.NDArray[np.uint32]
    flops: Int64Array


def _read(spool: SpoolFile) -> _Operators:
    """The operators of a spool file, without records with invalid times."""
    plain = spool.records(FRAMEWORK_OPERATOR, framework_operator)
    values = np.zeros(len(plain.values), framework_shaped)
    for name in framework_operator.names or ():
        values[name] = plain.values[name]
    values["tid"] = plain.tid
    values = np.concatenate([values, spool.records(FRAMEWORK_SHAPED, framework_shaped).values])
    start, stop = values["start_ns"].astype(np.int64), values["end_ns"].astype(np.int64)
    good = (start > 0) & (start <= stop) & (stop < LATEST_NS)
    values, start, stop = values[good], start[good], stop[good]
    numbered = Numbered(start, values["sequence"].copy(), values["thread"].astype(np.int64))
    columns = {name: values[name].copy() for name in ("name", "tid", "shapes", "types", "flops")}
    return _Operators(numbered=numbered, stop=stop, **columns)


def _add(translation: Translation, spool: SpoolFile, builder: CaptureBuilder) -> None:
    operators = _read(spool)
    start = operators.numbered.start
    if not len(start):
        return
    thread = translation.threads.lookup(spool.header.pid, operators.tid, start)
    is_operator = _are_operators(spool, operators.name)
    forward, backward = forward_of(operators.numbered)
    numbered = np.zeros(len(start), bool)
    numbered[forward] = numbered[backward] = True
    ids = np.full(len(start), -1, np.int64)
    for number in np.unique(thread).tolist():
        for kind, path, chosen in (("operator", "operators", is_operator), ("range", "ranges", ~is_operator)):
            rows = np.flatnonzero((thread == number) & chosen)
            if not len(rows):
                continue
            attributes: dict[str, npt.ArrayLike] = {}
            if numbered[rows].any():
                numbers = np.ma.MaskedArray(operators.numbered.number[rows], ~numbered[rows])
                attributes["sequence_number"] = numbers
            if operators.shapes[rows].any():
                attributes["input_shapes"] = _texts(spool, builder, operators.shapes[rows])
                if kind == "operator":
                    attributes["input_types"] = _texts(spool, builder, operators.types[rows])
                    attributes["flops"] = np.ma.masked_equal(operators.flops[rows], 0)
            first = builder.add_events(
                translation.below_thread(number, path),
                kind,
                translation.capture_time(start[rows]),
                operators.stop[rows] - start[rows],
                capture_strings(spool, builder, operators.name[rows]),
                attributes=attributes,
            )
            ids[rows] = first + np.arange(len(rows))
    if len(forward):
        builder.add_links(FORWARD_BACKWARD, ids[forward], ids[backward])


def _texts(
    spool: SpoolFile, builder: CaptureBuilder, ids: npt.NDArray[np.uint32]
) -> np.ma.MaskedArray[Any, Any]:
    """String ids of the capture [n], masked where nothing was recorded (0)."""
    return np.ma.MaskedArray(capture_strings(spool, builder, ids), ids == 0)


def _are_operators(spool: SpoolFile, names: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Which names are operators [n]."""
    distinct_names, inverse = distinct(names)
    matches = np.array([bool(_OPERATOR.search(spool.text(name))) for name in distinct_names.tolist()], bool)
    return matches[inverse]
