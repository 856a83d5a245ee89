"""Translations: complete enough to use, with the same fields as the English texts, and shown."""

from __future__ import annotations

import importlib.util
import json
import string
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from warpline import i18n
from warpline_app.look import translation
from warpline_app.session.settings import Settings
from warpline_app.window.main_window import MainWindow

# Texts of the last days may be waiting for a translator; a language that falls behind is no language.
SHARE_TRANSLATED = 0.9


@pytest.fixture
def english_again() -> Iterator[None]:
    yield
    i18n.set_translator(None)


@pytest.fixture(scope="module")
def extraction(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "extract_texts", repository / "scripts" / "extract_texts.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def catalogues(repository: Path) -> list[Path]:
    return sorted((repository / "resources" / "translations").glob("*.json"))


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_translations_have_the_fields_of_their_texts(repository: Path) -> None:
    assert [path.stem for path in catalogues(repository)] == ["zh_CN"]
    for path in catalogues(repository):
        for texts in json.loads(path.read_text(encoding="utf-8")).values():
            for english, translated in texts.items():
                assert fields(translated) == fields(english), english
                assert translated.strip()


def test_the_window_is_translated(
    repository: Path, extraction: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "SOURCES", (repository / "app" / "warpline_app",))
    texts = extraction.all_texts()
    total = sum(len(found) for found in texts.values())
    assert total > 300
    for path in catalogues(repository):
        lacking = extraction.missing_texts(json.loads(path.read_text(encoding="utf-8")), texts)
        assert sum(len(found) for found in lacking.values()) <= (1 - SHARE_TRANSLATED) * total, lacking


def test_the_chosen_language_is_spoken(settings: Settings, english_again: None) -> None:
    translation.install("zh_CN")
    window = MainWindow(settings)
    assert [menu.title() for menu in window.menus.values()] == ["文件", "视图", "导航", "分析", "帮助"]
    assert window.tool_row.search.placeholderText() == "搜索名称，/正则/"
    window.close()
    translation.install("en")
    assert i18n.tr("Open…") == "Open…"


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh_CN"),
        ({"LC_ALL": "zh_CN.UTF-8", "LANG": "de_DE.UTF-8"}, "zh_CN"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
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
    assert translation.system_language() == language


def test_an_unknown_language_is_english(english_again: None) -> None:
    translation.install("zh_CN")
    translation.install("xx")
    assert i18n.tr("Open…") == "Open…"
