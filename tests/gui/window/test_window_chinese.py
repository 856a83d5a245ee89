"""The window in Chinese: every panel, dialog, tab and menu is read, and no English word is left that is no term."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import (
    QApplication,
    QMessageBox,
)
from pytestqt.qtbot import QtBot
from tests.benchmarks.jobs.generate_job import ALL_REDUCE, JobPlan, write_job
from tests.gui.chinese_words import WORD, english_in, menu_texts, terms, texts_of, words_of
from tests.gui.comparison.comparison_sample import write_run
from tests.gui.wait_sample import write_wait_sample

from warpline import i18n
from warpline.analysis.framework.registry import reports
from warpline.storage import CaptureBuilder
from warpline_app.comparison.changes import METADATA
from warpline_app.comparison.page import ComparisonPage
from warpline_app.dialogs import doctor, new_capture
from warpline_app.job.cell_text import cell_lines
from warpline_app.job.page import JobPage
from warpline_app.look.application import speak
from warpline_app.open import background
from warpline_app.open.comparing import ComparedPair
from warpline_app.panels.events.panel import EventsPanel
from warpline_app.panels.findings.panel import FindingsPanel
from warpline_app.panels.frame.registry import all_panels
from warpline_app.panels.summary.panel import SummaryPanel
from warpline_app.recording.doctor_report import parse_doctor
from warpline_app.recording.process import RecordingProcess
from warpline_app.recording.recording import Recording
from warpline_app.recording.request import RecordingRequest
from warpline_app.remembered.settings import Settings
from warpline_app.timeline.model.search import SearchQuery, find_events
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow
from warpline_app.window.recording_page import RecordingPage

DIALOGS = (
    "view.preferences",
    "help.keys",
    "help.about",
    "file.new_capture",
    "file.export",
    "help.palette",
    "file.open",
)

WINDOWS = (
    "help.doctor",
    "file.join_ranks",
    "file.compare_with",
    "file.open_job",
    "file.open_job_files",
    "file.new_capture",
    "view.preferences",
    "file.export",
)
NO_GPU = "install the NVIDIA driver, or give the container access to the GPU"
SOURCES = (
    ("perf", "Thread states and cores, exact (perf events)", "kernel.perf_event_paranoid = 2", ""),
    (
        "wakeups",
        "Wake-ups: which thread woke which, and waits for a core separate from blocking (tracepoints)",
        "",
        "",
    ),
    ("nvml", "GPU load, memory, power, clocks, temperature (NVML)", "no NVIDIA driver", NO_GPU),
    ("cuda", "CUDA calls and GPU work (CUPTI)", "no NVIDIA driver: libcuda.so.1 was not found", NO_GPU),
    (
        "osrt",
        "Blocking calls, locks and the GIL, with their lines (from inside the program)",
        "lines and the GIL: works with Python 3.11.7",
        "",
    ),
    (
        "steps",
        "Steps, phases and modules of PyTorch and Paddle (from inside the program)",
        "works with Python 3.11.7; PyTorch, Paddle and JAX are hooked, TensorFlow is not",
        "",
    ),
    (
        "native",
        "Native stacks of running threads, sampled (perf events)",
        "kernel.perf_event_paranoid = 2; inside the kernel too",
        "",
    ),
)
"""Name, title, reason and remedy: what ``warpline doctor`` answered on a machine without a GPU."""
ANSWER = {
    "sources": [
        {"name": name, "title": title, "available": not remedy, "reason": reason, "remedy": remedy}
        for name, title, reason, remedy in SOURCES
    ]
}


@pytest.fixture
def chinese(settings: Settings) -> Iterator[MainWindow]:
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    translator = speak(application, i18n.install("zh_CN"))
    assert translator is not None
    window = MainWindow(settings)
    window.resize(1600, 1000)
    window.show()
    yield window
    window.close()
    application.removeTranslator(translator)
    i18n.use(None)


def test_no_english_is_left_in_menus_and_on_the_start_page(chinese: MainWindow) -> None:
    allowed = terms()
    found = english_in(texts_of(chinese), allowed)
    for menu in chinese.menus.values():
        menu.aboutToShow.emit()
        found += english_in(menu_texts(menu), allowed)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("which", ["sample", "waits"])
def test_no_english_is_left_in_any_panel(
    qtbot: QtBot, chinese: MainWindow, sample: Path, tmp_path: Path, which: str
) -> None:
    (tmp_path / "fight.py").write_text("line\n" * 9)
    path = sample if which == "sample" else write_wait_sample(tmp_path / "waits.h5", tmp_path / "fight.py")
    with qtbot.waitSignal(chinese.tabs.page_opened, timeout=60_000):
        chinese.workspace.open_file(path)
    page = chinese.tabs.timeline_page
    assert isinstance(page, CapturePage)
    capture = page.document.capture
    allowed = terms() | words_of(capture) | {word.casefold() for word in WORD.findall(str(path))}

    def wait() -> None:
        qtbot.waitUntil(lambda: page.view.is_idle and chinese.panels.is_settled, timeout=60_000)

    wait()
    found: list[str] = []
    rows = list(page.view.scene.tree.root.walk())
    found += english_in((("row", row.title) for row in rows if row.title), allowed)
    kinds = sorted({int(code) for code in capture.events.kind.tolist()})
    firsts = [int(capture.kinds[capture.kind_of_code[code]].rows[0]) for code in kinds]
    for spec in all_panels():
        chinese.panels.show_panel(spec.id)
        wait()
        panel = chinese.panels.panel(spec.id)
        assert panel is not None
        found += english_in(texts_of(panel), allowed)
        if isinstance(panel, FindingsPanel):
            for card in panel.cards.cards:
                panel.verbs.explain(card)
            found += english_in(texts_of(panel), allowed)
        if isinstance(panel, SummaryPanel):
            for report in reports():
                if report.needs and not set(report.needs) & set(capture.kinds):
                    continue
                panel.choose(report.name)
                wait()
                found += english_in(texts_of(panel), allowed)
    for row in firsts:
        page.document.state.select(row)
        wait()
        details = chinese.panels.panel("details")
        assert details is not None
        found += english_in(texts_of(details), allowed)
    found += english_in(texts_of(chinese), allowed)
    for name in DIALOGS if which == "sample" else ():
        before = set(QApplication.topLevelWidgets())
        chinese.commands.run(name)
        QApplication.processEvents()
        for dialog in [
            widget for widget in QApplication.topLevelWidgets() if widget.isVisible() and widget not in before
        ]:
            found += english_in(texts_of(dialog), allowed)
            dialog.close()
    found = list(dict.fromkeys(found))
    assert not found, "\n".join(found)


def test_states_of_threads_are_found_and_listed_in_chinese(
    qtbot: QtBot, chinese: MainWindow, sample: Path
) -> None:
    with qtbot.waitSignal(chinese.tabs.page_opened, timeout=60_000):
        chinese.workspace.open_file(sample)
    document = chinese.workspace.current
    assert document is not None
    blocked = document.capture.strings.id("blocked")
    assert blocked is not None
    assert blocked in find_events(document.capture, SearchQuery("阻塞")).names
    chinese.panels.show_panel("events")
    qtbot.waitUntil(lambda: chinese.panels.is_settled, timeout=60_000)
    panel = chinese.panels.panel("events")
    assert isinstance(panel, EventsPanel)
    panel.kind.setCurrentIndex(panel.kind.findData("thread_state"))
    panel.filter_column("name", "阻塞")
    qtbot.waitUntil(lambda: chinese.panels.is_settled, timeout=60_000)
    model = panel.table.model_
    texts = {str(model.data(model.index(row, 2))) for row in range(model.rowCount())}
    assert texts == {"阻塞"}


def read_dialogs(qtbot: QtBot, window: MainWindow, names: tuple[str, ...], allowed: set[str]) -> list[str]:
    """English words of what commands show, which is closed again."""
    found: list[str] = []
    for name in names:
        before = set(QApplication.topLevelWidgets())
        assert window.commands.run(name), name
        # What they ask of this machine and of the capture is answered.
        qtbot.waitUntil(lambda: not background._running, timeout=60_000)
        shown = [top for top in QApplication.topLevelWidgets() if top.isVisible() and top not in before]
        assert shown, name
        for dialog in shown:
            found += english_in(texts_of(dialog), allowed)
            dialog.close()
    return found


def read_recording(window: MainWindow, folder: Path, allowed: set[str]) -> list[str]:
    """English words of the tab of a recording in each of its states, of its question and of the bars at its end."""
    script = folder / "train.py"
    script.touch()
    request = RecordingRequest(script=str(script), interpreter=sys.executable, output=str(folder / "run.h5"))
    recording = Recording(request, window.workspace)
    window.workspace.begin(recording, has_tab=True)
    page = window.tabs.page_of(recording)
    assert isinstance(page, RecordingPage)
    found: list[str] = []

    def read() -> None:
        page._refresh()
        found.extend(english_in(texts_of(page), allowed))

    read()
    missing = [{**source, "enabled": source["available"]} for source in ANSWER["sources"]]
    told = {"events": 1200, "lost": 3, "target_pid": 0, "sources": missing, "warnings": []}
    for state in ("started", "recording", "paused", "finalising"):
        recording.process.status.emit({"state": state, "fraction": 0.5, **told})
        read()
    question = page.ask_to_end()
    found += english_in(texts_of(question), allowed)
    question.close()
    recording.is_stopping = True
    read()
    recording.is_handed_over = True
    read()
    question = page.ask_to_end()
    assert isinstance(question, QMessageBox)
    found += english_in(texts_of(question), allowed)
    question.close()
    recording.is_handed_over = recording.is_stopping = False
    recording.process.ended.emit(1)
    read()
    assert page.message_bars.bars
    window.workspace.close(recording)
    return found


def write_failed(path: Path) -> Path:
    """A capture whose program was killed, with a part missing."""
    with CaptureBuilder(path) as builder:
        builder.meta.update(exit_status=137, exit_signal=9, stderr_tail=["…"])
        builder.add_warning("the recorder was killed: the capture ends with its last record", is_loss=True)
        builder.set_span(0, 1_000_000)
        builder.track("process/1", title="python [1]", role="process")
        builder.finish()
    return path


def test_no_english_is_left_in_windows_of_recordings_comparisons_and_jobs(
    qtbot: QtBot, chinese: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for asks in (doctor, new_capture):
        monkeypatch.setattr(asks, "read_doctor", lambda *_: parse_doctor(ANSWER))
    monkeypatch.setattr(RecordingProcess, "start", lambda *_: None)
    monkeypatch.setattr(RecordingProcess, "is_running", property(lambda _: False))
    meta = {"with_stack": True, "imported_from": [{"format": "PyTorch"}]}
    a = write_run(tmp_path / "before.h5", load_us=500, kernel="gemm_128x64", pid=71, meta=meta)
    b = write_run(tmp_path / "after.h5", load_us=100, kernel="gemm_256x64", pid=92)
    job = tmp_path / "job"
    write_job(job, JobPlan(3, 4))
    shutil.copy(a, job / "rank_1.h5")
    allowed = terms() | {
        word.casefold() for word in WORD.findall(f"{tmp_path} {sys.executable} {ALL_REDUCE}")
    }
    found = read_recording(chinese, tmp_path, allowed)

    def opened(path: Path) -> None:
        with qtbot.waitSignal(chinese.tabs.page_opened, timeout=60_000):
            chinese.workspace.open_file(path)

    def settled() -> bool:
        return chinese.panels.is_settled

    opened(write_failed(tmp_path / "run.h5"))
    found += english_in(texts_of(chinese), allowed)
    opened(a)
    page = chinese.tabs.timeline_page
    assert isinstance(page, CapturePage)
    allowed |= words_of(page.document.capture)
    page.document.state.select_range(0, 1_000_000)
    found += read_dialogs(qtbot, chinese, WINDOWS, allowed)
    chinese.workspace.compare(a, b)
    qtbot.waitUntil(lambda: isinstance(chinese.workspace.front, ComparedPair), timeout=60_000)
    compared = chinese.tabs.timeline_page
    assert isinstance(compared, ComparisonPage)
    qtbot.waitUntil(lambda: compared.is_idle and settled(), timeout=60_000)
    for document in compared.pair.documents:
        allowed |= words_of(document.capture)
    choice = compared.changes.choice
    assert choice.findData(METADATA) >= 0
    for place in range(choice.count()):
        choice.setCurrentIndex(place)
        qtbot.waitUntil(lambda: compared.is_idle and settled(), timeout=60_000)
        found += english_in(texts_of(chinese), allowed)
    found += read_dialogs(qtbot, chinese, ("file.export_comparison",), allowed)
    chinese.workspace.open_file(job)
    qtbot.waitUntil(lambda: isinstance(chinese.tabs.currentWidget(), JobPage), timeout=60_000)
    board = chinese.tabs.currentWidget()
    assert isinstance(board, JobPage)
    qtbot.waitUntil(lambda: board.canvas.rows.is_whole and settled(), timeout=60_000)
    for tab in range(board.tables.tabs.count()):
        board.tables.tabs.setCurrentIndex(tab)
        found += english_in(texts_of(chinese), allowed)
    for row in range(3):
        found += english_in((("cell", line) for line in cell_lines(board.board, (row, 2))), allowed)
    found = list(dict.fromkeys(found))
    assert not found, "\n".join(found)
