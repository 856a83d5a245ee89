"""Files of programs stay read from one translation to the next, until they change."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from warpline.recording.symbols.machine_files import files_in
from warpline.recording.symbols.modules import Modules


def test_a_file_is_read_again_when_it_was_replaced(tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_bytes(Path(os.path.realpath(sys.executable)).read_bytes())
    module = Modules().get(str(file))
    assert module.rules is not None
    assert Modules().get(str(file)) is module
    other = tmp_path / "other"
    other.write_bytes(b"no program")
    other.replace(file)
    assert Modules().get(str(file)) is not module
    assert Modules().get(str(file)).rules is None
    assert module.rules is not None


def test_a_file_of_another_machine_is_another_file(tmp_path: Path) -> None:
    here = Modules().get(sys.executable)
    with files_in(tmp_path):
        there = Modules().get(sys.executable)
    assert there is not here
    assert there.rules is None
