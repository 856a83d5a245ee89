"""Shows profiles that know how long each layer of a network takes, and not when: the layers follow each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.event_sink import EventSink
from warpline.model import Flag
from warpline.model.track_factory import TrackSpec


def add_layers(
    sink: EventSink,
    tool: str,
    title: str,
    kind: str,
    layers: Sequence[tuple[str, int]],
    attributes: Mapping[str, Any] | None = None,
) -> None:
    """Add (name, ns) of each layer in the order of execution to one track; their times are flagged as estimated."""
    if not layers:
        return
    process = sink.process(tool, tool)
    track = sink.track(TrackSpec(uri=f"{process.uri}/layers", title=title, role="ranges"), row=process)
    stop = np.cumsum(np.array([length for _name, length in layers], np.int64))
    sink.add(
        track,
        kind,
        np.concatenate([[0], stop[:-1]]).astype(np.int64),
        stop,
        strings(sink, [name for name, _length in layers]),
        flags=int(Flag.ESTIMATED),
        attributes=attributes,
    )


def strings(sink: EventSink, texts: Sequence[str], *, optional: bool = False) -> Any:
    """The string ids of texts; ``optional`` masks those that are empty."""
    ids = np.array([sink.builder.string(clean_text(text)) for text in texts], np.uint32)
    return np.ma.MaskedArray(ids, [not text for text in texts]) if optional else ids
