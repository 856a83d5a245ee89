"""What once ended in an exception nobody foresaw ends well, or in one line, whatever is asked of it."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from warpline.cli import main

CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"
INPUTS = sorted(
    path.name for path in CORPUS.iterdir() if path.suffix in {".gz", ".json", ".spool", ".sqlite", ".zip"}
)
# All are read whole and judged; what else is asked is what once failed for that input, or the next in turn.
ASKED = (["info", "--verify"], ["check"])
SUFFIXES = (".json", ".csv", ".html", ".h5")
FAILED: dict[str, list[list[str]]] = {
    "attributes_at_their_largest.h5.gz": [["stats", "--report", "time_budget"]],
    "deep_metadata.h5.gz": [["info", "--json"], ["export", ".h5"]],
    "kind_without_rows.h5.gz": [["stats", "--report", "thread_state"], ["export", ".csv"]],
    "no_stacks.h5.gz": [["export", ".h5"]],
    "times_at_the_end.h5.gz": [["stats", "--report", "thread_state"], ["export", ".h5"]],
    "unknown_kind.h5.gz": [["export", ".html"], ["export", ".csv"]],
}


@pytest.mark.parametrize("name", INPUTS)
def test_no_command_is_surprised(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source, file = CORPUS / name, tmp_path / "run.h5"
    if source.is_dir():
        shutil.copytree(source, tmp_path / "run.h5.spool")
        commands = [["recover", "--keep", str(tmp_path / "run.h5.spool"), "-o", str(file)]]
    elif source.suffix in {".json", ".sqlite", ".zip"}:
        commands = [["import", str(source), "-o", str(file)]]
    else:
        file.write_bytes(gzip.decompress(source.read_bytes()))
        commands = []
    more = FAILED.get(name) or [["export", SUFFIXES[INPUTS.index(name) % len(SUFFIXES)]]]
    for command, *words in [*ASKED, *more]:
        target = [str(tmp_path / f"part{word}") for word in words] if command == "export" else words
        commands.append([command, str(file), *target])
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
