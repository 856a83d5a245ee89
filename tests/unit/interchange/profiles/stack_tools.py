"""What tests look up of samples."""

from __future__ import annotations

from warpline.storage import Capture


def stacks(capture: Capture) -> list[str]:
    """The stack of each sample, by time, outermost frame first."""
    table = capture.kinds["sample"]
    frame, parent = capture.stacks
    found = []
    for row in sorted(table.rows.tolist(), key=lambda row: int(capture.events.start[row])):
        at, names = table.at(row)["stack"], []
        while at is not None and at < len(frame):
            names.append(capture.strings[int(frame[at])])
            at = int(parent[at])
        found.append(";".join(reversed(names)))
    return found


def weights(capture: Capture) -> list[int]:
    """The weight of each sample, by time."""
    table = capture.kinds["sample"]
    return [
        table.at(row)["weight"]
        for row in sorted(table.rows.tolist(), key=lambda r: int(capture.events.start[r]))
    ]
