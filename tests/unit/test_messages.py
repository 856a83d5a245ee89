"""English texts that remember their message, in memory and in a capture, and how they are translated."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from warpline.i18n import english, english_n, joined, sentences, translated, use
from warpline.i18n.catalogue import Catalogue
from warpline.i18n.message import MAX_MESSAGES, Message, message_table, messages_in, read_messages
from warpline.i18n.po import entries
from warpline.storage import CaptureBuilder, open_capture

GERMAN = """
msgid ""
msgstr "Plural-Forms: nplurals=2; plural=(n != 1);"

msgctxt "data"
msgid "GPU {number}"
msgstr "Grafikkarte {number}"

msgctxt "data"
msgid "Context of {program}"
msgstr "Kontext von {program}"

msgctxt "data"
msgid "{program} was left out"
msgstr "{program} fehlt"

msgctxt "data"
msgid "{count:,} event without an end"
msgid_plural "{count:,} events without an end"
msgstr[0] "ein Ereignis ohne Ende"
msgstr[1] "{count:,} Ereignisse ohne Ende"

msgctxt "data"
msgid "page faults"
msgstr "Seitenfehler"
"""


LOST = ("{count:,} event without an end", "{count:,} events without an end")


@pytest.fixture
def german() -> Iterator[None]:
    use(Catalogue(entries(GERMAN)))
    yield
    use(None)


@pytest.mark.usefixtures("german")
def test_a_message_is_translated_by_its_template_and_not_by_how_it_reads() -> None:
    text = english("GPU {number}", number="seven")
    assert translated(str(text)) == "GPU seven", "a guess takes numbers to be digits"
    assert translated(text) == "Grafikkarte seven"
    assert translated(english("GPU {number}").format(number=3)) == "Grafikkarte 3"


@pytest.mark.usefixtures("german")
def test_counted_joined_and_nested_messages_are_translated() -> None:
    assert [translated(english_n(*LOST, count)) for count in (1, 2000)] == [
        "ein Ereignis ohne Ende",
        "2,000 Ereignisse ohne Ende",
    ]
    gpu = english("GPU {number}", number=0)
    title = joined(" · ", [gpu, "page faults", "H200"])
    assert (title, translated(title)) == ("GPU 0 · page faults · H200", "Grafikkarte 0 · Seitenfehler · H200")
    assert translated(english("Context of {program}", program=gpu)) == "Kontext von Grafikkarte 0"
    assert joined("; ", ["a"]) == "a"
    assert type(joined("; ", ["a", "b"])) is str


def test_messages_are_copied_and_sent_elsewhere_whole() -> None:
    text = english("GPU {number}", number=0)
    assert isinstance(text, Message)
    for twin in (copy.copy(text), copy.deepcopy(text), pickle.loads(pickle.dumps(text))):
        assert (twin, twin.template, twin.fields) == ("GPU 0", "GPU {number}", {"number": 0})


def write(path: Path) -> Path:
    with CaptureBuilder(path) as builder:
        gpu = english("GPU {number}", number=0)
        track = builder.track("gpu/0", title=joined(" · ", [gpu, "H200"]), role="gpu")
        builder.add_events(
            track, "range", [0], 5, builder.string(english("Context of {program}", program=gpu))
        )
        builder.add_warning(english("{program} was left out", program="perf"), is_loss=True)
        builder.add_source("perf", False, english("{program} was left out", program=Path("perf")))
        builder.add_skipped("events", 2, english_n(*LOST, 2))
        return builder.finish()


@pytest.mark.usefixtures("german")
def test_a_capture_keeps_the_messages_of_its_texts_beside_them(tmp_path: Path) -> None:
    with open_capture(write(tmp_path / "x.h5")) as capture:
        shown = {
            "title": capture.tracks[0].title,
            "name": capture.strings[int(capture.events.name[0])],
            "warning": capture.warnings[0],
            "loss": capture.meta["incomplete"][0],
            "reason": capture.sources[0].reason,
            "skipped": capture.skipped[0].reason,
        }
        assert capture.unknown == ()
    assert shown["title"] == "GPU 0 · H200", "English for whoever asks for the text"
    assert {key: translated(text) for key, text in shown.items()} == {
        "title": "Grafikkarte 0 · H200",
        "name": "Kontext von Grafikkarte 0",
        "warning": "perf fehlt",
        "loss": "perf fehlt",
        "reason": "perf fehlt",
        "skipped": "2 Ereignisse ohne Ende",
    }
    with h5py.File(tmp_path / "x.h5") as file:
        document = json.loads(file["meta"][:].tobytes())
    assert document["warnings"] == ["perf was left out"]
    assert document["messages"]["GPU {number}"] == {"GPU 0": {"number": 0}}
    assert document["messages"]["{0} · {1}"] == {"GPU 0 · H200": {"0": "GPU 0", "1": "H200"}}


def test_a_capture_without_messages_has_no_table(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.add_events(builder.track("a", title="A"), "range", [0], 5, builder.string("x"))
        builder.finish()
    with h5py.File(tmp_path / "x.h5") as file:
        assert "messages" not in json.loads(file["meta"][:].tobytes())


@pytest.mark.usefixtures("german")
@pytest.mark.parametrize(
    "table",
    [None, 5, [], {"a": 5}, {"a": {"b": []}}, {"GPU {number}": {"GPU 0": {}}},
     {"GPU {number}": {"GPU 0": {"number": None}}}, {"{count:,} event without an end": {"GPU 0": {"count": "x"}}},
     {"{0:99999999999}": {"GPU 0": {"0": "x"}}}, {"{0.__class__}": {"GPU 0": {"0": "x"}}},
     {"{0}{1}": {"GPU 0": {"0": "GPU 0", "1": "GPU 0"}}}, {"{0}": {"GPU 0": {"0": "GPU 1"}, "GPU 1": {"0": "GPU 0"}}},
     {"{0}{1}": {"GPU 0": {"0": "x"}}}],
)  # fmt: skip
def test_a_damaged_table_costs_no_more_than_the_translation(table: object) -> None:
    messages = read_messages(table)
    assert translated(messages.get("GPU 0", "GPU 0"))[-1:] in "0x1e"


def test_deep_and_many_messages_are_bounded() -> None:
    deep: dict[str, dict[str, object]] = {"x" * n: {"0": "x" * (n - 1)} for n in range(2, 3000)}
    use(Catalogue(entries(GERMAN)))
    try:
        assert translated(read_messages({"{0}": deep})["x" * 2999])
    finally:
        use(None)
    many = [english("GPU {number}", number=number) for number in range(MAX_MESSAGES + 5)]
    assert len(message_table(messages_in(many))["GPU {number}"]) == MAX_MESSAGES


def test_numpy_numbers_are_stored_as_text_that_reads_the_same() -> None:
    table = message_table(messages_in([english("GPU {number}", number=np.int64(3))]))
    assert table == {"GPU {number}": {"GPU 3": {"number": "3"}}}


def test_no_space_follows_a_wide_full_stop() -> None:
    """Chinese sentences stand next to each other; empty ones leave no gap in any language."""
    assert sentences(["One.", "", "Two."]) == "One. Two."
    assert sentences(["一。", "二。", "Three."]) == "一。二。Three."


def test_joined_sentences_are_joined_as_their_language_does() -> None:
    entry = 'msgctxt "data"\nmsgid "One."\nmsgstr "一。"\n\nmsgctxt "data"\nmsgid "Two."\nmsgstr "二。"\n'
    message = joined(" ", [english("One."), english("Two.")])
    assert Catalogue(entries(entry)).data(message) == "一。二。"
