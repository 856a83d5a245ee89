"""Characters that spreadsheets or XML give a meaning of their own."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from warpline.untrusted import spreadsheet_text, xml_text


@pytest.mark.parametrize(
    "text",
    ["=1", "\n=1", "  =1", "\u2028=1", "＝1", ";=1", "\t=1", "\r", "＠a", "+1", "-1", " ; =1", "\ufeff=1"],
)
def test_no_cell_begins_with_a_formula(text: str) -> None:
    cells = spreadsheet_text(text).split(";")
    assert cells[0].startswith("'")
    assert not any(cell.lstrip().startswith(("=", "＝")) for cell in cells)


@pytest.mark.parametrize("text", ["", "name", "a - b", "std::vector<int>", "x=1", "a; b", "f(a;b)"])
def test_other_cells_are_not_changed(text: str) -> None:
    assert spreadsheet_text(text) == text


def test_control_characters_make_no_broken_xml() -> None:
    every = "".join(map(chr, range(0x20))) + "\ud800\ufffe\uffffa"
    (text,) = ET.fromstring(f"<a><b>{xml_text(every)}</b></a>").itertext()
    assert text.count("\ufffd") == 29 + 3
    assert xml_text("a\tb\nc é 漢") == "a\tb\nc é 漢"
