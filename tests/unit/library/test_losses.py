"""What a loss is told as: never nothing, never more than it is."""

from __future__ import annotations

import pytest

from warpline.library.losses import lost_ratio, lost_text, meaning_of, share_text


@pytest.mark.parametrize(
    ("lost", "events", "text"),
    [
        (0, 10, "0 records lost"),
        (1, 26_226, "1 record lost (< 0.1 %)"),
        (6, 994, "6 records lost (0.6 %)"),
        (50, 50, "50 records lost (50 %)"),
        (3, 0, "3 records lost (100 %)"),
    ],
)
def test_a_loss_is_a_share_of_all_there_was(lost: int, events: int, text: str) -> None:
    assert lost_text(lost, events) == text


def test_the_more_is_lost_the_less_is_promised() -> None:
    words = [meaning_of(share) for share in (0.0, 0.009, 0.05, 0.5)]
    assert words[0] == words[1] == "too few to change the results"
    assert "too low" in words[2]
    assert "counts as not recorded" in words[3]
    assert share_text(lost_ratio(1, 10**9)) == "< 0.1 %"
