"""Formats that Warpline recognises but does not read: the error names them and the command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from warpline.interchange import detect
from warpline.model import ImportFormatError

RECIPES = "nsys_recipe/NVIDIA+JAX-Toolbox/.github/workflows/nsys-jax/maxtext_fsdp4_test_data/"
CLOSED = {
    "perf_data/google+perf_data_converter/src/quipper/testdata/perf.data.singleprocess-3.8": (
        "perf record",
        "warpline record",
    ),
    "perf_script/janestreet+magic-trace/test/page_fault.perf": ("perf script", "warpline record"),
    "perf_script/jlfwong+speedscope/sample/profiles/linux-perf/simple-with-header.linux-perf.txt": (
        "perf script",
        "warpline record",
    ),
    "perf_script/jlfwong+speedscope/sample/profiles/linux-perf/simple.linux-perf.txt": (
        "perf script",
        "warpline record",
    ),
    "perf_script/microsoft+Microsoft-Performance-Tools-Linux-Android/TestData/Perf/perf.data.txt": (
        "perf script",
        "warpline record",
    ),
    "ftrace/ARM-software+lisa/tests/assets/trace_txt/trace.txt": ("ftrace", "traceconv json"),
    "ftrace/catapult-project+catapult/tracing/test_data/android_systrace.txt": ("ftrace", "traceconv json"),
    "ftrace/catapult-project+catapult/systrace/systrace/test_data/atrace_missing_tgids": (
        "ftrace",
        "traceconv json",
    ),
    "ftrace/ARM-software+lisa/external/trappy/doc/trace_stats.dat": ("trace-cmd", "trace-cmd report"),
    "ftrace/ARM-software+lisa/external/trappy/tests/trace_systrace.html": ("systrace", "traceconv json"),
    "ftrace/catapult-project+catapult/tracing/test_data/trivial_systrace.html": (
        "systrace",
        "traceconv json",
    ),
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


def test_reports_of_nsight_compute_are_named(tmp_path: Path) -> None:
    path = tmp_path / "kernels.bin"
    path.write_bytes(b"NVR\x00" + bytes(100))
    with pytest.raises(ImportFormatError, match=r"Nsight Compute.*ncu --import"):
        detect(path)
