"""What to draw of many lanes at once, from the level-of-detail pyramid. Costs pixels, not events."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.storage.columns.strip import Strip, rect_ns
from warpline.storage.index.lane_columns import LaneColumns
from warpline.storage.index.strip_native import StripLoop, make_view
from warpline.storage.index.strip_numpy import draw_with_numpy

Int64Array = npt.NDArray[np.int64]

_FAR = 1 << 62


def query_strip(
    columns: LaneColumns,
    loop: StripLoop | None,
    lanes: Int64Array,
    start_ns: int,
    stop_ns: int,
    width_px: int,
) -> Strip:
    """Compute the strip of some lanes, with the compiled loop if available.

    Raises ValueError for an empty view, IndexError for a lane that is not there.
    """
    if stop_ns <= start_ns or width_px <= 0:
        raise ValueError(f"nothing to draw: [{start_ns}, {stop_ns}) on {width_px} px")
    if len(lanes) and not 0 <= int(lanes.min()) <= int(lanes.max()) < len(columns.lanes):
        raise IndexError(f"lanes are numbered 0 to {len(columns.lanes) - 1}")
    if loop is None or max(abs(start_ns), abs(stop_ns)) >= _FAR:
        return draw_with_numpy(columns, lanes, start_ns, stop_ns, width_px)
    view = make_view(start_ns, stop_ns, width_px, rect_ns(start_ns, stop_ns, width_px))
    runs = loop.choose(view, np.ascontiguousarray(lanes), columns.offset_ns)
    # Prefetch all pages of the frame first: page faults are served one by one, advice all at once.
    columns.pyramid.prefetch(runs["lane"], runs["index"], runs["low"], runs["high"])
    rects, pixels, touched = loop.draw(view, runs, columns.offset_ns)
    rect_lane, rect_row, rect_start, rect_stop, rect_kind, rect_flags = rects
    busy, mark_row, mark_kind, mark_flags = pixels
    return Strip(
        lanes=lanes,
        start_ns=start_ns,
        stop_ns=stop_ns,
        width_px=width_px,
        rect_lane=rect_lane,
        rect_row=rect_row,
        rect_start=rect_start,
        rect_stop=rect_stop,
        rect_kind=rect_kind,
        rect_flags=rect_flags,
        busy=busy,
        mark_row=mark_row,
        mark_kind=mark_kind,
        mark_flags=mark_flags,
        touched=touched,
    )
