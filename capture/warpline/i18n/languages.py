"""The available languages, one file ``resources/translations/LANGUAGE.po`` each, and the choice of one."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from warpline import resources
from warpline.i18n.texts import use

ENGLISH, SYSTEM = "en", "system"
NAME_FIELD = "X-Language-Name"
"""The field of a catalogue's header with the language's own name."""
FOLDER = "translations"


def languages() -> dict[str, str]:
    """Every language and its own name, English first. Unreadable catalogues are left out."""
    from warpline.i18n.po import read_header

    names = {}
    for path in _files():
        try:
            names[path.stem] = read_header(path).get(NAME_FIELD) or path.stem
        except (OSError, ValueError):
            continue
    return {ENGLISH: "English", **dict(sorted(names.items(), key=lambda item: item[1].casefold()))}


def system_language() -> str:
    """The language of the user's environment as far as there is a catalogue for it, else English.

    The variables count as for GNU gettext: LC_ALL, LC_MESSAGES, LANG say the locale; unless that is none (C), LANGUAGE
    may list what the user would rather read.
    """
    locale = next(
        (value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(name))), "C"
    )
    if locale.partition(".")[0] in {"C", "POSIX"}:
        return ENGLISH
    names = [path.stem for path in _files()]
    for wanted in (*os.environ.get("LANGUAGE", "").split(":"), locale):
        nearest = _nearest(wanted, names)
        if nearest:
            return nearest
    return ENGLISH


def install(choice: str = SYSTEM) -> str:
    """Switches to a language and returns its name; ``system`` takes the environment's.

    Without a catalogue, texts are English; also if the catalogue cannot be read, with a warning (`UserWarning`) for
    its author.
    """
    language = system_language() if choice == SYSTEM else choice
    path = next((path for path in _files() if path.stem == language), None) if language != ENGLISH else None
    if path is None:
        use(None)
        return ENGLISH
    from warpline.i18n.catalogue import Catalogue
    from warpline.i18n.po import read_po

    try:
        use(Catalogue(read_po(path)))
    except (OSError, ValueError) as error:
        use(None)
        warnings.warn(f"{error}; English is used instead", stacklevel=2)
        return ENGLISH
    return language


def _nearest(wanted: str, names: list[str]) -> str:
    """The catalogue for a locale: its own, that of its language, or that of its language elsewhere."""
    name = wanted.partition(".")[0].partition("@")[0]
    language = name.partition("_")[0]
    if language == ENGLISH:
        return ENGLISH
    if name in names:
        return name
    if language in names:
        return language
    return next((other for other in names if language and other.partition("_")[0] == language), "")


def _files() -> list[Path]:
    try:
        return sorted(resources.path(FOLDER).glob("*.po"))
    except FileNotFoundError:
        return []
