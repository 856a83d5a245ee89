"""Operators that PyTorch told through ITT -> operators and ranges on rows of their threads."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.recording.agent.reported_sources import add_agent_source
from warpline.recording.sources.torch.records import FRAMEWORK_OPERATOR, framework_operator
from warpline.recording.spool.reader import LATEST_NS, SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.spool.string_columns import capture_strings, distinct
from warpline.storage import CaptureBuilder

_OPERATOR = re.compile(r"::|Backward\d*$|^detach_?$")
"""An operator (``aten::add``, and two that PyTorch names without a library) or a node of autograd (``AddmmBackward0``);
what else comes is a ``record_function``.
"""


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add operators, and ranges that scripts or PyTorch itself name by ``record_function``."""
    for spool in spools:
        if spool.header.producer == "agent":
            _add(translation, spool, builder)
    add_agent_source(translation, spools, builder, "torch", english("no recorded process imported PyTorch"))


def _add(translation: Translation, spool: SpoolFile, builder: CaptureBuilder) -> None:
    found = spool.records(FRAMEWORK_OPERATOR, framework_operator)
    values = found.values
    start, stop = values["start_ns"].astype(np.int64), values["end_ns"].astype(np.int64)
    good = (start > 0) & (start <= stop) & (stop < LATEST_NS)
    if not good.any():
        return
    values, start, stop = values[good], start[good], stop[good]
    thread = translation.threads.lookup(spool.header.pid, found.tid[good], start)
    is_operator = _operators(spool, values["name"])
    for one in np.unique(thread).tolist():
        for kind, path, chosen in (("operator", "operators", is_operator), ("range", "ranges", ~is_operator)):
            rows = np.flatnonzero((thread == one) & chosen)
            if len(rows):
                builder.add_events(
                    translation.below_thread(one, path),
                    kind,
                    translation.capture_time(start[rows]),
                    stop[rows] - start[rows],
                    capture_strings(spool, builder, values["name"][rows]),
                )


def _operators(spool: SpoolFile, names: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Which names are those of operators [n]."""
    found, inverse = distinct(names)
    known = np.array([bool(_OPERATOR.search(spool.text(name))) for name in found.tolist()], bool)
    return known[inverse]
