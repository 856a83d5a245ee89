"""Notices about a capture shown when it opens: its program failed, or part of the data is missing."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpline.i18n import tr, tr_n, translated
from warpline.library.losses import LEAST_SHARE, lost_ratio, meaning_of, share_text
from warpline.library.program_end import how_it_failed
from warpline_app.open.source_titles import source_title

if TYPE_CHECKING:
    from warpline.storage import Capture


@dataclass(frozen=True)
class OpeningNotice:
    """A sentence with optional details; ``has_output`` when the program's output tells more, ``has_more`` when the view
    leaves events out.
    """

    text: str
    details: str = ""
    has_output: bool = False
    has_more: bool = False


def opening_notices(
    capture: Capture, title: str, console_text: str = "", *, was_stopped: bool = False
) -> list[OpeningNotice]:
    """What the user must know before reading a capture; empty for a complete capture of a successful program.

    A program that the user stopped (``was_stopped``) or that the recorder ended did not fail.
    """
    from warpline.storage.read.view_times import far_events  # loads numpy, which an empty window does without

    ended = was_stopped or _was_ended_by_recorder(capture)
    far = [OpeningNotice(f"{title}: {text}", has_more=True) for text in far_events(capture)]
    failure = [] if ended else _failure(capture, title, console_text)
    return [*failure, *_missing_data(capture, title), *far]


def _was_ended_by_recorder(capture: Capture) -> bool:
    recording, end = capture.meta.get("recording"), capture.program_end
    ends = {signal.SIGTERM, -signal.SIGTERM, 128 + signal.SIGTERM}
    return (
        isinstance(recording, dict)
        and recording.get("terminate") is True
        and (end.exit_signal in ends or end.exit_status in ends)
    )


def _failure(capture: Capture, title: str, console_text: str) -> list[OpeningNotice]:
    end = capture.program_end
    failure = how_it_failed(end)
    if not failure:
        return []
    error = end.last_words
    text = tr("{name}: the program {failure}", name=title, failure=failure) + (f": {error}" if error else "")
    return [OpeningNotice(text, has_output=bool(end.stderr_tail or console_text))]


def _missing_data(capture: Capture, title: str) -> list[OpeningNotice]:
    missing = [translated(str(text)) for text in capture.meta.get("incomplete", ())]
    missing += _losses(capture)
    if not missing:
        return []
    skipped = [
        tr(
            "left out: {what}, {count:,}: {reason}",
            count=entry.count,
            what=translated(entry.what),
            reason=translated(entry.reason),
        )
        for entry in capture.skipped
    ]
    warnings = [translated(text) for text in capture.warnings]
    details = dict.fromkeys([*missing, *skipped, *warnings])
    return [OpeningNotice(f"{title}: {'; '.join(missing)}", "\n".join(details) if len(details) > 1 else "")]


def _losses(capture: Capture) -> list[str]:
    """The number of lost records by source, and what that means for the capture.

    Empty for losses below `LEAST_SHARE` unless a source failed as a whole: the status line and *About this capture*
    show those.
    """
    events = len(capture.events)
    losing = [source for source in capture.sources if source.lost]
    ratio = lost_ratio(sum(source.lost for source in losing), events)
    if ratio < LEAST_SHARE:
        losing = [source for source in losing if not source.enabled]
    losses = [
        tr_n(
            "{source}: {count:,} record of {events:,} was lost ({share})",
            "{source}: {count:,} records of {events:,} were lost ({share})",
            source.lost,
            source=source_title(source.name),
            events=source.lost + events,
            share=share_text(lost_ratio(source.lost, events)),
        )
        for source in losing
    ]
    if losses:
        losses[-1] += ", " + meaning_of(ratio)
    return losses
