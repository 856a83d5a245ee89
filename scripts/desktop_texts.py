"""What a desktop shows of Warpline (its entry, the name of its file type), in every language there is a catalogue for.

`scripts/extract_texts.py` takes the texts from the files in ``packaging/`` and writes their translations there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape, unescape
from pathlib import Path

PACKAGING = Path(__file__).resolve().parents[1] / "packaging"
ENTRY = PACKAGING / "linux" / "warpline.desktop"
FILE_TYPE = PACKAGING / "linux" / "warpline.mime.xml"
CONTEXT = "desktop"

_ENTRY_TEXT = re.compile(r"(GenericName|Comment|Name)=(.+)")
_ENTRY_TRANSLATION = re.compile(r"\w+\[\w+\]=")
_TYPE_TEXT = re.compile(r"(\s*)<comment>(.+)</comment>")
_TYPE_TRANSLATION = re.compile(r"\s*<comment xml:lang=")
_NAME = "Warpline"
"""Is called that everywhere."""

Translations = Mapping[str, Mapping[str, str]]
"""Translations by language and English text."""


def texts() -> list[str]:
    """The English texts in both files."""
    entry = [match[2] for line in _lines(ENTRY) if (match := _ENTRY_TEXT.fullmatch(line))]
    types = [unescape(match[2]) for line in _lines(FILE_TYPE) if (match := _TYPE_TEXT.fullmatch(line))]
    return [text for text in (*entry, *types) if text != _NAME]


def translated_files(translations: Translations) -> dict[Path, str]:
    """Both files as they are with these translations and no others."""
    entry: list[str] = []
    for line in _lines(ENTRY):
        if _ENTRY_TRANSLATION.match(line):
            continue
        entry.append(line)
        if match := _ENTRY_TEXT.fullmatch(line):
            entry += [f"{match[1]}[{name}]={text}" for name, text in _known(translations, match[2])]
    types: list[str] = []
    for line in _lines(FILE_TYPE):
        if _TYPE_TRANSLATION.match(line):
            continue
        types.append(line)
        if match := _TYPE_TEXT.fullmatch(line):
            types += [
                f'{match[1]}<comment xml:lang="{name}">{escape(text, quote=False)}</comment>'
                for name, text in _known(translations, unescape(match[2]))
            ]
    return {ENTRY: "\n".join(entry) + "\n", FILE_TYPE: "\n".join(types) + "\n"}


def _known(translations: Translations, text: str) -> Iterable[tuple[str, str]]:
    return [(name, known[text]) for name, known in sorted(translations.items()) if text in known]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
