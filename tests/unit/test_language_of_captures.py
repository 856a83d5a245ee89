"""Captures are written in English whoever writes them, and shown in the language of whoever reads them."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.unit.interchange.import_tools import trace_file

from warpline import i18n, resources
from warpline.cli import main
from warpline.i18n.catalogue import DATA, Catalogue
from warpline.i18n.po import Entry, read_po
from warpline.interchange import import_files
from warpline.recording.recover import recover
from warpline.storage import Capture, open_capture

CHINESE = re.compile(r"[\u4e00-\u9fff]")
WARPLINE = [sys.executable, "-m", "warpline"]
ODD_EVENTS = [
    {"ph": "X", "name": "work", "ts": 0, "dur": 5, "pid": 1, "tid": 2},
    {"ph": "B", "name": "open", "ts": 1, "pid": 1, "tid": 2},
    {"ph": "E", "ts": 90, "pid": 1, "tid": 9},
    {"ph": "N", "name": "object", "ts": 3, "pid": 1, "tid": 2},
    {"ph": "I", "s": "g", "name": "moment", "ts": 4, "pid": 1, "tid": 2},
]
"""A range without an end, an end without a begin, and what has no place on a timeline."""


@pytest.fixture(autouse=True)
def english_afterwards() -> Iterator[None]:
    yield
    i18n.use(None)


@pytest.fixture
def same_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """A capture is told from others by a random number; here all get the same one."""
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=4))


def in_both_languages(write: Callable[[Path], object], folder: Path) -> tuple[Path, Path]:
    """What ``write`` writes when English is spoken and when Chinese is."""
    written = folder / "english.h5", folder / "chinese.h5"
    for path, language in zip(written, ("en", "zh_CN"), strict=True):
        i18n.install(language)
        write(path)
    i18n.install("en")
    return written


def stored_texts(capture: Capture) -> list[str]:
    """Everything a capture says in sentences."""
    return [
        *(track.title for track in capture.tracks),
        *(text for source in capture.sources for text in (source.reason, source.remedy)),
        *(text for entry in capture.skipped for text in (entry.what, entry.reason)),
        *capture.warnings,
        *(counter.name for counter in capture.counters),
        *(table.spec.title for table in capture.kinds.values()),
        *(attribute.title for table in capture.kinds.values() for attribute in table.spec.attributes),
        *(text for text in capture.strings.all() if len(text) < 200),
    ]


def test_an_import_is_the_same_in_every_language(tmp_path: Path, same_ids: None) -> None:
    trace = trace_file(tmp_path, ODD_EVENTS)
    trace.write_text(trace.read_text()[:-1])  # cut, which a warning tells
    english, chinese = in_both_languages(lambda out: import_files([trace], out), tmp_path)
    assert english.read_bytes() == chinese.read_bytes()
    with open_capture(english) as capture:
        assert len(capture.warnings) == 2
        assert len(capture.skipped) == 2


def test_imports_of_real_traces_are_the_same_in_every_language(
    data_dir: Path, tmp_path: Path, same_ids: None
) -> None:
    files = [
        data_dir / "paddle" / "paddle_lenet_cpu_b8s4.pb",
        data_dir / "nsys" / "NVIDIA+Fuser" / "fuser_da819b5f_report1.sqlite",
        next((data_dir / "torch").rglob("rank_non_gpu.json.gz")),
    ]
    for file in files:
        english, chinese = in_both_languages(partial(import_files, [file]), tmp_path)
        assert english.read_bytes() == chinese.read_bytes(), file


@pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")
def test_a_recording_is_the_same_in_every_language(tmp_path: Path, same_ids: None) -> None:
    """Recorded by somebody who speaks Chinese; finalised by both."""
    # The program puts a folder where the capture should go: it cannot be written, and the spool stays.
    words = [*WARPLINE, "record", "-o", "run.h5", "--", sys.executable, "-c", "import os; os.mkdir('run.h5')"]
    environment = {**os.environ, "LC_ALL": "zh_CN.UTF-8"}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 125
    assert "无法写入采集文件" in done.stderr
    spool = tmp_path / "run.h5.spool"
    english, chinese = in_both_languages(lambda out: recover(spool, out, keep=True), tmp_path)
    assert english.read_bytes() == chinese.read_bytes()
    with open_capture(english) as capture:
        assert not [text for text in stored_texts(capture) if CHINESE.search(text)]
        assert any(not source.enabled and source.reason for source in capture.sources)


def test_info_shows_a_capture_in_the_readers_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = import_files([trace_file(tmp_path, ODD_EVENTS)], tmp_path / "capture.h5")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert main(["info", str(capture)]) == 0
    shown = capsys.readouterr().out
    for text in (
        "3 个事件",
        "事件的结束 (E), 1: 该线程上没有未结束的事件",
        "1 个事件没有结束（有 B 无 E）；绘制到其线程结束为止",
        "导入 trace.json",
    ):
        assert text in shown
    assert main(["info", "--json", str(capture)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["skipped"][0]["what"] == "ends of events (E)"
    monkeypatch.setenv("LC_ALL", "C")
    assert main(["info", str(capture)]) == 0
    assert (
        "1 event has no end (B without E); it is drawn until the end of its thread" in capsys.readouterr().out
    )


def marked() -> Catalogue:
    """A language in which every text that is data stands in brackets."""
    entries = read_po(resources.path("translations/zh_CN.po"))
    texts = [entry for entry in entries if entry.text and entry.context == DATA]
    header = Entry("", "", "", ("Plural-Forms: nplurals=1; plural=0;\n",))
    return Catalogue(
        [header, *(entry._replace(translations=(f"⟦{entry.plural or entry.text}⟧",)) for entry in texts)]
    )


def test_what_captures_say_is_known_to_translators(data_dir: Path, tmp_path: Path) -> None:
    files = (
        trace_file(tmp_path, ODD_EVENTS),
        data_dir / "nsys" / "NVIDIA+Fuser" / "fuser_da819b5f_report1.sqlite",
        next((data_dir / "torch").rglob("alexnet/*.json.gz")),
    )
    named_by_program = {"process", "thread", "counter", "group", "ranges", "rank"}
    for file in files:
        with open_capture(import_files([file], tmp_path / "capture.h5")) as capture:
            i18n.use(marked())
            known = {text: i18n.translated(text) for text in stored_texts(capture)}
            i18n.use(None)
            sentences = [
                *(source.reason for source in capture.sources),
                *(entry.reason for entry in capture.skipped),
                *capture.warnings,
                *(track.title for track in capture.tracks if track.role not in named_by_program),
                *(table.spec.title for table in capture.kinds.values()),
            ]
            assert sentences
            assert not [text for text in sentences if text and "⟦" not in known[text]], file


# marks in the code

STORING = {"add_skipped", "add_warning", "add_source", "add_agent_source", "Unavailable"}
MARKS = {"english", "english_n", "forms"}


def modules(repository: Path, names: set[str]) -> Iterator[tuple[Path, ast.Module]]:
    """The modules that may call one of these functions; parsing every module takes seconds."""
    may_call = re.compile(rf"\b({'|'.join(names)})\b")
    for folder in ("capture/warpline", "app/warpline_app"):
        for path in sorted((repository / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if may_call.search(text):
                yield path, ast.parse(text)


def calls(node: ast.AST, names: set[str]) -> Iterator[ast.Call]:
    for found in ast.walk(node):
        if isinstance(found, ast.Call):
            name = found.func.id if isinstance(found.func, ast.Name) else getattr(found.func, "attr", "")
            if name in names:
                yield found


def test_sentences_for_captures_are_marked(repository: Path) -> None:
    """A literal with a blank in it that goes into a capture is in `english`, and nothing there is translated."""
    wrong = []
    for path, tree in modules(repository, STORING):
        for call in calls(tree, STORING):
            inside = {part for mark in calls(call, MARKS) for part in ast.walk(mark)}
            for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
                for part in ast.walk(argument):
                    if part in inside:
                        continue
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        # A command to type is no sentence.
                        if " " in part.value.strip() and not part.value.startswith("pip install"):
                            wrong.append(f"{path.relative_to(repository)}:{part.lineno}: {part.value!r}")
                    elif isinstance(part, ast.Name) and part.id in {"tr", "tr_n", "translated"}:
                        wrong.append(f"{path.relative_to(repository)}:{part.lineno}: translated")
    assert not wrong


def test_texts_in_c_are_known_to_translators(repository: Path) -> None:
    """They stand in ``native_texts.py`` beside the folder of C, word for word; or they are the agent's."""
    sources = repository / "capture" / "warpline" / "recording" / "sources"
    shared = sorted((sources.parent / "agent" / "native").rglob("*.c"))
    found = sorted(sources.glob("*/native_texts.py"))
    assert found
    for path in found:
        module = importlib.import_module(f"warpline.recording.sources.{path.parent.name}.native_texts")
        own = sorted((path.parent / "native").glob("*.c"))
        code = "".join(part.read_text() for part in [*own, *shared])
        literals = re.sub(r'"\s*"', "", code)
        for text in module.TEXTS:
            pattern = re.sub(r"\\{\w+\\}", "%[a-z0-9.%]+", re.escape(text))
            assert re.search(pattern, literals), text


BY_TABLE = {"command.py", "menus.py", "panel_spec.py"}
"""Titles of commands and panels, which the script takes from their registries."""


def test_texts_are_literals(repository: Path) -> None:
    """A variable is no text that the script could find."""

    def is_literal(node: ast.expr) -> bool:
        if isinstance(node, ast.IfExp):
            return is_literal(node.body) and is_literal(node.orelse)
        return isinstance(node, ast.Constant)

    names = {"tr", "tr_n", "english", "forms"}
    wrong = [
        f"{path.relative_to(repository)}:{call.lineno}"
        for path, tree in modules(repository, names)
        if path.name not in BY_TABLE and path.parent.name != "i18n"
        for call in calls(tree, names)
        if not is_literal(call.args[0])
    ]
    assert not wrong


def test_nothing_is_translated_when_a_module_is_imported(repository: Path) -> None:
    """The language is chosen after that."""
    wrong, names = [], {"tr", "tr_n", "translated"}
    for path, tree in modules(repository, names):
        within = {
            part
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for part in ast.walk(function)
        }
        wrong += [
            f"{path.relative_to(repository)}:{call.lineno}"
            for call in calls(tree, names)
            if call not in within
        ]
    assert not wrong
