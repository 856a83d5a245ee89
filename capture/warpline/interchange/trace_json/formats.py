"""Formats of the Chrome JSON family by name: how their events are told apart and made into columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpline.interchange.paddle.columns import PADDLE_EXTRACTORS, paddle_route
from warpline.interchange.torch.columns import CLAIMED, TORCH_EXTRACTORS, torch_route
from warpline.interchange.trace_json.piece_columns import GENERIC_EXTRACTORS, Extractor, Route, generic_route


@dataclass(frozen=True)
class TraceFormat:
    """See `trace_groups.split_piece` for the meaning of the parts."""

    route: Route
    extractors: Mapping[str, Extractor]
    claimed: frozenset[str] = frozenset()


FORMATS: Mapping[str, TraceFormat] = {
    "chrome": TraceFormat(generic_route, GENERIC_EXTRACTORS),
    "torch": TraceFormat(torch_route, TORCH_EXTRACTORS, CLAIMED),
    "paddle": TraceFormat(paddle_route, PADDLE_EXTRACTORS, CLAIMED),
}
