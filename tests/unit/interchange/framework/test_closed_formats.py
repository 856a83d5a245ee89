"""Formats that Warpline recognises but does not read: the error names them and the command."""

from __future__ import annotations

import marshal
import shutil
from pathlib import Path

import pytest

from warpline.interchange import detect
from warpline.model import ImportFormatError

RECIPES = "nsys_recipe/NVIDIA+JAX-Toolbox/.github/workflows/nsys-jax/maxtext_fsdp4_test_data/"
CLOSED = {
    f"{RECIPES}report_nvtx_pushpop_trace.csv.xz": (
        "a table of Nsight Systems",
        "nsys export",
    ),
}


@pytest.mark.parametrize("name", CLOSED)
def test_the_error_names_a_closed_format_and_the_command_that_converts_it(
    name: str, data_dir: Path, tmp_path: Path
) -> None:
    title, remedy = CLOSED[name]
    # The content decides, not the name; of packed tables only the name inside tells what they are.
    copy = tmp_path / ("copy.csv.xz" if name.endswith(".xz") else "copy")
    shutil.copyfile(data_dir / name, copy)
    with pytest.raises(ImportFormatError) as problem:
        detect(copy)
    text = str(problem.value)
    assert title in text
    assert remedy in text
    assert "\n" not in text


@pytest.mark.parametrize("folder", ["torch", "paddle", "chrome_generic", "nsys", "ascend"])
def test_formats_that_open_are_not_closed_formats(folder: str, data_dir: Path) -> None:
    suffixes = (".json", ".json.gz", ".pb", ".sqlite", ".zip", ".gz")
    from warpline.interchange.framework.closed_formats import why_closed
    from warpline.interchange.framework.detection import read_head

    looked_at = 0
    for path in (data_dir / folder).rglob("*"):
        if path.is_file() and path.name.endswith(suffixes):
            assert why_closed(read_head(path), path) is None
            looked_at += 1
    assert looked_at


def test_a_table_of_results_is_no_recording(tmp_path: Path) -> None:
    path = tmp_path / "op_statistic.csv"
    path.write_text("Device_id,OP Type,Count\n0,MatMul,3\n")
    with pytest.raises(ImportFormatError, match=r"a table of results.*warpline view FOLDER"):
        detect(path)


BEGINNINGS = {
    b"\xc1\x1f\xfc\xc1": ("CTF", "ctf2ctf"),
    b"/* CTF 1.8 */": ("CTF", "ctf2ctf"),
    bytes(72) + b"\x02\x00\x02\xc0": ("Event Tracing for Windows", "samply import"),
    b"FLR\x00\x00\x02": ("Java Flight Recorder", "jfrconv"),
    b"memray\x00": ("memray", "memray transform speedscope"),
    b'\x04"M\x18@@\xc0\x03=\x00\x00\xf9\x05memray\x00': ("memray", "memray transform speedscope"),
    marshal.dumps({("app.py", 1, "<module>"): (1, 1, 0.5, 0.7, {})}): ("cProfile", "warpline record"),
    b"version: 1\ncreator: yappi\npid: 1\n": ("callgrind", "warpline record"),
    b"# callgrind format\nversion: 1\n": ("callgrind", "warpline record"),
    b"tlZ\x04": ("Tracy", "warpline record"),
    b"go 1.22 trace\x00\x00\x00": ("Go", "go tool trace"),
    b"MMPD\x08": ("rustc", "crox"),
    b"heap profile: 5: 6 [7: 8] @ heap/1\n": ("older format of pprof", "go tool pprof -proto"),
    bytes(8) + b"\x03" + bytes(15): ("older format of pprof", "go tool pprof -proto"),
    b"Attaching 6 probes...\nST:0:cc6b0587\nP:12dbd9:0:78:swapper/0\n": ("bpftrace", "trace-cmd record"),
}


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_formats_are_recognised_by_how_they_begin(tmp_path: Path, beginning: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(beginning + bytes(64))
    with pytest.raises(ImportFormatError) as problem:
        detect(path)
    assert all(word in str(problem.value) for word in BEGINNINGS[beginning])
