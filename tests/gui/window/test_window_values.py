"""The parts of the window that need none: console text, requests, interpreters, matching, settings."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline.model.errors import UsageError
from warpline.recording.spool.console_text import ConsoleText
from warpline_app.dialogs.palette import match_score
from warpline_app.recording.interpreters import find_interpreters
from warpline_app.recording.request import RecordingRequest, suggested_output
from warpline_app.remembered.settings import RECENT_LIMIT, Settings


def console(*parts: bytes, max_lines: int = 100) -> ConsoleText:
    text = ConsoleText(max_lines)
    for part in parts:
        text.feed(part)
    return text


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ((b"a\nb\n",), "a\nb"),
        ((b"a\r\nb\r\n",), "a\nb"),
        ((b"10%\r20%\r100%\ndone",), "100%\ndone"),
        ((b"\x1b[32mgreen\x1b[0m text",), "green text"),
        ((b"\x1b[3", b"2mgreen\n"), "green"),
        (("héllo 中".encode()[:3], "héllo 中".encode()[3:]), "héllo 中"),
        ((b"\xff\xfe bytes\n",), "\ufffd\ufffd bytes"),
        ((b"\x1b]0;title\x07shown\n",), "shown"),
        ((b"\x1b(B\x1b[mplain\n",), "plain"),
        ((b"\x1b", b"(", b"Bsplit\n"), "split"),
        ((b"\x1b)0\x1b7saved\x1b8\x1b=\x1b>\x1bc\n",), "saved"),
        ((b"\x1bP1$r0m\x1b\\after\n",), "after"),
        ((b"\x1bP1$r", b"0m\x1b", b"\\after\n"), "after"),
        ((b"bell\x07 tab\there\n",), "bell tab\there"),
        ((b"kept\r",), "kept"),
        ((b"\x1b[H\x1b[2Jtop\x1b[3;1HPID\x1b[3;8HCPU\r\x1b[4d71\x1b[8G50",), "top\nPID    CPU\n71     50"),
        ((b"\x1b[5;1Hone\x1b[2;3Htwo\x1b[Bthree\x1bEfour",), "one\n  two\nthree\nfour"),
        ((b"10%\x1b[G20%\x1b[1G100%\ndone",), "100%\ndone"),
        ((b"\x1b[9;", b"1Hnine\n\x1b[7;1Hseven", b"\x1b[8;1", b"Height"), "nine\nseven\neight"),
        ((b"\x1b[3;4Hwide\x1b[3;99999999999Hend",), f"   {'wide':996}end"),
    ],
)
def test_a_console_shows_what_a_terminal_would(parts: tuple[bytes, ...], shown: str) -> None:
    assert console(*parts).text == shown


@given(
    st.lists(st.text(st.characters(codec="utf-8", categories=["L", "N", "Zs"]), max_size=20), max_size=30),
    st.data(),
)
def test_cutting_the_stream_anywhere_changes_nothing(lines: list[str], data: st.DataObject) -> None:
    stream = "".join(f"{line}\n" for line in lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    parts = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert console(*parts).text == "\n".join(lines)


def test_a_program_that_prints_without_end_keeps_its_last_lines() -> None:
    text = ConsoleText(max_lines=50)
    for block in range(20):
        text.feed(b"".join(b"line %d\n" % (block * 1000 + i) for i in range(1000)))
    assert text.text.splitlines() == [f"line {i}" for i in range(19_950, 20_000)]
    assert text.dropped == 19_950
    new, unfinished, skipped = text.take_new(20)
    assert (new, unfinished, skipped) == ([f"line {i}" for i in range(19_980, 20_000)], "", 19_980)
    assert text.take_new() == ([], "", 0)


def test_a_request_becomes_the_command_line_of_record(tmp_path: Path) -> None:
    request = RecordingRequest(
        interpreter="/usr/bin/python3",
        script="/x/train.py",
        arguments="--name 'two words' -v",
        trace=("cpu", "nvtx"),
        duration="10s",
        delay="500ms",
        max_duration="8h",
        output=str(tmp_path / "run.h5"),
    )
    assert request.record_arguments() == [
        "record",
        "--quiet",
        "-o",
        str(tmp_path / "run.h5"),
        "--trace",
        "cpu,nvtx",
        "--duration",
        "10s",
        "--delay",
        "500ms",
        "--max-duration",
        "8h",
        "--",
        "/usr/bin/python3",
        "/x/train.py",
        "--name",
        "two words",
        "-v",
    ]
    assert request.folder == Path("/x")
    assert RecordingRequest.from_json(request.to_json() | {"trace": ["cpu", "nvtx"]}) == request


def test_settings_of_another_version_are_no_reason_to_fail() -> None:
    read = RecordingRequest.from_json({"mode": 3, "trace": "cpu", "script": ["x"], "new": 1, "command": "ls"})
    assert read == RecordingRequest(command="ls")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"script": ""}, "Choose the script"),
        ({"mode": "command", "command": " "}, "Enter the command"),
        ({"script": "/no/such.py"}, "Script not found: /no/such.py"),
        ({"arguments": "'open"}, "Unclosed quotation mark"),
        ({"environment": "A B=1"}, "Not an assignment"),
        ({"duration": "soon"}, "Not a time: soon"),
        ({"delay": "0s"}, "greater than zero"),
        ({"trace": ()}, "at least one source to record"),
        ({"output": ""}, "Enter the file"),
        ({"output": "/no/such/folder/x.h5"}, "Folder not found: /no/such/folder"),
        ({"working_directory": "/no/such"}, "Folder not found: /no/such"),
    ],
)
def test_a_request_that_cannot_work_says_why(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    script = tmp_path / "s.py"
    script.write_text("")
    good: dict[str, object] = {"script": str(script), "output": str(tmp_path / "o.h5")}
    RecordingRequest(**good).checked()  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=said):
        RecordingRequest(**(good | changes)).checked()  # type: ignore[arg-type]


def test_additions_are_read_line_by_line() -> None:
    request = RecordingRequest(environment="A=1\n\n# comment\nB=x=y \n")
    assert request.additions == {"A": "1", "B": "x=y"}


def test_the_suggested_file_is_never_one_that_exists(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("")
    request = RecordingRequest(script=str(script))
    now = datetime(2024, 5, 6, 7, 8, 9)
    first = suggested_output(request, now)
    assert first == tmp_path / "train-20240506-070809.h5"
    first.write_bytes(b"")
    assert suggested_output(request, now) == tmp_path / "train-20240506-070809-2.h5"


def fake_python(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_pythons_are_found_without_running_them(tmp_path: Path) -> None:
    project = tmp_path / "project"
    venv = fake_python(project / ".venv" / "bin" / "python")
    (project / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.4\n")
    on_path = fake_python(tmp_path / "bin" / "python3.13")
    fake_python(tmp_path / "bin" / "python-config")
    conda = fake_python(tmp_path / "conda" / "envs" / "ml" / "bin" / "python")
    (tmp_path / ".conda").mkdir()
    (tmp_path / ".conda" / "environments.txt").write_text(f"{conda.parents[1]}\n/gone\n")
    found = find_interpreters(
        project / "src", {"PATH": f"{tmp_path / 'bin'}{os.pathsep}/no/such", "HOME": str(tmp_path)}
    )
    assert [entry.path for entry in found] == [venv, Path(sys.executable), on_path, conda]
    assert found[0].version == "3.12.4"
    assert found[0].text == f"Python 3.12.4 · project environment · {venv}"


def test_palette_prefers_beginnings_of_words() -> None:
    def score(query: str, text: str) -> int:
        found = match_score(query, text)
        assert found is not None
        return found

    assert match_score("xyz", "New capture…") is None
    assert score("nc", "New capture…") < score("nc", "Pan left one screen")
    assert score("fit", "Fit the Range") < score("fit", "Filter It")
    assert score("", "anything") == 0


def test_settings_survive_and_bad_values_read_as_defaults(tmp_path: Path) -> None:
    path = tmp_path / "s.ini"
    first = Settings(path)
    first.theme = "light"
    for number in range(RECENT_LIMIT + 3):
        first.add_recent_file(tmp_path / f"{number}.h5")
    first.add_recent_file(tmp_path / "5.h5")
    first.set_record("x/y", {"a": [1, 2]})
    first.restore_session = True
    first.save()
    again = Settings(path)
    assert again.theme == "light"
    assert again.recent_files[0] == tmp_path / "5.h5"
    assert len(again.recent_files) == RECENT_LIMIT == len(set(again.recent_files))
    assert again.record_of("x/y") == {"a": [1, 2]}
    assert again.restore_session
    path.write_text(
        "[appearance]\ntheme=pink\nlanguage=xx\n[files]\nrecent=nonsense\n[session]\nrestore=perhaps\n"
    )
    broken = Settings(path)
    assert (broken.theme, broken.language, broken.recent_files) == ("system", "system", [])
    assert not broken.restore_session


def test_the_window_needs_neither_timeline_nor_hdf5_nor_plots_to_appear() -> None:
    code = (
        "import sys, warpline_app.look.application, warpline_app.window.main_window;"
        "import warpline_app.verbs.catalogue as c; c.all_commands();"
        "heavy = ('h5py', 'numpy', 'pyqtgraph', 'pandas', 'dask', 'warpline_app.timeline');"
        "print([name for name in heavy if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout.strip() == "[]"
