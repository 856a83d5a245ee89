"""The text of ``perf script``: a line for each sample, its callers below it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from warpline.interchange.framework.columns import clean_text

_MOST_FRAMES = 1024
_MOST_KNOWN = 1 << 16
"""Number of lines whose frames are cached: those of hot code recur."""
_HEAD = re.compile(
    r"(?P<comm>\S.{0,60}?)?\s+(?P<first>-?\d{1,10})(?:/(?P<second>-?\d{1,10}))?\s+(?:\[(?P<cpu>\d{1,6})\]\s+)?"
    r"(?P<time>\d{1,12}\.\d{1,9}):\s+(?:(?P<period>\d{1,19})\s+)?(?P<event>[^\s:][^\s]{0,100}?):(?:\s+(?P<rest>.*))?"
)
_BARE = re.compile(r"(?P<first>\d{1,10})/(?P<second>\d{1,10})\s+(?P<rest>.*)")
_FRAME = re.compile(r"\s+(?P<address>[0-9a-f]{1,16})\s+(?P<symbol>.*?)(?:\s+\((?P<file>.*)\))?\s*")
_OFFSET = re.compile(r"\+0x[0-9a-f]+$")


class PerfSample(NamedTuple):
    """A sample; ``frames`` from the innermost one. ``process``, ``cpu``: -1 where not printed."""

    comm: str
    process: int
    thread: int
    cpu: int
    time: str
    period: int
    event: str
    rest: str
    frames: list[str]


class OtherLine(NamedTuple):
    """A line that is no sample."""

    text: str


def parse_head(line: str) -> PerfSample | None:
    """The sample that a line begins; None for another line."""
    match = _HEAD.fullmatch(line)
    if match is None and (bare := _BARE.fullmatch(line)):
        match = _HEAD.fullmatch(f":{bare['second']} {line}")
    if match is None:
        return None
    has_process = match["second"] is not None
    return PerfSample(
        match["comm"] or "",
        int(match["first"]) if has_process else -1,
        int(match["second"] if has_process else match["first"]),
        int(match["cpu"]) if match["cpu"] else -1,
        match["time"],
        int(match["period"] or 1),
        match["event"].rstrip(":"),
        match["rest"] or "",
        [],
    )


def frame_text(line: str) -> str | None:
    """``malloc [libc.so.6]`` for a line of a stack; None for another line."""
    match = _FRAME.fullmatch(line)
    if match is None:
        return None
    symbol, file = _OFFSET.sub("", match["symbol"]), match["file"] or ""
    if symbol in ("", "[unknown]"):
        symbol = ""
    name = file.rpartition("/")[2].strip("[]") if file not in ("", "[unknown]") else ""
    if not symbol:
        return f"[{name}]" if name else "[unknown]"
    return f"{symbol} [{name}]" if name else symbol


class FrameTexts(dict[str, str | None]):
    """`frame_text` of lines that a stack may go on with; None for a line that begins a sample, or another one."""

    def __missing__(self, line: str) -> str | None:
        frame = frame_text(line)
        if frame is not None:
            frame = None if parse_head(line) is not None else clean_text(frame)
        if len(self) >= _MOST_KNOWN:
            self.clear()
        self[line] = frame
        return frame


def samples_of(lines: Iterable[str]) -> Iterator[PerfSample | OtherLine]:
    """The samples of a text with their frames, and the other lines; blank and ``#`` lines are left out."""
    sample: PerfSample | None = None
    known = FrameTexts()
    for line in lines:
        if sample is not None and line[:1] in (" ", "\t") and (frame := known[line]) is not None:
            if len(sample.frames) < _MOST_FRAMES:
                sample.frames.append(frame)
            continue
        following = parse_head(line.strip()) if line and not line.isspace() else None
        if following is not None or not line.strip():
            if sample is not None:
                yield sample
            sample = following
        elif not line.startswith("#"):
            yield OtherLine(line)
    if sample is not None:
        yield sample
