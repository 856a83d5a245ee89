"""What a page asks to see: checked where it arrives, and once more where it is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

MAX_TIME_NS = 1 << 62
MAX_SIZE_PX = 8_000
MIN_SIZE_PX = (200, 120)
MAX_PIXELS = 34_000_000
"""Of a picture, in device pixels: a screen of 7680 × 4320."""
MAX_FOLDS = 200
MAX_TEXT = 300
THEMES = ("light", "dark")


@dataclass(frozen=True, kw_only=True)
class ViewRequest:
    """A view of the timeline.

    Times are ns since the start of the capture. ``folds`` are rows that the reader expanded (true) or collapsed, by
    key. ``selection`` is a row of events in the capture of that ``generation``: that of a running recording grows, and
    rows of an earlier one mean nothing any more. ``names`` keeps the colour of events with that text in their name.
    ``finding`` is the number of the highlighted finding, −1 for none. ``follows`` moves the view to the end.
    """

    start_ns: int = 0
    stop_ns: int = 0
    top_px: int = 0
    width_px: int = 1200
    height_px: int = 700
    ratio: float = 1.0
    theme: str = "dark"
    folds: tuple[tuple[str, bool], ...] = ()
    selection: int = -1
    generation: int = 0
    range_ns: tuple[int, int] | None = None
    names: str = ""
    finding: int = -1
    follows: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError for what is out of bounds."""
        times = (self.start_ns, self.stop_ns, *(self.range_ns or ()))
        sizes = (self.width_px, self.height_px)
        if not all(0 <= time <= MAX_TIME_NS for time in times):
            raise ValueError("times are out of bounds")
        if not all(least <= size <= MAX_SIZE_PX for least, size in zip(MIN_SIZE_PX, sizes, strict=True)):
            raise ValueError("the size is out of bounds")
        if not 0.5 <= self.ratio <= 4 or sizes[0] * sizes[1] * self.ratio**2 > MAX_PIXELS:
            raise ValueError("there are too many pixels")
        if not 0 <= self.top_px <= 1 << 30 or len(self.folds) > MAX_FOLDS or len(self.names) > MAX_TEXT:
            raise ValueError("a value is out of bounds")
        if self.theme not in THEMES:
            raise ValueError("there is no such theme")

    def as_values(self) -> dict[str, Any]:
        """For JSON; see `of_values`."""
        return asdict(self)

    @classmethod
    def of_values(cls, values: Mapping[str, Any]) -> ViewRequest:
        """The request of values that JSON carried. Raises ValueError, TypeError and KeyError."""
        folds = tuple((str(key), bool(is_open)) for key, is_open in values["folds"])
        limits = values["range_ns"]
        range_ns = None if limits is None else (int(limits[0]), int(limits[1]))
        return cls(**{**values, "folds": folds, "range_ns": range_ns})

    @classmethod
    def of_query(cls, query: Mapping[str, Sequence[str]]) -> ViewRequest:
        """The request in the query of an address (as `urllib.parse.parse_qs` gives it). Raises ValueError."""

        def number(name: str, default: int) -> int:
            text = query.get(name, [""])[0]
            return int(text[:20]) if text else default

        folds = tuple(
            (key, is_open)
            for name, is_open in (("opened", True), ("closed", False))
            for key in query.get(name, [])
        )
        marked = query.get("from", [""])[0] != ""
        return cls(
            start_ns=number("start", 0),
            stop_ns=number("stop", 0),
            top_px=number("top", 0),
            width_px=number("width", 1200),
            height_px=number("height", 700),
            ratio=float(query.get("ratio", ["1"])[0][:20]),
            theme=query.get("theme", ["dark"])[0],
            folds=folds,
            selection=number("selected", -1),
            generation=number("generation", 0),
            range_ns=(number("from", 0), number("to", 0)) if marked else None,
            names=query.get("names", [""])[0],
            finding=number("finding", -1),
            follows=number("follow", 0) == 1,
        )
