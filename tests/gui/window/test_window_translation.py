"""Translations: complete enough to use, with the same fields as the English texts, and shown."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from pytestqt.qtbot import QtBot

from warpline import i18n, resources
from warpline.cli import main
from warpline.i18n.po import Entry, entries, read_po
from warpline.storage import open_capture
from warpline_app.dialogs.preferences import PreferencesDialog
from warpline_app.remembered.settings import Settings
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

# Texts of the last days may be waiting for a translator; a language that falls behind is no language.
SHARE_TRANSLATED = 0.9


@pytest.fixture
def english_again() -> Iterator[None]:
    yield
    i18n.use(None)


@pytest.fixture(scope="module")
def extraction(repository: Path) -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(repository / "scripts")
        yield importlib.import_module("extract_texts")


def catalogues(repository: Path) -> list[Path]:
    return sorted((repository / "resources" / "translations").glob("*.po"))


def test_catalogues_are_in_step_with_the_code(repository: Path, extraction: ModuleType) -> None:
    """Every catalogue holds the texts of the program and no others, with their fields and their plural forms."""
    assert "zh_CN" in [path.stem for path in catalogues(repository)]
    texts = extraction.all_texts()
    assert len(texts) > 1000
    for path in catalogues(repository):
        assert not list(extraction.problems(read_po(path), texts)), "run: python scripts/extract_texts.py"


def test_the_desktop_is_told_in_every_language(repository: Path, extraction: ModuleType) -> None:
    for path, content in extraction.files_of_desktop().items():
        assert path.read_text("utf-8") == content, "run: python scripts/extract_texts.py"
    assert "[zh_CN]=" in (repository / "packaging" / "linux" / "warpline.desktop").read_text("utf-8")


def test_a_catalogue_out_of_step_is_told(extraction: ModuleType) -> None:
    text = extraction.Text
    texts = [text("", "Open"), text("", "{count} event", "{count} events"), text("data", "GPU {number}")]
    header = Entry(
        "", "", "", ("Language: pl\nX-Language-Name: Polski\nPlural-Forms: nplurals=3; plural=n%3;\n",)
    )
    begun = extraction.updated([header], texts)
    assert not list(extraction.problems(begun, texts))
    assert extraction.share_translated(begun) == (0, 3)
    assert [len(entry.translations) for entry in begun] == [1, 1, 3, 1]
    wrong = [
        header._replace(translations=("Language: pl\nPlural-Forms: nplurals=2; plural=n%3;\n",)),
        Entry("", "Open", "", ("Otwórz {co}",)),
        Entry("", "Close", "", ("Zamknij",)),
        Entry("", "{count} event", "{count} events", ("{count} zdarzenie",)),
    ]
    told = "\n".join(extraction.problems(wrong, texts))
    for problem in (
        "the header has no X-Language-Name",
        "its rule leaves its 2 forms",
        "other fields than its text: 'Otwórz {co}'",
        "no longer in the code: 'Close'",
        "not with its 2 plural forms: '{count} event'",
        "missing: 'GPU {number}' data",
    ):
        assert problem in told


def test_a_catalogue_is_written_as_it_is_read(repository: Path, extraction: ModuleType) -> None:
    for path in catalogues(repository):
        assert extraction.format_po(read_po(path)) == path.read_text("utf-8")
    odd = [Entry("c", 'two\nlines, a \\ and a "', "", ("eins\n\nzwei\t",), ("# for you",))]
    assert list(entries(extraction.format_po(odd))) == odd


def test_the_window_is_translated(
    repository: Path, extraction: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "SOURCES", (repository / "app" / "warpline_app",))
    shown = {(text.context, text.text) for text in extraction.all_texts()}
    assert len(shown) > 300
    for path in catalogues(repository):
        found = [entry for entry in read_po(path) if (entry.context, entry.text) in shown]
        lacking = [entry.text for entry in found if not entry.is_translated]
        assert len(lacking) <= (1 - SHARE_TRANSLATED) * len(shown), lacking


def test_the_chosen_language_is_spoken(settings: Settings, english_again: None) -> None:
    i18n.install("zh_CN")
    window = MainWindow(settings)
    assert [menu.title() for menu in window.menus.values()] == [
        "文件(&F)",
        "视图(&V)",
        "导航(&N)",
        "分析(&A)",
        "帮助(&H)",
    ]
    assert window.tool_row.search.placeholderText() == "搜索名称，/正则/"
    window.close()
    i18n.install("en")
    assert i18n.tr("Open…") == "Open…"


GERMAN = """
msgid ""
msgstr ""
"Language: de\\n"
"X-Language-Name: Deutsch\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

msgctxt "command"
msgid "File"
msgstr "Datei"

msgid "{count:,} event"
msgid_plural "{count:,} events"
msgstr[0] "{count:,} Ereignis"
msgstr[1] "{count:,} Ereignisse"

msgctxt "data"
msgid "Stream {number}"
msgstr "Strom {number}"

msgctxt "data"
msgid "show what a capture contains and what was not recorded"
msgstr "was eine Aufnahme enthält und was fehlt"
"""


@pytest.fixture
def german(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, english_again: None) -> None:
    """An installation to whose translations one file was added."""
    root = tmp_path / "resources"
    shutil.copytree(resources.root(), root)
    (root / "translations" / "de.po").write_text(GERMAN, "utf-8")
    monkeypatch.setattr(resources, "root", lambda: root)


def test_a_third_language_is_one_file(
    german: None,
    settings: Settings,
    sample: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dialog = PreferencesDialog(settings)
    offered = {
        dialog.language.itemData(i): dialog.language.itemText(i) for i in range(dialog.language.count())
    }
    assert offered == {"system": "Follow the system", "en": "English", "de": "Deutsch", "zh_CN": "简体中文"}
    dialog.language.setCurrentIndex(dialog.language.findData("de"))
    assert settings.language == "de"
    dialog.close()
    i18n.install(settings.language)
    window = MainWindow(settings)
    assert next(iter(window.menus.values())).title() == "Datei(&F)"
    window.close()
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert main(["--help"]) == 0
    assert "was eine Aufnahme enthält und was fehlt" in capsys.readouterr().out
    assert main(["info", str(sample)]) == 0
    assert " Ereignisse in " in capsys.readouterr().out


def test_stored_titles_are_shown_in_the_language_of_the_window(
    qtbot: QtBot, open_page: Callable[[Path], CapturePage], sample: Path, english_again: None
) -> None:
    i18n.install("zh_CN")
    page = open_page(sample)
    with open_capture(sample) as capture:
        titles = {track.title for track in capture.tracks}
    assert "Stream 7" in titles
    shown = {row.title for row in page.view.scene.tree.root.walk()}
    assert "流 7" in shown
    assert "Stream 7" not in shown
