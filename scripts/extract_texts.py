"""Collects every text a person reads and compares it with the catalogues.

python scripts/extract_texts.py            how complete each catalogue is
python scripts/extract_texts.py --missing zh_CN    the texts a catalogue lacks, as JSON to be filled in
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = (ROOT / "capture" / "warpline", ROOT / "app" / "warpline_app")
CATALOGUES = ROOT / "resources" / "translations"

Texts = dict[str, set[str]]


def called_texts(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """(context, text) of every literal in a call of ``tr`` and ``tr_n``."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        count = {"tr": 1, "tr_n": 2}.get(node.func.id, 0)
        if not count:
            continue
        context = "warpline"
        place = 1 if count == 1 else 3
        if len(node.args) > place:
            given = node.args[place]
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                context = given.value
        for argument in node.args[:count]:
            for text in literals(argument):
                yield context, text


def literals(node: ast.AST) -> Iterator[str]:
    """Texts an expression can have: a literal, either side of a condition."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)


def listed_texts() -> Iterator[tuple[str, str]]:
    """(context, text) of the texts that stand in tables and are translated where they are shown."""
    from warpline.model.kinds import BUILTIN_KINDS
    from warpline_app.commands.actions import MENU_ORDER, SUBMENUS
    from warpline_app.dialogs.help_sheet import MOUSE
    from warpline_app.dialogs.preferences import LANGUAGES, THEMES
    from warpline_app.dialogs.source_choice import TRACES
    from warpline_app.panels.facts import FLAG_TEXTS, LINK_TITLES
    from warpline_app.panels.frame.registry import PANELS
    from warpline_app.verbs.catalogue import all_commands
    from warpline_app.window.statusline import HINTS

    for command in all_commands():
        yield "command", command.title
        yield "command", command.category
        for text in (command.hint, command.refusal):
            if text:
                yield "command", text
    for text in (*MENU_ORDER, *SUBMENUS.values()):
        yield "command", text
    for panel in PANELS:
        yield "panel", panel.title
    for gesture, text in MOUSE:
        yield "gesture", gesture
        yield "gesture", text
    for _, title in THEMES:
        yield "preferences", title
    yield "preferences", LANGUAGES[0][1]
    for _, title, text in TRACES:
        yield "source", title
        yield "source", text
    for hint in HINTS:
        yield "status", hint
    for titles in LINK_TITLES.values():
        for title in titles:
            yield "link", title
    for _, text in FLAG_TEXTS:
        yield "flag", text
    for kind in BUILTIN_KINDS:
        yield "kind", kind.title
        for attribute in kind.attributes:
            if attribute.name.endswith("_x"):
                yield "attribute", attribute.name[:-2].capitalize()
            elif not attribute.name.endswith(("_y", "_z")):
                yield "attribute", attribute.title
            for text in attribute.enum.values():
                yield "enum", text


def all_texts() -> Texts:
    """Every text by its context."""
    texts: Texts = {}
    for folder in SOURCES:
        for path in sorted(folder.rglob("*.py")):
            for context, text in called_texts(ast.parse(path.read_text(encoding="utf-8"))):
                if text.strip():
                    texts.setdefault(context, set()).add(text)
    for context, text in listed_texts():
        texts.setdefault(context, set()).add(text)
    return texts


def missing_texts(catalogue: dict[str, dict[str, str]], texts: Texts) -> dict[str, list[str]]:
    """What a catalogue lacks, by context; the context ``warpline`` serves all others."""
    shared = catalogue.get("warpline", {})
    lacking = {
        context: sorted(
            text for text in found if not (catalogue.get(context, {}).get(text) or shared.get(text))
        )
        for context, found in sorted(texts.items())
    }
    return {context: found for context, found in lacking.items() if found}


def main() -> int:
    """Prints; 1 when a text is missing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--missing", metavar="LANGUAGE")
    args = parser.parse_args()
    texts = all_texts()
    total = sum(len(found) for found in texts.values())
    worst = 0
    for path in sorted(CATALOGUES.glob("*.json")):
        lacking = missing_texts(json.loads(path.read_text(encoding="utf-8")), texts)
        count = sum(len(found) for found in lacking.values())
        worst = max(worst, count)
        if args.missing == path.stem:
            filled = {context: dict.fromkeys(found, "") for context, found in lacking.items()}
            print(json.dumps(filled, ensure_ascii=False, indent=1))
        elif not args.missing:
            print(f"{path.stem}: {total - count} of {total} texts")
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main())
