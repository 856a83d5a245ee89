"""What is said of a capture as soon as it is open: that its program failed, that part of it is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpline.i18n import tr, tr_n, translated
from warpline.library.program_end import how_it_failed, last_words

if TYPE_CHECKING:
    from warpline.storage import Capture


@dataclass(frozen=True)
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
    lost = sum(source.lost for source in capture.sources)
    if lost:
        missing.append(tr_n("{count:,} record was lost", "{count:,} records were lost", lost))
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
