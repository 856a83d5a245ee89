"""Catalogues of translations: one JSON file per language under ``resources/translations``.

A catalogue maps contexts to objects that map the English text to the translated one. What it lacks stays English.
"""

from __future__ import annotations

import json
import os

from warpline import i18n, resources

Catalogue = dict[str, dict[str, str]]


def catalogue(language: str) -> Catalogue:
    """The catalogue of a language, empty when there is none. Raises ValueError when the file is damaged."""
    try:
        path = resources.path(f"translations/{language}.json")
    except FileNotFoundError:
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError(f"{path}: not a catalogue")
    return found


def system_language() -> str:
    """The language of the user's environment as the name of a catalogue, ``en`` when there is none for it."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANGUAGE", "LANG"):
        value = os.environ.get(variable, "")
        if value:
            return "zh_CN" if value.lower().startswith("zh") else "en"
    return "en"


def install(choice: str) -> None:
    """Translate into this language from now on; ``system`` takes the environment's."""
    language = system_language() if choice == "system" else choice
    texts = catalogue(language)
    if not texts:
        i18n.set_translator(None)
        return

    def translate(context: str, text: str) -> str:
        return texts.get(context, {}).get(text) or texts.get("warpline", {}).get(text) or text

    i18n.set_translator(translate)
