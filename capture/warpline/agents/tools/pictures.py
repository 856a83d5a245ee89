"""The tool that draws the timeline."""

from __future__ import annotations

from typing import Any

from warpline.agents.session import ToolCall
from warpline.agents.tool import CAPTURE, RANGE, TRACK, Tool, ToolArgument, ToolPicture
from warpline.library.selecting import range_ns


def _render(call: ToolCall, given: dict[str, Any]) -> ToolPicture:
    reader = call.reader(given["capture"])
    data = call.session.pictures().draw(
        reader.path,
        range_ns(given["range"]),
        [] if given["track"] is None else [given["track"]],
        (given["width"], given["height"]),
        given["theme"],
        is_cancelled=call.cancelled.is_set,
    )
    return ToolPicture(bytes(data))


TOOLS = (
    Tool(
        name="render",
        description="A picture (PNG) of the timeline.",
        run=_render,
        arguments={
            "capture": CAPTURE,
            "range": RANGE,
            "track": TRACK,
            "width": ToolArgument("integer", default=1000, least=200, most=2000),
            "height": ToolArgument("integer", default=500, least=100, most=2000),
            "theme": ToolArgument("string", default="light", choices=("light", "dark")),
        },
    ),
)
