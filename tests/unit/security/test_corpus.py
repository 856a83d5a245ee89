"""What once ended in an exception nobody foresaw ends well, or in one line, whatever is asked of it."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from warpline.cli import main

CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"
INPUTS = sorted(path.name for path in CORPUS.iterdir() if path.suffix in {".gz", ".json", ".spool"})
ASKED = (["info", "--json"], ["info", "--verify"], ["check"], ["stats", "--report", "thread_state"])
SUFFIXES = (".json", ".csv", ".html", ".h5")


@pytest.mark.parametrize("name", INPUTS)
def test_no_command_is_surprised(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source, file = CORPUS / name, tmp_path / "run.h5"
    if source.is_dir():
        shutil.copytree(source, tmp_path / "run.h5.spool")
        commands = [["recover", "--keep", str(tmp_path / "run.h5.spool"), "-o", str(file)]]
    elif source.suffix == ".json":
        commands = [["import", str(source), "-o", str(file)]]
    else:
        file.write_bytes(gzip.decompress(source.read_bytes()))
        commands = []
    commands += [[words[0], str(file), *words[1:]] for words in ASKED]
    commands += [["export", str(file), str(tmp_path / f"part{suffix}")] for suffix in SUFFIXES]
    for words in commands:
        status = main(words)
        said = capsys.readouterr().err
        assert "internal error" not in said, (words, said)
        problems = [line for line in said.splitlines() if line.startswith("warpline: error:")]
        # Defects that were found are an answer, of status 1.
        assert status == 0 or len(problems) == 1 or (words[-1] == "--verify" and not problems), (words, said)
        if status and words[0] in {"import", "recover"}:
            return  # refused: there is nothing else to ask
    assert not list(tmp_path.glob(".warpline-*"))
    assert not list(tmp_path.glob("*.part"))
