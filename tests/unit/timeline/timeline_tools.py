"""What unit tests of the timeline name all the time."""

from __future__ import annotations

from warpline.storage import Capture

MAIN = "process/71.1/thread/71.1"
STREAM = "gpu/0/process/71.1/context/1/stream/7"


def lane_of(capture: Capture, uri: str, depth: int = 0) -> int:
    return capture.track_lanes(capture.track(uri).index)[depth]
