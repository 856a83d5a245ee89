"""Text without Qt: translating, counting, texts that are data, catalogues, languages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from warpline import i18n, resources
from warpline.i18n import english, english_n, install, languages, system_language, tr, tr_n, translated, use
from warpline.i18n.catalogue import Catalogue
from warpline.i18n.po import PoError, entries

RUSSIAN = r"""
msgid ""
msgstr ""
"Language: ru\n"
"X-Language-Name: Русский\n"
"Plural-Forms: nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) "
"? 1 : 2);\n"

msgid "{count:,} event"
msgid_plural "{count:,} events"
msgstr[0] "{count:,} событие"
msgstr[1] "{count:,} события"
msgstr[2] "{count:,} событий"

msgid "Open"
msgstr "Открыть"

msgctxt "state"
msgid "Open"
msgstr "Открыто"

#, fuzzy
msgid "Close"
msgstr "Закрыто?"

msgid "{count} of {whole}"
msgstr "{count} из {hole}"

msgid "two\nlines \"quoted\""
msgstr ""
"две\n"
"строки \"в кавычках\""

msgctxt "data"
msgid "GPU {number}"
msgstr "ГП {number}"

msgctxt "data"
msgid "Stream {number}"
msgstr "Поток {number}"

msgctxt "data"
msgid "Stream {number} · NVTX"
msgstr "NVTX потока {number}"

msgctxt "data"
msgid "{kind} {path}"
msgstr "{path} {kind}"

msgctxt "data"
msgid "default"
msgstr "основной"

msgctxt "data"
msgid "The first step is left out"
msgid_plural "The first {count:,} steps are left out"
msgstr[0] "{count:,} шаг пропущен"
msgstr[1] "{count:,} шага пропущено"
msgstr[2] "{count:,} шагов пропущено"

msgctxt "data"
msgid "{count:,} event without an end"
msgid_plural "{count:,} events without an end"
msgstr[0] "{count:,} событие без конца"
msgstr[1] "{count:,} события без конца"
msgstr[2] "{count:,} событий без конца"

msgctxt "data"
msgid "the file is cut: {reason}; what came before is kept"
msgstr "файл обрезан ({reason}), остальное сохранено"

msgctxt "data"
msgid "the list of events has no end"
msgstr "список событий не закончен"
"""


@pytest.fixture(autouse=True)
def english_afterwards() -> Iterator[None]:
    yield
    use(None)


@pytest.fixture
def russian() -> Catalogue:
    catalogue = Catalogue(entries(RUSSIAN))
    use(catalogue)
    return catalogue


def test_english_is_the_text_itself() -> None:
    assert tr("Open a capture") == "Open a capture"
    assert tr("{count} events in {name}", count=3, name="x{y}") == "3 events in x{y}"
    assert tr("") == ""


def test_braces_are_left_alone_without_values() -> None:
    assert tr("a {literal} brace") == "a {literal} brace"
    assert english("a {literal} brace") == "a {literal} brace"


def test_fields_are_filled_after_translating(russian: Catalogue) -> None:
    assert tr_n("{count:,} event", "{count:,} events", 2000) == "2,000 событий"
    assert tr("unknown {field}", field=1) == "unknown 1"


def test_the_header_is_no_text(russian: Catalogue) -> None:
    assert tr("") == ""
    assert translated("") == ""


def test_a_context_tells_two_meanings_apart(russian: Catalogue) -> None:
    assert (tr("Open"), tr("Open", "state")) == ("Открыть", "Открыто")
    assert tr("Open", "elsewhere") == "Open"


def test_a_guess_of_a_tool_is_not_shown(russian: Catalogue) -> None:
    assert tr("Close") == "Close"


def test_a_slip_in_a_translation_costs_the_translation_only(russian: Catalogue) -> None:
    assert tr("{count} of {whole}", count=1, whole=2) == "1 of 2"


def test_lines_and_quotation_marks_survive(russian: Catalogue) -> None:
    assert tr('two\nlines "quoted"') == 'две\nстроки "в кавычках"'


def test_plural() -> None:
    assert tr_n("{count} event", "{count} events", 1) == "1 event"
    assert tr_n("{count} event", "{count} events", 0) == "0 events"
    assert (
        english_n("{count:,} piece of {what}", "{count:,} pieces of {what}", 1200, what="x")
        == "1,200 pieces of x"
    )


@pytest.mark.parametrize(
    ("count", "text"),
    [(1, "1 событие"), (3, "3 события"), (5, "5 событий"), (11, "11 событий"), (21, "21 событие")],
)
def test_plurals_of_any_language(russian: Catalogue, count: int, text: str) -> None:
    assert tr_n("{count:,} event", "{count:,} events", count) == text
    assert translated(
        english_n("{count:,} event without an end", "{count:,} events without an end", count)
    ) == (f"{text} без конца")


def test_a_one_that_english_leaves_out_is_there_for_others(russian: Catalogue) -> None:
    texts = "The first step is left out", "The first {count:,} steps are left out"
    shown = [translated(english_n(*texts, count)) for count in (1, 2, 5)]
    assert shown == ["1 шаг пропущен", "2 шага пропущено", "5 шагов пропущено"]


def test_data_is_english_and_shown_translated(russian: Catalogue) -> None:
    title = english("GPU {number}", number=3)
    assert title == "GPU 3"
    assert translated(title) == "ГП 3"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GPU 0 · NVIDIA H200 · mine", "ГП 0 · NVIDIA H200 · mine"),
        ("Stream 7 · default", "Поток 7 · основной"),
        ("Stream 7 · NVTX", "NVTX потока 7"),
        (
            "the file is cut: the list of events has no end; what came before is kept",
            "файл обрезан (список событий не закончен), остальное сохранено",
        ),
        ("nvtx: the list of events has no end", "nvtx: список событий не закончен"),
        (
            "1,234 events without an end; 1 event without an end",
            "1,234 события без конца; 1 событие без конца",
        ),
        ("python train.py [71]", "python train.py [71]"),
        ("Streams 7", "Streams 7"),
        ("many events without an end", "many events without an end"),
    ],
)
def test_texts_put_together_are_translated_part_by_part(russian: Catalogue, text: str, shown: str) -> None:
    assert translated(text) == shown
    use(None)
    assert translated(text) == text


@pytest.mark.parametrize(
    "document", ['msgid "open', "msgid open", 'msgstr "of nothing"', 'msgid "a"\nmsgstr "b"\nhello']
)
def test_a_damaged_catalogue_is_refused(document: str) -> None:
    with pytest.raises(PoError):
        list(entries(document))


# languages


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Resources of a test's own, with a catalogue for Russian."""
    translations = tmp_path / "translations"
    translations.mkdir()
    (translations / "ru.po").write_text(RUSSIAN, "utf-8")
    monkeypatch.setattr(resources, "root", lambda: tmp_path)
    return translations


def test_a_language_is_one_file(folder: Path) -> None:
    (folder / "de.po").write_text(
        'msgid ""\nmsgstr "Language: de\\nX-Language-Name: Deutsch\\n"\n\nmsgid "Open…"\nmsgstr "Öffnen…"\n',
        "utf-8",
    )
    assert languages() == {"en": "English", "de": "Deutsch", "ru": "Русский"}
    install("de")
    assert tr("Open…") == "Öffnen…"
    install("en")
    assert tr("Open…") == "Open…"


def test_an_unknown_language_is_english(folder: Path) -> None:
    install("ru")
    install("xx")
    assert tr("Open") == "Open"


def test_a_damaged_language_is_english_and_says_so(folder: Path) -> None:
    (folder / "de.po").write_text('msgid "Open\n', "utf-8")
    with pytest.warns(UserWarning, match=r"de\.po.*not understood"):
        install("de")
    assert tr("Open") == "Open"
    assert languages() == {"en": "English", "ru": "Русский"}


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh_CN"),
        ({"LANG": "zh_TW.UTF-8"}, "zh_CN"),
        ({"LC_ALL": "zh_CN.UTF-8", "LANG": "de_DE.UTF-8"}, "zh_CN"),
        ({"LC_MESSAGES": "zh_CN", "LANG": "de_DE.UTF-8"}, "zh_CN"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8", "LANGUAGE": "de:zh_CN"}, "zh_CN"),
        ({"LANG": "zh_CN.UTF-8", "LANGUAGE": "en_GB:zh"}, "en"),
        ({"LANG": "C.UTF-8", "LANGUAGE": "zh_CN"}, "en"),
        ({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_language_of_the_system_is_found(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], language: str
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANGUAGE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert system_language() == language
    install("system")
    assert (tr("Open…") == "Open…") == (language == "en")
    assert i18n.languages()["zh_CN"] == "简体中文"
