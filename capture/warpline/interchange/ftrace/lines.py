"""Lines of ftrace's text, as the kernel, trace-cmd, atrace and systrace write it."""

from __future__ import annotations

import re
from typing import NamedTuple

_LINE = re.compile(
    r"\s*(?P<comm>\S.{0,40}?|<\.\.\.>)-(?P<tid>\d{1,10})\s+(?:\(\s*(?P<process>\d{1,10}|-+)\s*\)\s+)?\[(?P<cpu>\d{1,6})\]\s+"
    r"(?:[^\s:]{1,12}\s+)?(?P<time>\d{1,12}\.\d{1,9}):\s+(?P<event>\w{1,80}):\s*(?P<fields>.*)"
)


class KernelLine(NamedTuple):
    """An event. ``process`` is 0 where it is not known."""

    comm: str
    tid: int
    process: int
    cpu: int
    time: str
    event: str
    fields: str


def parse_line(line: str) -> KernelLine | None:
    """The event of a line; None for another line."""
    match = _LINE.match(line)
    if match is None:
        return None
    process = match["process"]
    fields = match["fields"].removesuffix("\\n\\").rstrip()
    return KernelLine(
        match["comm"],
        int(match["tid"]),
        int(process) if process and process.isdecimal() else 0,
        int(match["cpu"]),
        match["time"],
        match["event"],
        fields,
    )
