"""Keeps the catalogues of translations in step with the code.

python scripts/extract_texts.py            bring every catalogue up to date: new texts in, texts that are gone out
python scripts/extract_texts.py de         the same, and begin a catalogue for German
python scripts/extract_texts.py --check    change nothing, say what is wrong; 1 when something is

What a desktop shows (packaging/) is translated from the catalogues too.

A text is a literal in a call of `tr`, `tr_n`, `english`, `english_n` or `forms`, or the title of a command, of a
panel, of a kind of event or of its attributes. docs/development.md, *Add a language*, tells the rest.
"""

from __future__ import annotations

import argparse
import ast
import string
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import desktop_texts

from warpline.i18n.catalogue import DATA, form_count, plural_rule
from warpline.i18n.languages import NAME_FIELD
from warpline.i18n.po import Entry, header_fields, read_po

ROOT = Path(__file__).resolve().parents[1]
SOURCES = (ROOT / "capture" / "warpline", ROOT / "app" / "warpline_app")
CATALOGUES = ROOT / "resources" / "translations"
NEW_HEADER = f"""\
Language: {{language}}
{NAME_FIELD}: {{language}}
Plural-Forms: nplurals=2; plural=(n != 1);
MIME-Version: 1.0
Content-Type: text/plain; charset=UTF-8
Content-Transfer-Encoding: 8bit
"""


class Text(NamedTuple):
    """What a translator translates; ``plural`` is empty unless it goes with a number."""

    context: str
    text: str
    plural: str = ""


class _Call(NamedTuple):
    """Where a function has its texts: the places of its arguments, singular and plural if there are two; and the
    place of the context, or the context.
    """

    texts: tuple[int, ...]
    context: int | str


CALLS = {
    "tr": _Call((0,), 1),
    "tr_n": _Call((0, 1), 3),
    "english": _Call((0,), DATA),
    "english_n": _Call((0, 1), DATA),
    "forms": _Call((0, 1), DATA),
    "KindSpec": _Call((1,), DATA),
    "PanelSpec": _Call((1,), "panel"),
    "AttributeSpec": _Call((2,), DATA),
    "ReportSpec": _Call((1,), DATA),
    "Column": _Call((1,), DATA),
}


_SYMBOLS = ("ns", "bytes", "ratio")
"""Units that are shown in another way than by their names."""


def all_texts() -> list[Text]:
    """Every text of the program, each once, in the order in which catalogues have them.

    Raises ValueError when one text has two plurals.
    """
    found: dict[tuple[str, str], str] = {}
    called = (
        text
        for folder in SOURCES
        for path in sorted(folder.rglob("*.py"))
        for text in called_texts(ast.parse(path.read_text(encoding="utf-8")))
    )
    for context, text, plural in (*called, *listed_texts()):
        known = found.get((context, text), "")
        if known and plural and known != plural:
            raise ValueError(f"{text!r} has two plurals: {known!r} and {plural!r}")
        if text.strip():
            found[context, text] = plural or known
    return sorted(Text(context, text, plural) for (context, text), plural in found.items())


def called_texts(tree: ast.AST) -> Iterator[Text]:
    """The literals in calls of the functions that take texts."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        call = CALLS.get(node.func.id)
        if call is None or len(node.args) <= max(call.texts):
            continue
        context = call.context
        if isinstance(context, int):
            given = node.args[context] if len(node.args) > context else None
            if given is not None and not isinstance(given, ast.Constant):
                continue
            context = str(given.value) if given is not None else ""
        if len(call.texts) == 1:
            yield from (Text(context, text) for text in literals(node.args[call.texts[0]]))
        else:
            one, many = (next(literals(node.args[place]), "") for place in call.texts)
            yield Text(context, one, many)


def literals(node: ast.AST) -> Iterator[str]:
    """Texts an expression can have: a literal, either side of a condition."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)


def listed_texts() -> Iterator[Text]:
    """The texts that stand in tables and are translated where they are shown."""
    from warpline.model.kinds import BUILTIN_KINDS
    from warpline_app.commands.menus import MENU_ORDER, SUBMENUS
    from warpline_app.verbs.catalogue import all_commands

    for text in desktop_texts.texts():
        yield Text(desktop_texts.CONTEXT, text)
    for command in all_commands():
        for text in (
            command.title,
            command.category,
            command.hint,
            *(need.refusal for need in command.needs),
        ):
            yield Text("command", text)
    for text in (*MENU_ORDER, *SUBMENUS.values()):
        yield Text("command", text)
    for kind in BUILTIN_KINDS:
        yield Text(DATA, kind.title)
        for attribute in kind.attributes:
            if attribute.name.endswith("_x"):
                yield Text(DATA, attribute.name[:-2].capitalize())
            elif not attribute.name.endswith(("_y", "_z")):
                yield Text(DATA, attribute.title)
            for text in attribute.enum.values():
                yield Text(DATA, text)
            if attribute.unit not in _SYMBOLS:
                yield Text(DATA, attribute.unit)


def updated(entries: Iterable[Entry], texts: Iterable[Text]) -> list[Entry]:
    """A catalogue with these texts and no others; what is known in one context is proposed for a new one."""
    known = {(entry.context, entry.text): entry for entry in entries}
    by_text = {entry.text: entry for entry in known.values() if entry.translations and entry.translations[0]}
    header = known[("", "")]
    count = form_count(header_fields("".join(header.translations)).get("Plural-Forms", ""))
    result = [header]
    for text in texts:
        entry = known.get((text.context, text.text))
        forms = count if text.plural else 1
        if entry is None or (entry.plural, len(entry.translations)) != (text.plural, forms):
            near = entry or by_text.get(text.text)
            translations = (near.translations if near is not None else ()) * forms
            if len(translations) < forms:
                translations = ("",) * forms
            entry = Entry(*text, translations[:forms], near.comments if near is not None else ())
        result.append(entry)
    return result


def problems(entries: list[Entry], texts: list[Text]) -> Iterator[str]:
    """What is wrong with a catalogue: texts that are missing or gone, forms, fields."""
    header = next((entry for entry in entries if not entry.text), None)
    fields = header_fields("".join(header.translations)) if header is not None else {}
    for name in ("Language", NAME_FIELD, "Plural-Forms"):
        if not fields.get(name):
            yield f"the header has no {name}"
    count = form_count(fields.get("Plural-Forms", ""))
    try:
        rule = plural_rule(fields.get("Plural-Forms", ""))
        if not all(0 <= rule(number) < count for number in range(1000)):
            yield f"Plural-Forms: its rule leaves its {count} forms"
    except ValueError as error:
        yield f"Plural-Forms: {error}"
    wanted = {(text.context, text.text): text for text in texts}
    known: set[tuple[str, str]] = set()
    for entry in entries:
        if not entry.text:
            continue
        key = (entry.context, entry.text)
        if key in known:
            yield f"twice: {entry.text!r} {entry.context}"
        known.add(key)
        if key not in wanted:
            yield f"no longer in the code: {entry.text!r} {entry.context}"
            continue
        if entry.plural != wanted[key].plural or len(entry.translations) != (count if entry.plural else 1):
            yield f"not with its {count} plural forms: {entry.text!r} {entry.context}"
        for translation in entry.translations:
            if translation and not _has_fields(translation, entry):
                yield f"other fields than its text: {translation!r}"
    for key in wanted.keys() - known:
        yield f"missing: {key[1]!r} {key[0]}"


def _has_fields(translation: str, entry: Entry) -> bool:
    """Whether a translation has the fields of its text; a form for one number may leave the number out."""
    try:
        have, need = _fields(translation), _fields(entry.plural or entry.text)
    except ValueError:
        return False
    return have == need or (bool(entry.plural) and have == need - {"count"})


def _fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def share_translated(entries: Iterable[Entry]) -> tuple[int, int]:
    """How many texts of a catalogue are translated, and how many there are."""
    texts = [entry for entry in entries if entry.text]
    return sum(entry.is_translated for entry in texts), len(texts)


def catalogues() -> list[Path]:
    """The catalogues there are."""
    return sorted(CATALOGUES.glob("*.po"))


def files_of_desktop() -> dict[Path, str]:
    """The files in ``packaging/`` with what the catalogues say."""
    return desktop_texts.translated_files(
        {
            path.stem: {
                entry.text: entry.translations[0]
                for entry in read_po(path)
                if entry.context == desktop_texts.CONTEXT and entry.is_translated
            }
            for path in catalogues()
        }
    )


def format_po(entries: Iterable[Entry]) -> str:
    """A catalogue's text."""
    return "\n".join(_format_entry(entry) for entry in entries)


def _format_entry(entry: Entry) -> str:
    lines = list(entry.comments)
    if entry.context:
        lines.append(f"msgctxt {_quoted(entry.context)}")
    lines.append(f"msgid {_quoted(entry.text)}")
    if entry.plural:
        lines.append(f"msgid_plural {_quoted(entry.plural)}")
        lines += [f"msgstr[{form}] {_quoted(text)}" for form, text in enumerate(entry.translations)]
    else:
        lines.append(f"msgstr {_quoted(entry.translations[0])}")
    return "".join(f"{line}\n" for line in lines)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\r", "\\r")
    lines = escaped.split("\n")
    if len(lines) == 1:
        return f'"{escaped}"'
    parts = [f"{line}\\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    return "\n".join(['""', *(f'"{part}"' for part in parts)])


def main() -> int:
    """Updates or checks; 1 when something is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("language", nargs="?", help="a language to begin, named like a locale: de, pt_BR")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    texts = all_texts()
    if args.language and not (new := CATALOGUES / f"{args.language}.po").exists():
        header = Entry("", "", "", (NEW_HEADER.format(language=args.language),))
        new.write_text(format_po([header]), encoding="utf-8")
    wrong = 0
    for path in catalogues():
        entries = read_po(path)
        if not args.check:
            entries = updated(entries, texts)
            path.write_text(format_po(entries), encoding="utf-8")
        found = list(problems(entries, texts))
        wrong += len(found)
        translated, total = share_translated(entries)
        print(f"{path.name}: {translated} of {total} texts are translated")
        for problem in found:
            print(f"  {problem}")
    for path, content in files_of_desktop().items():
        if not args.check:
            path.write_text(content, encoding="utf-8")
        elif content != path.read_text(encoding="utf-8"):
            wrong += 1
            print(f"{path.name}: not what the catalogues say")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
