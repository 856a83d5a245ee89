"""Names of functions made at run time, as programs write them down for perf."""

from __future__ import annotations

import os
from pathlib import Path

from warpline.recording.symbols.run_time_map import RunTimeMap


def test_functions_are_found_by_address(tmp_path: Path) -> None:
    (tmp_path / "perf-7.map").write_text(
        "7f10 20 py::load:/srv/my data.py\n7f40 10 second\n7f40 8 third\nnothing\n7f90 zz odd\n7fa0 10"
    )
    found = RunTimeMap(7, 0, tmp_path)
    assert found.name(0x7F10) == found.name(0x7F2F) == "py::load:/srv/my data.py"
    assert found.name(0x7F47) == "third"
    for address in (0x7F0F, 0x7F30, 0x7F48, 0x7F90, 0x7FA0):
        assert found.name(address) == ""


def test_maps_of_other_processes_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "perf-7.map"
    path.write_text("10 10 old\n")
    os.utime(path, ns=(5, 5))
    assert RunTimeMap(7, 6, tmp_path).name(0x10) == ""
    os.mkfifo(tmp_path / "perf-8.map")
    assert RunTimeMap(8, 0, tmp_path).name(0x10) == ""
    assert RunTimeMap(9, 0, tmp_path).name(0x10) == ""
