"""The tool that compares two captures."""

from __future__ import annotations

import re
from typing import Any

from warpline.agents.session import ToolCall
from warpline.agents.texts import joined
from warpline.agents.tool import Tool, ToolArgument
from warpline.model.errors import UsageError

_GAP = re.compile(" {2,}")
_COMMAND = ("command line:", "Command:")


def _compare(call: ToolCall, given: dict[str, Any]) -> str:
    from warpline.analysis.compare.alignment import Align
    from warpline.analysis.compare.comparison import CaptureRun, Choices, compare
    from warpline.analysis.compare.comparison_text import comparison_lines
    from warpline.library.selecting import range_ns, select

    runs = []
    for side in ("a", "b"):
        reader = call.reader(given[side])
        ends = range_ns(given[f"range_{side}"])
        select(reader.storage, reader.path, ends)
        runs.append(CaptureRun(reader.storage, given[side], ends))
    if runs[0].capture is runs[1].capture and runs[0].range_ns == runs[1].range_ns:
        raise UsageError("a and b are the same capture")
    reports = () if given["report"] is None else (given["report"],)
    choices = Choices(align=Align(given["align"]), range_name=given["range_name"], reports=reports)
    comparison = compare(runs[:1], runs[1:], choices, call.cancelled.is_set)
    lines = comparison_lines(comparison, is_markdown=False)
    if call.session.privacy.is_redacted:
        lines = [line for line in lines if not line.startswith(_COMMAND)]
    return joined(_GAP.sub("\t", line.strip()) for line in lines)


_SIDE = ToolArgument("string", "capture")

TOOLS = (
    Tool(
        name="compare",
        description="Where two captures differ, cause by cause; whether a predicted gain came true. a before, b after.",
        run=_compare,
        arguments={
            "a": _SIDE,
            "b": _SIDE,
            "align": ToolArgument("string", default="auto", choices=("auto", "step", "range", "start")),
            "range_a": ToolArgument("string"),
            "range_b": ToolArgument("string"),
            "range_name": ToolArgument("string", "use ranges of this name as steps"),
            "report": ToolArgument("string", "compare this report row by row too"),
        },
        required=("a", "b"),
    ),
)
