"""Where the native agent comes from, and what a recorded program's environment gets."""

from __future__ import annotations

import os
import platform
import shutil
import struct
import sys
from pathlib import Path

import pytest

from warpline.recording.agent import library, loading
from warpline.recording.environment import environment_for_target
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.sources.cuda import libraries
from warpline.recording.sources.cuda.libraries import find_driver, find_libcupti

AGENT = RecordingOptions(trace=("nvtx", "cuda"))
RECORDING = Path(library.__file__).parents[1]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(
        directory=tmp_path / "run.h5.spool",
        output=tmp_path / "run.h5",
        command=("python",),
        working_directory="/",
        start_monotonic_ns=0,
        start_realtime_ns=0,
        recorder_pid=1,
        target_pid=2,
        options=AGENT,
    )


@pytest.fixture
def with_agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "libwarpline_agent.so"
    path.write_bytes(b"")
    monkeypatch.setattr(loading, "agent_library", lambda: library.AgentLibrary(path))
    return path


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.skipif(platform.machine() not in library.MACHINES, reason="the agent is not for this machine")
def test_sources_are_compiled_once_into_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = library._compiled(RECORDING, tmp_path)
    assert made.path is not None
    assert made.path.is_relative_to(tmp_path)
    assert b"InitializeInjectionNvtx2" in made.path.read_bytes()
    monkeypatch.setenv("CC", "/nonexistent/compiler")
    assert library._compiled(RECORDING, tmp_path) == made


def test_an_agent_that_is_older_than_its_sources_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "sources" / "osrt" / "native"
    folder.mkdir(parents=True)
    made, source = tmp_path / library.LIBRARY_NAME, folder / "osrt.h"
    made.touch()
    source.touch()
    os.utime(source, (10, 10))
    assert not library._is_older(made, tmp_path)
    os.utime(made, (9, 9))
    assert library._is_older(made, tmp_path)


def test_without_a_compiler_reason_and_remedy_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "/nonexistent/compiler")
    made = library._compiled(RECORDING, tmp_path)
    assert made.path is None
    assert made.reason == "the agent is not installed, and there is no C compiler to build it"
    assert "install" in made.remedy


def test_a_failing_compiler_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    made = library._compiled(RECORDING, tmp_path)
    assert made.path is None
    assert made.reason == "the agent could not be compiled with false: status 1"
    assert not list(tmp_path.rglob("*.tmp"))


def test_no_sources_and_no_library(tmp_path: Path) -> None:
    assert (
        library._compiled(tmp_path, tmp_path).reason
        == "this installation has neither the agent nor its sources"
    )


def test_the_variables_of_both_sources(session: Session, with_agent: Path) -> None:
    found = environment_for_target(session, {"PATH": os.environ["PATH"]})
    assert found.variables["NVTX_INJECTION64_PATH"] == str(with_agent)
    assert found.variables["CUDA_INJECTION64_PATH"] == str(with_agent)
    assert found.variables["WARPLINE_SPOOL"] == str(session.directory)
    assert found.variables["WARPLINE_CUPTI"] == "graphs=node"
    assert "WARPLINE_CAPTURE_RANGE" not in found.variables
    assert found.warnings == ()


def test_options_reach_the_agent(session: Session, with_agent: Path) -> None:
    options = RecordingOptions(
        trace=("cuda",), capture_range="nvtx:epoch", cuda_graphs="graph", cuda_memory=True
    )
    asked = Session(**{**vars(session), "options": options})
    found = environment_for_target(asked, {"WARPLINE_CUPTI": "calls=all"})
    assert found.variables["WARPLINE_CUPTI"] == "calls=all,graphs=graph,memory=1"
    assert found.variables["WARPLINE_CAPTURE_RANGE"] == "nvtx:epoch"
    assert "NVTX_INJECTION64_PATH" not in found.variables
    assert list(found.sources) == ["cuda"]


def test_a_recording_without_sources_changes_no_environment(session: Session, with_agent: Path) -> None:
    found = environment_for_target(
        Session(**{**vars(session), "options": RecordingOptions(trace=("cpu",))}), {}
    )
    assert not found.variables
    assert not found.sources


@pytest.mark.parametrize(
    ("variable", "name"), [("NVTX_INJECTION64_PATH", "nvtx"), ("CUDA_INJECTION64_PATH", "cuda")]
)
def test_another_tools_injection_is_never_replaced(
    session: Session, with_agent: Path, variable: str, name: str
) -> None:
    found = environment_for_target(session, {variable: "/opt/nsight/libToolsInjection64.so"})
    assert found.variables[variable] == "/opt/nsight/libToolsInjection64.so"
    source = found.sources[name]
    assert not source.enabled
    assert source.reason == f"{variable} is set to /opt/nsight/libToolsInjection64.so by another tool"
    assert source.remedy == f"unset {variable} to record with Warpline"
    assert found.warnings == (f"{name}: {source.reason}",)


def test_our_own_injection_variable_is_not_another_tools(session: Session, with_agent: Path) -> None:
    assert environment_for_target(session, {"NVTX_INJECTION64_PATH": str(with_agent)}).warnings == ()


def test_without_the_agent_both_sources_say_why(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        loading, "agent_library", lambda: library.AgentLibrary(None, "no compiler", "install one")
    )
    found = environment_for_target(session, {})
    assert not found.variables
    assert {
        (source.name, source.enabled, source.reason, source.remedy) for source in found.sources.values()
    } == {
        ("nvtx", False, "no compiler", "install one"),
        ("cuda", False, "no compiler", "install one"),
    }


def make(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    return path


def test_libcupti_of_the_programs_own_environment_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env, toolkit = tmp_path / "env", tmp_path / "cuda"
    python = make(env / "bin" / "python")
    python.chmod(0o755)
    script = env / "bin" / "torchrun"
    script.write_text(f"#!{python}\n")
    script.chmod(0o755)
    packages = env / "lib" / "python3.12" / "site-packages"
    wheel_12 = make(packages / "nvidia" / "cuda_cupti" / "lib" / "libcupti.so.12")
    of_toolkit = make(toolkit / "extras" / "CUPTI" / "lib64" / "libcupti.so.12")
    variables = {"CUDA_HOME": str(toolkit), "PATH": ""}
    assert find_libcupti([str(python)], variables) == wheel_12
    elsewhere = make(tmp_path / "bin" / "torchrun")
    elsewhere.write_text(f"#!{python}\n")
    elsewhere.chmod(0o755)
    assert find_libcupti([str(elsewhere)], variables) == wheel_12
    assert find_libcupti([str(make(tmp_path / "other" / "bin" / "program"))], variables) == of_toolkit
    assert find_libcupti([], {**variables, "VIRTUAL_ENV": str(env)}) == wheel_12
    wheel_13 = make(packages / "nvidia" / "cu13" / "lib" / "libcupti.so.13")
    monkeypatch.setattr(libraries, "_driver_major", lambda: 580)
    assert find_libcupti([str(python)], variables) == wheel_13
    monkeypatch.setattr(libraries, "_driver_major", lambda: 550)
    assert find_libcupti([str(python)], variables) == wheel_12, (
        "a driver does not run a newer CUDA's libcupti"
    )
    wheel_11 = make(packages / "nvidia" / "cuda_cupti" / "lib" / "libcupti.so.11.8")
    assert find_libcupti([str(python)], variables) == wheel_12, "the newest that the driver runs"
    monkeypatch.setattr(libraries, "_driver_major", lambda: 520)
    assert find_libcupti([str(python)], variables) == wheel_11


@pytest.mark.parametrize("folder", ["extras/CUPTI/lib64", "lib64"])
def test_libcupti_of_a_cuda_11_8_toolkit_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.setattr(libraries, "_TOOLKIT", str(tmp_path / "cuda"))
    of_toolkit = make(tmp_path / "cuda-11.8" / folder / "libcupti.so.11.8")
    assert find_libcupti([], {}) == of_toolkit
    named = make(tmp_path / "named" / folder / "libcupti.so.11.8")
    assert find_libcupti([], {"CUDA_HOME": str(tmp_path / "named")}) == named


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n", 550),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n", 580),
        ("", 580),
    ],
)
def test_the_drivers_branch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, major: int) -> None:
    path = tmp_path / "version"
    path.write_text(text)
    monkeypatch.setattr(libraries, "_DRIVER_VERSION", path)
    assert libraries._driver_major() == major


def test_the_driver_is_found_as_the_program_would_find_it(tmp_path: Path) -> None:
    library_path = make(tmp_path / "libcuda.so.1")
    assert find_driver({"LD_LIBRARY_PATH": f"/nonexistent:{tmp_path}"}) == library_path


def test_the_driver_is_found_where_only_the_loaders_cache_lists_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library_path = make(tmp_path / "tegra" / "libcuda.so.1")
    monkeypatch.setattr(libraries, "_DRIVER_FOLDERS", ())
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    names = [b"libcuda.so.1", b"/usr/lib32/libcuda.so.1", b"libcuda.so.1", os.fsencode(library_path)]
    offsets, strings = [], b""
    for name in names:
        offsets.append(48 + 2 * 24 + len(strings))
        strings += name + b"\0"
    entries = struct.pack("<iIIIQ", 0x0803, offsets[0], offsets[1], 0, 0)
    entries += struct.pack("<iIIIQ", 0x0A03, offsets[2], offsets[3], 0, 0)
    header = b"glibc-ld.so.cache1.1" + struct.pack("<IIBBBBIIII", 2, len(strings), 2, 0, 0, 0, 0, 0, 0, 0)
    cache = tmp_path / "ld.so.cache"
    cache.write_bytes(header + entries + strings)
    monkeypatch.setattr(libraries, "_LOADER_CACHE", cache)
    assert find_driver({}) == library_path
    cache.write_bytes((header + entries + strings)[:60])
    assert find_driver({}) is None


def test_annotations_are_exported_lazily() -> None:
    import warpline

    assert warpline.annotate.__module__ == "warpline.annotation"
    assert callable(warpline.mark)
    assert "warpline.annotation" in sys.modules
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = warpline.nothing  # type: ignore[attr-defined]
