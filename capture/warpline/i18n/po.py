"""Reads translators' catalogues in GNU gettext's format ``.po``, without its tools.

https://www.gnu.org/software/gettext/manual/html_node/PO-Files.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
# A whole catalogue is read at start: one expression does it three times faster than a loop over lines.
_TOKENS = re.compile(
    r"\s*(?:(\#[^\n]*)"
    rf"|(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d+)\])?[ \t]*({_STRING}(?:\s*{_STRING})*)"
    r"|(\S[^\n]*))"
)
_PIECE = re.compile(_STRING)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


class PoError(ValueError):
    """A catalogue that cannot be read; the message says where."""


class Entry(NamedTuple):
    """One text and its translations: one, or one for each plural form. ``comments`` are whole lines (``# …``).

    An empty translation counts as missing. The entry with the empty text is the header.
    """

    context: str
    text: str
    plural: str
    translations: tuple[str, ...]
    comments: tuple[str, ...] = ()

    @property
    def is_fuzzy(self) -> bool:
        """Whether the translation is a tool's guess that nobody has reviewed."""
        return any(line.startswith("#,") and "fuzzy" in line for line in self.comments)

    @property
    def is_translated(self) -> bool:
        """Whether every form is present and may be shown."""
        return bool(self.translations) and all(self.translations) and not self.is_fuzzy


def read_po(path: Path) -> list[Entry]:
    """The entries of a catalogue, the header among them, in the order of the file. Raises PoError and OSError."""
    try:
        return list(entries(path.read_text(encoding="utf-8")))
    except (PoError, UnicodeDecodeError) as error:
        raise PoError(f"{path}: {error}") from error


def entries(document: str) -> Iterator[Entry]:
    """The entries of a catalogue's text. Raises PoError for anything that is not an entry."""
    comments: list[str] = []
    context = text = plural = ""
    forms: list[str] = []
    has_text = False
    for comment, key, _form, string, rest in _TOKENS.findall(document):
        if rest:
            raise PoError(f"not understood: {rest[:60]}")
        if forms and key != "msgstr":
            yield Entry(context, text, plural, tuple(forms), tuple(comments))
            context = text = plural = ""
            comments, forms, has_text = [], [], False
        if comment:
            comments.append(comment)
        elif key == "msgctxt":
            context = _text(string)
        elif key == "msgid":
            text, has_text = _text(string), True
        elif key == "msgid_plural":
            plural = _text(string)
        elif has_text:
            forms.append(_text(string))
        else:
            raise PoError(f"a translation of nothing: {string[:60]}")
    if forms:
        yield Entry(context, text, plural, tuple(forms), tuple(comments))


def read_header(path: Path) -> dict[str, str]:
    """The fields of a catalogue's header, without reading the rest of it. Raises PoError and OSError."""
    with path.open(encoding="utf-8") as file:
        lines: list[str] = []
        for line in file:
            if lines and not line.strip():
                break
            lines.append(line)
    first = next(entries("".join(lines)), None)
    return header_fields(first.translations[0]) if first is not None and not first.text else {}


def header_fields(header: str) -> dict[str, str]:
    """The lines ``Name: value`` of the translation of the empty text."""
    lines = (line.partition(":") for line in header.splitlines())
    return {name.strip(): value.strip() for name, colon, value in lines if colon}


def _text(string: str) -> str:
    if "\n" in string:
        string = "".join(piece[1:-1] for piece in _PIECE.findall(string))
    else:
        string = string[1:-1]
    return _ESCAPE.sub(_unescaped, string) if "\\" in string else string


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPED.get(match[1], match[1])
