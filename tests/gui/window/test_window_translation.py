"""Translations: complete enough to use, with the same fields as the English texts, and shown."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from warpline import i18n
from warpline.i18n.po import read_po
from warpline_app.session.settings import Settings
from warpline_app.window.main_window import MainWindow

# Texts of the last days may be waiting for a translator; a language that falls behind is no language.
SHARE_TRANSLATED = 0.9


@pytest.fixture
def english_again() -> Iterator[None]:
    yield
    i18n.use(None)


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
    return sorted((repository / "resources" / "translations").glob("*.po"))


def test_catalogues_are_sound(repository: Path, extraction: ModuleType) -> None:
    """Translations have the fields of their texts, and all the forms that their language has."""
    assert "zh_CN" in [path.stem for path in catalogues(repository)]
    texts = extraction.all_texts()
    assert len(texts) > 1000
    for path in catalogues(repository):
        found = list(extraction.problems(read_po(path), texts))
        assert not [text for text in found if not text.startswith(("missing", "no longer"))]


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
    assert [menu.title() for menu in window.menus.values()] == ["文件", "视图", "导航", "分析", "帮助"]
    assert window.tool_row.search.placeholderText() == "搜索名称，/正则/"
    window.close()
    i18n.install("en")
    assert i18n.tr("Open…") == "Open…"
