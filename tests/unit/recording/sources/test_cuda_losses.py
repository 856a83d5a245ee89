"""What was lost of the GPU's work, counted over all processes and named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from warpline.recording.sources.cuda import records
from warpline.recording.sources.cuda.losses import Losses


def spool(*rows: tuple[int, int, int]) -> Any:
    """A spool file that lost (count, kind, cause) records."""
    values = np.array([(0, *row) for row in rows], records.cupti_dropped)
    return SimpleNamespace(records=lambda _type, _dtype: SimpleNamespace(values=values))


def test_nothing_lost_says_nothing() -> None:
    losses = Losses()
    losses.add(spool())
    assert (losses.total, losses.reason()) == (0, "")


def test_losses_of_all_processes_are_added_up_by_kind_and_cause() -> None:
    losses = Losses()
    losses.add(
        spool((3, 3, records.LOST_UNFINISHED), (1, 1, records.LOST_UNFINISHED), (7, 0, records.LOST_NO_ROOM))
    )
    losses.add(
        spool(
            (2, 3, records.LOST_UNFINISHED),
            (1, 51, records.LOST_UNFINISHED),
            (4, 2, records.LOST_UNFINISHED),
            (5, 0, records.LOST_NO_MEMORY),
        )
    )
    assert losses.total == 23
    assert losses.reason().split("; ") == [
        "CUPTI dropped 7 records",
        "1 copy had not ended when the recording ended, and is not in the file",
        "4 memsets had not ended when the recording ended, and are not in the file",
        "5 kernels had not ended when the recording ended, and are not in the file",
        "1 graph launch had not ended when the recording ended, and is not in the file",
        "5 GPU records were lost because the program had no memory left",
    ]


def test_a_damaged_count_of_a_kind_that_does_not_exist_is_counted() -> None:
    losses = Losses()
    losses.add(spool((2, 999, 999)))
    assert losses.total == 2
    assert losses.reason() == "CUPTI dropped 2 records"
