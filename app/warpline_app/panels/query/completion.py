"""What can stand at a place of a query: tables, columns, names of events, keywords. No window."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warpline.query.named_tables import KEYWORDS, SKIPPED, aliases, bare_name
from warpline.query.session import TableInfo

MOST = 60
_WORD = re.compile(r"[^\W\d][\w$]*$")
_QUALIFIED = re.compile(r"([^\W\d][\w$]*)\.([\w$]*)$")
_AFTER_TABLE_WORD = re.compile(
    r"\b(?:from|join)\s+(?:[\w$.]+(?:\s+(?:as\s+)?[\w$]+)?\s*,\s*)*[\w$.]*$", re.IGNORECASE
)
_OPEN_TEXT = re.compile(r"'((?:[^']|'')*)$")
_OPEN_COMMENT = re.compile(r"--[^\n]*$|/\*(?:(?!\*/).)*$", re.DOTALL)

FUNCTIONS = ("count(", "sum(", "min(", "max(", "avg(", "median(", "stddev(", "quantile_cont(", "coalesce(", "round(",
             "lead(", "lag(", "row_number(", "abs(", "greatest(", "least(")  # fmt: skip


@dataclass(frozen=True)
class Completion:
    """What may replace the text from ``start`` to the cursor."""

    start: int
    texts: tuple[str, ...]


def complete(
    before: str,
    after: str,
    tables: Sequence[TableInfo],
    names: Callable[[str, int], Sequence[str]],
    *,
    is_asked: bool = False,
) -> Completion:
    """What may follow ``before``, the text before the cursor; ``after`` is the rest of the query.

    ``names`` returns at most so many names of events that contain a text. ``is_asked``: the user asked for it, so
    that an empty word is completed, too.
    """
    plain = SKIPPED.sub(_blank, before)
    text = _OPEN_TEXT.search(plain)
    if text is not None:
        begin = len(before) - len(text[1])
        found = names(text[1].replace("''", "'"), MOST) if text[1] or is_asked else ()
        return Completion(begin, tuple(name.replace("'", "''") for name in found))
    if _OPEN_COMMENT.search(plain):
        return Completion(len(before), ())
    by_name = {bare_name(table.name): table for table in tables}
    qualified = _QUALIFIED.search(plain)
    if qualified is not None:
        owner, begun = qualified[1].casefold(), qualified[2]
        table = by_name.get(aliases(plain + SKIPPED.sub(" ", after)).get(owner, owner))
        within = [name.partition(".")[2] for name in by_name if name.startswith(f"{owner}.")]
        columns = [column.name for column in table.columns] if table is not None else within
        return Completion(len(before) - len(begun), _matching(begun, columns))
    word = _WORD.search(plain)
    begun = word[0] if word is not None else ""
    if not begun and not is_asked:
        return Completion(len(before), ())
    if _AFTER_TABLE_WORD.search(plain):
        return Completion(len(before) - len(begun), _matching(begun, [_call(table.name) for table in tables]))
    used = dict.fromkeys(aliases(plain + SKIPPED.sub(" ", after)).values())
    columns = [column.name for name in used if name in by_name for column in by_name[name].columns]
    rest = [_call(table.name) for table in tables]
    return Completion(len(before) - len(begun), _matching(begun, [*columns, *FUNCTIONS, *KEYWORDS, *rest]))


def _blank(skipped: re.Match[str]) -> str:
    """Blanks for a whole text or comment; one that is still typed stays."""
    text = skipped[0]
    is_open = (
        text.count("'") % 2 if text[0] == "'" else text[:2] == "--" and skipped.end() == len(skipped.string)
    )
    return text if is_open else " " * len(text)


def _call(name: str) -> str:
    """A table as it is typed; a macro up to its parenthesis."""
    head, bracket, _ = name.partition("(")
    return head + bracket


def _matching(begun: str, candidates: Sequence[str]) -> tuple[str, ...]:
    """Candidates that begin with a text, then those that contain it, except what is already typed in full."""
    wanted = begun.casefold()
    distinct = list(dict.fromkeys(candidates))
    first = [text for text in distinct if text.casefold().startswith(wanted)]
    later = (
        [text for text in distinct if wanted in text.casefold()[1:] and text not in first] if wanted else []
    )
    found = [*first, *later][:MOST]
    return () if [text.casefold() for text in found] == [wanted] else tuple(found)
