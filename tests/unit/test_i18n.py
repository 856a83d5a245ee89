"""Text without Qt, and with a translator installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from warpline.i18n import set_translator, tr, tr_n


@pytest.fixture(autouse=True)
def english_afterwards() -> Iterator[None]:
    yield
    set_translator(None)


def test_english_is_the_text_itself() -> None:
    assert tr("Open a capture") == "Open a capture"
    assert tr("{count} events in {name}", count=3, name="x{y}") == "3 events in x{y}"


def test_braces_are_left_alone_without_values() -> None:
    assert tr("a {literal} brace") == "a {literal} brace"


def test_fields_are_filled_after_translating() -> None:
    set_translator(lambda _context, text: {"{n} events": "{n} 个事件"}.get(text, text))
    assert tr("{n} events", n=7) == "7 个事件"
    assert tr("unknown") == "unknown"


def test_the_translator_gets_the_context() -> None:
    seen: list[tuple[str, str]] = []

    def remember(context: str, text: str) -> str:
        seen.append((context, text))
        return text

    set_translator(remember)
    tr("Open", "menu")
    assert seen == [("menu", "Open")]


def test_plural() -> None:
    assert tr_n("{count} event", "{count} events", 1) == "1 event"
    assert tr_n("{count} event", "{count} events", 0) == "0 events"
