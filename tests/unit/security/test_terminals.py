"""Names of strangers do not steer the terminal that they are printed on."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from warpline.cli import main
from warpline.cli.progress import ProgressLine
from warpline.model.errors import WarplineError
from warpline.storage import CaptureBuilder
from warpline.terminal import visible_streams
from warpline.untrusted import visible

EVIL = "\x1b]0;evil\x07\x9b2J\u202etxt.exe\x7f\r"
FORGED = f"{EVIL}\nforged line"
SHOWN = r"\u001b]0;evil\u0007\u009b2J\u202etxt.exe\u007f\u000d"


class Terminal(io.StringIO):
    """A standard stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture every name of which is hostile, in a file whose name is."""
    path = tmp_path_factory.mktemp("evil") / "a\x1b[2J.h5"
    with CaptureBuilder(path) as builder:
        process = builder.add_process(3, name=FORGED, command=FORGED)
        thread = builder.add_thread(process, 3, name=FORGED)
        owner = builder.track("process/3.1", title=FORGED, role="process", process=process)
        track = builder.track(
            "process/3.1/thread/3.1",
            title=FORGED,
            role="thread",
            parent=owner,
            process=process,
            thread=thread,
        )
        builder.add_events(track, "range", [0, 50], [40, 60], builder.string(FORGED))
        builder.add_warning(FORGED)
        builder.meta.update(command_line=[FORGED], host={FORGED: FORGED})
        builder.add_source(FORGED, False, FORGED)
        builder.finish()
    return path


@pytest.mark.parametrize(
    "words",
    [
        ["info"],
        ["info", "--verify"],
        ["stats", "--report", "ranges"],
        ["stats", "--list"],
        ["check"],
        ["check", "--md", "--all"],
        ["stats"],
    ],
)
def test_tables_and_lines_on_a_terminal_hold_no_control_characters(
    capture: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, error = Terminal(), io.StringIO()  # without a line of progress, which steers
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", error)
    main([*words, str(capture)])
    printed = out.getvalue() + error.getvalue()
    assert printed
    assert all(character.isprintable() or character in "\n\t" for character in printed), printed
    assert not any(line.startswith("forged") for line in printed.splitlines()), printed
    assert sys.stdout is out


@pytest.mark.parametrize("words", [["--help"], ["record", "--help"], ["info", "--help"]])
def test_help_on_a_terminal_is_plain(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(words) == 0
    assert "warpline" in out.getvalue()
    assert "u001b" not in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_who_is_started_without_streams_says_nothing(
    capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["--version"]) == 0
    assert main(["info", str(capture)]) == 0
    assert main(["info", str(tmp_path / "nowhere.h5")]) == 1
    assert (sys.stdout, sys.stderr) == (None, None)


def test_a_pipe_gets_names_as_they_are(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", str(capture)]) == 0
    assert "\x9b2J\u202etxt.exe\x7f" in capsys.readouterr().out


def test_errors_are_one_line_that_can_be_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(tmp_path / f"{EVIL}\nwarpline: all is well.h5")]) == 1
    said = capsys.readouterr().err
    assert said.startswith("warpline: error: ")
    assert said.count("\n") == 1
    assert said[:-1].isprintable(), said
    assert r"\u001b]0;evil\u0007" in said
    assert str(WarplineError(f"{EVIL}\n\n  b")) == SHOWN.removesuffix(r"\u000d") + " b"


def test_what_can_be_seen_stays_as_it_is() -> None:
    for text in ("läuft nicht", "コア 0\u3000", "می‌خواهم", "a  b"):
        assert visible(text) == text
    assert visible("a\n\tb") == "a\n\tb"
    assert visible("\ud800") == r"\ud800"
    assert visible(EVIL) == SHOWN


def test_progress_is_drawn_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    error = Terminal()
    monkeypatch.setattr(sys, "stderr", error)
    with visible_streams(), ProgressLine() as line:
        line.show(0.5, "reading \x1b[2J")
    assert error.getvalue() == "\r\x1b[K 50% reading \\u001b[2J\r\x1b[K"


def test_an_error_is_of_a_readable_length_whatever_names_are_in_it() -> None:
    text = str(WarplineError("/a.zip: " + "x" * 60_000 + ": try again"))
    assert text.startswith("/a.zip: xx")
    assert text.endswith("x: try again")
    assert len(text) < 900
