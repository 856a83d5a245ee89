"""Turns Paddle's events into operators and ranges below their threads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpline.i18n import english
from warpline.model import AttributeSpec, KindSpec
from warpline.recording.agent.reported_sources import add_agent_source
from warpline.recording.session import LATEST_NS
from warpline.recording.sources.paddle.records import FRAMEWORK_EVENT, framework_event
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.spool.string_columns import capture_strings
from warpline.storage import CaptureBuilder

_OPERATORS = {0: "Operator", 8: "OperatorInner", 15: "DygraphKernelLaunch", 16: "StaticKernelLaunch"}
_RANGES = {7: "UserDefined", 12: "Communication"}
"""Names of Paddle's types of events, by Paddle's numbers (`warpline.analysis.structure.event_types`)."""
_CATEGORY = AttributeSpec("category", "string", "Category")


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add Paddle's operators with their parts, and its other ranges."""
    is_used = False
    for spool in spools:
        if spool.header.producer != "agent":
            continue
        events = spool.records(FRAMEWORK_EVENT, framework_event)
        start, stop = events.values["start_ns"].astype(np.int64), events.values["end_ns"].astype(np.int64)
        good = (start > 0) & (start <= stop) & (stop < LATEST_NS)
        if not good.any():
            continue
        if not is_used:
            is_used = True
            builder.add_kind(KindSpec("operator", "Operator", "range", "operator", (_CATEGORY,)))
        values, start, stop = events.values[good], start[good], stop[good]
        thread = translation.threads.lookup(spool.header.pid, events.tid[good], start)
        kinds = (("operator", "operators", _OPERATORS), ("range", "ranges", _RANGES))
        for number in np.unique(thread).tolist():
            for kind, path, names in kinds:
                rows = np.flatnonzero((thread == number) & np.isin(values["type"], list(names)))
                if not len(rows):
                    continue
                texts = np.zeros(max(names) + 1, np.uint32)
                texts[list(names)] = builder.strings(list(names.values()))
                builder.add_events(
                    translation.below_thread(number, path),
                    kind,
                    translation.capture_time(start[rows]),
                    stop[rows] - start[rows],
                    capture_strings(spool, builder, values["name"][rows].copy()),
                    attributes={"category": texts[values["type"][rows]]},
                )
    add_agent_source(
        translation, spools, builder, name="paddle", never_used=english("no recorded process imported Paddle")
    )
