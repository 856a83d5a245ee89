"""What is said of a capture as soon as it is open: that its program failed, that part of it is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.frozen import frozen
from warpline.i18n import tr, tr_n, translated
from warpline.library.losses import LEAST_SHARE, lost_ratio, meaning_of, share_text
from warpline.library.program_end import how_it_failed, last_words
from warpline_app.open.source_titles import source_title

if TYPE_CHECKING:
    from warpline.storage import Capture


@frozen
class OpeningWords:
    """One sentence and perhaps details; ``has_output`` where what the program printed says more."""

    text: str
    details: str = ""
    has_output: bool = False


def words_of(capture: Capture, title: str, console_text: str = "") -> list[OpeningWords]:
    """What a person must know of a capture before reading it; nothing of one that is whole and went well."""
    return [*_of_the_end(capture, title, console_text), *_of_what_is_missing(capture, title)]


def _of_the_end(capture: Capture, title: str, console_text: str) -> list[OpeningWords]:
    end = capture.program_end
    failure = how_it_failed(end)
    if not failure:
        return []
    words = last_words(end)
    text = tr("{name}: the program {failure}", name=title, failure=failure) + (f": {words}" if words else "")
    return [OpeningWords(text, has_output=bool(end.stderr_tail or console_text))]


def _of_what_is_missing(capture: Capture, title: str) -> list[OpeningWords]:
    missing = [translated(str(text)) for text in capture.meta.get("incomplete", ())]
    missing += _losses(capture)
    if not missing:
        return []
    left_out = [
        tr(
            "left out: {what}, {count:,}: {reason}",
            count=entry.count,
            what=translated(entry.what),
            reason=translated(entry.reason),
        )
        for entry in capture.skipped
    ]
    others = [translated(text) for text in capture.warnings]
    details = dict.fromkeys([*missing, *left_out, *others])
    return [OpeningWords(f"{title}: {'; '.join(missing)}", "\n".join(details) if len(details) > 1 else "")]


def _losses(capture: Capture) -> list[str]:
    """Of each source that lost records, how many of all that is, and what they mean; nothing while all that was lost is
    less than the least share and no source was lost as a whole: the status line and *About This Capture* tell that.
    """
    events = len(capture.events)
    losing = [source for source in capture.sources if source.lost]
    ratio = lost_ratio(sum(source.lost for source in losing), events)
    if ratio < LEAST_SHARE:
        losing = [source for source in losing if not source.enabled]
    found = [
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
    if found:
        found[-1] += ", " + meaning_of(ratio)
    return found
