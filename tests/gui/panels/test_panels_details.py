"""What is said of the selected event, and the panel that says it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import CONTROL, LEFT, OpenPage, kernel
from tests.gui.sample import GEMM, MS

from warpline.model.sizes import format_bytes
from warpline.storage import Capture, CaptureBuilder, open_capture
from warpline_app.open.background import wait_for_jobs
from warpline_app.panels.details.panel import DetailsPanel
from warpline_app.panels.facts.event_facts import event_facts
from warpline_app.window.main_window import MainWindow


def facts_of(capture: Capture, row: int) -> dict[str, dict[str, str]]:
    return {
        section.title: {fact.title: fact.value for fact in section.facts}
        for section in event_facts(capture, row).sections
    }


def test_nothing_is_missed_that_the_row_of_an_event_tells(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "slices.h5") as builder:
        builder.set_span(0, 100)
        process = builder.add_process(71, name="python")
        thread = builder.add_thread(process, 74, name="loader")
        core = builder.track("cpu/0", title="Core 0", role="core")
        own = builder.track(
            "process/71/thread/74/cpu", title="Core", role="thread_cpu", process=process, thread=thread
        )
        python = builder.string("python")
        unknown = {name: np.ma.masked_all(1, np.int64) for name in ("process", "thread")}
        builder.add_events(core, "cpu_slice", [0], [50], python, attributes=unknown)
        builder.add_events(own, "cpu_slice", [0], [50], python, attributes=unknown)
        builder.finish()
    with open_capture(tmp_path / "slices.h5") as capture:
        of_core, of_thread = (
            facts_of(capture, int(capture.rows_of_track(capture.track(uri).index).start))
            for uri in ("cpu/0", "process/71/thread/74/cpu")
        )
    assert {"Process", "Thread"} <= set(of_core["Not recorded"][""].split(", "))
    assert of_thread["Where"] == {"Process": "python  [71]", "Thread": "loader  74"}
    assert not {"Process", "Thread"} & set(of_thread.get("Not recorded", {"": ""})[""].split(", "))


def test_facts_of_a_kernel_have_units_and_say_what_is_missing(capture: Capture) -> None:
    facts = facts_of(capture, kernel(capture, 4))  # the fifth kernel: number 5 of 40, one copy before it
    assert facts[""] == {
        "Start": "20.000000 ms",
        "Duration": "1.05000 ms",
        "End": "21.050000 ms",
        "Launch delay": "150.0 µs",
    }
    assert facts["Where"]["Stream"] == "7"
    assert facts["Where"]["Device"] == "0  H100"
    assert facts["Kernel"]["Grid"] == "56 × 2 × 1"
    assert facts["Kernel"]["Block"] == "384 × 1 × 1"
    assert facts["Kernel"]["Registers per thread"] == "168"
    assert facts["Kernel"]["Dynamic shared memory"] == "64 KiB  (65,536)"
    assert facts["Identifiers"]["Correlation id"] == "1005"
    assert "Entered the queue" in facts["Not recorded"][""]


def test_facts_of_a_copy_tell_direction_and_throughput(capture: Capture) -> None:
    row = int(capture.kinds["memcpy"].rows[0])  # number 3: 1 MiB in 1.03 ms
    facts = facts_of(capture, row)["Memory copy"]
    assert facts["Direction"] == "host to device"
    assert facts["Size"] == "1 MiB  (1,048,576)"
    assert facts["Throughput"] == f"{(1 << 20) / 1.03e-3 / 2**20:.4g} MiB/s"


def test_links_lead_both_ways_with_the_delay(capture: Capture) -> None:
    work = kernel(capture, 0)
    (section,) = [s for s in event_facts(capture, work).sections if s.title == "Links"]
    (fact,) = section.facts
    assert (fact.title, fact.note) == ("Launched by", "150.0 µs after its end")
    assert fact.row is not None
    assert capture.strings[int(capture.events.name[fact.row])] == "cudaLaunchKernel"
    (back,) = [s for s in event_facts(capture, fact.row).sections if s.title == "Links"]
    assert (back.facts[0].title, back.facts[0].row, back.facts[0].note) == (
        "Launched",
        work,
        "150.0 µs after the end",
    )


def test_nesting_is_told_upwards_and_downwards(capture: Capture) -> None:
    step = next(row for row in capture.kinds["range"].rows.tolist() if name_of(capture, row) == "step 1")
    (inside,) = [s for s in event_facts(capture, step).sections if s.title.startswith("Contains")]
    assert inside.title == "Contains 4 events"
    assert (inside.facts[0].title, inside.facts[0].value) == ("Own time", "4.00000 ms")
    assert {fact.note for fact in inside.facts[1:]} == {"20 %"}
    child = inside.facts[1].row
    assert child is not None
    (above,) = [s for s in event_facts(capture, child).sections if s.title == "Nested in"]
    assert [fact.row for fact in above.facts] == [step]


def name_of(capture: Capture, row: int) -> str:
    return capture.strings[int(capture.events.name[row])]


def test_every_event_of_the_capture_has_facts(capture: Capture) -> None:
    for row in range(len(capture.events)):
        facts = event_facts(capture, row)
        assert facts.kind_title
        assert facts.sections[0].facts
    with pytest.raises(IndexError):
        event_facts(capture, len(capture.events))


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (9_999, "9,999 B"), (10_240, "10 KiB"), (1 << 40, "1 TiB"), (3 << 42, "12 TiB")],
)
def test_sizes_for_people(size: int, text: str) -> None:
    assert format_bytes(size) == text


def test_clicking_an_event_shows_it_and_its_links_lead_on(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    state, capture = page.document.state, page.document.capture
    panel = window.panels.panel("details")
    assert isinstance(panel, DetailsPanel)
    state.set_view(12 * MS, 13 * MS)
    state.select(kernel(capture, 1))
    qtbot.waitUntil(lambda: panel.name.toolTip() == GEMM, timeout=60_000)
    tree = panel.tree
    heads = [tree.topLevelItem(index) for index in range(tree.topLevelItemCount())]
    links = next(item for item in heads if item is not None and item.text(0) == "Links")
    line = links.child(0)
    assert line is not None
    tree.scrollToItem(line)
    where = tree.visualItemRect(line).center()
    qtbot.mouseClick(tree.viewport(), LEFT, pos=where)
    assert state.selection is not None
    assert name_of(capture, state.selection) == "cudaLaunchKernel"
    start, stop = capture.event_span(state.selection)
    assert state.view[0] <= start
    assert stop <= state.view[1]
    qtbot.waitUntil(lambda: panel.facts is not None and panel.facts.row == state.selection, timeout=60_000)
    tree.clearSelection()
    qtbot.keyClick(tree, Qt.Key.Key_C, CONTROL)
    assert "Start\t" in QGuiApplication.clipboard().text()


def test_the_details_follow_another_origin(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    page.document.state.select(kernel(page.document.capture, 0))
    page.document.state.set_origin(9 * MS)
    panel = window.panels.panel("details")
    assert isinstance(panel, DetailsPanel)
    qtbot.waitUntil(lambda: panel.facts is not None and panel.facts.row >= 0, timeout=60_000)
    assert panel.facts is not None
    assert panel.facts.sections[0].facts[0].value.startswith("1")


def test_a_question_that_others_cancelled_is_asked_again(
    qtbot: QtBot, open_page: OpenPage, window: MainWindow, sample: Path
) -> None:
    page = open_page(sample)
    window.panels.show_panel("details")
    panel = window.panels.panel("details")
    assert isinstance(panel, DetailsPanel)
    qtbot.waitUntil(lambda: panel.is_settled, timeout=60_000)
    page.document.state.select_range(MS, 3 * MS)
    panel.refresh()
    assert panel.is_busy
    wait_for_jobs()  # cancels them all
    qtbot.waitUntil(lambda: panel.is_settled, timeout=60_000)
