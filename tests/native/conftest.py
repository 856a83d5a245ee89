"""The agent, a simulated driver and libcupti, compiled once; and programs run with them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from tests.waiting import wait_until

from warpline.recording.agent.library import native_folders
from warpline.recording.spool import records
from warpline.recording.spool.reader import SpoolFile, read_spools

HERE = Path(__file__).parent
_NATIVE = native_folders(HERE.parents[1] / "capture" / "warpline" / "recording")
AGENT_SOURCES = [path for folder in _NATIVE for path in sorted(folder.glob("*.c"))]
AGENT_HEADERS = [f"-I{folder}" for folder in _NATIVE]
COMPILER = shutil.which(os.environ.get("CC", "cc"))
REAL_NVTX = next(
    (
        str(folder)
        for folder in (Path(os.environ.get("NVTX_INCLUDE", "/nonexistent")), Path("/usr/local/cuda/include"))
        if (folder / "nvtx3" / "nvToolsExt.h").is_file()
    ),
    None,
)
RECORDING, PAUSED, STOPPING = 0, 1, 2
SHARED = ("-shared", "-fPIC", "-fvisibility=hidden")
SIMULATED_LIBRARIES = {
    "libcuda.so.1": ("cuda.c", "driver_api.c"),
    "libcupti.so.12": ("cupti.c", "cupti_v2.c", "buffers.c", "work.c"),
}
"""The simulated driver's libraries and their sources."""


def compile_c(output: Path, sources: Sequence[Path], *options: str) -> Path:
    """Compile C, or link objects; warnings are errors. What CFLAGS asks for, as sanitizers, goes with it."""
    _cc(output.parent, *options, "-o", str(output), *map(str, sources), "-ldl")
    return output


def _cc(folder: Path, *words: str) -> None:
    """The C compiler, run in a folder."""
    if COMPILER is None:
        pytest.skip("needs a C compiler")
    command = [COMPILER, "-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
    done = subprocess.run(
        [*command, *shlex.split(os.environ.get("CFLAGS", "")), *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr


def with_sanitizer(variables: dict[str, str]) -> dict[str, str]:
    """With the runtime of the sanitizer that CFLAGS compiled in, if any (scripts/sanitize.sh)."""
    runtime = os.environ.get("WARPLINE_SANITIZER")
    if runtime is None:
        return variables
    return {**variables, "LD_PRELOAD": ":".join(filter(None, [variables.get("LD_PRELOAD"), runtime]))}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what the tests compile."""
    return tmp_path_factory.mktemp("built")


@pytest.fixture(scope="session")
def agent_objects(built: Path) -> list[Path]:
    """The agent's sources, compiled for a library; a program can be linked with them too."""
    folder = built / "agent"
    folder.mkdir()
    _cc(folder, "-c", "-fPIC", "-fvisibility=hidden", *AGENT_HEADERS, *map(str, AGENT_SOURCES))
    objects = [folder / f"{source.stem}.o" for source in AGENT_SOURCES]
    assert len(set(objects)) == len(objects), "two sources of the same name"
    return objects


@pytest.fixture(scope="session")
def agent(built: Path, agent_objects: list[Path]) -> Path:
    """The agent, from the sources."""
    return compile_c(built / "libwarpline_agent.so", agent_objects, *SHARED, "-Wl,-z,nodelete")


@pytest.fixture(scope="session")
def simulated_gpu(built: Path) -> Path:
    """See `build_simulated_gpu`."""
    return build_simulated_gpu(built / "simulated")


def build_simulated_gpu(folder: Path) -> Path:
    """A folder with the simulated driver and the other profilers: libcuda.so.1, libcupti.so.12, libclients.so."""
    folder.mkdir()
    for name, sources in SIMULATED_LIBRARIES.items():
        files = [HERE / "simulated_driver" / source for source in sources]
        # NVIDIA's libraries are linked like this too: their own calls stay inside, and the symbols of libcupti have its
        # name as their version.
        linking = ["-Wl,-Bsymbolic", f"-Wl,-soname,{name}"]
        if name.startswith("libcupti"):
            linking.append("-Wl,--default-symver")
        compile_c(folder / name, files, *SHARED, *linking)
    clients = HERE / "simulated_driver" / "clients.c"
    compile_c(folder / "libclients.so", [clients, folder / "libcupti.so.12"], *SHARED)
    return folder


def simulated_gpu_environment(folder: Path) -> dict[str, str]:
    """What a recorded program needs to find the simulated GPU of that folder."""
    return {"LD_LIBRARY_PATH": str(folder), "WARPLINE_LIBCUPTI": str(folder / "libcupti.so.12")}


@pytest.fixture(scope="session", params=["own", "real"])
def nvtx_program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A C program with NVTX and a shared object that has its own: with our NVTX client, and with NVIDIA's headers."""
    options = []
    if request.param == "real":
        if REAL_NVTX is None:
            pytest.skip("no NVTX headers; NVTX_INCLUDE names the folder that holds nvtx3/")
        options = ["-DREAL_NVTX", f"-I{REAL_NVTX}"]
    # pytest makes it again where another parameter came between: in an order of their own, files alternate.
    folder = tmp_path_factory.mktemp("nvtx")
    plugin = compile_c(
        folder / "libplugin.so", [HERE / "programs" / "nvtx_plugin.c"], "-shared", "-fPIC", *options
    )
    return compile_c(
        folder / "nvtx_program",
        [HERE / "programs" / "nvtx_program.c", plugin],
        *options,
        f"-Wl,-rpath,{folder}",
    )


@dataclass
class Session:
    """A spool directory with its control page, and what the environment of a program needs."""

    folder: Path
    agent: Path
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.set_page()

    def set_page(self, state: int = RECORDING, sources: int = 127, size_cap: int = 0) -> None:
        page = struct.pack("<8sIIQIIQ", b"WLCTRL01", 1, state, time.monotonic_ns(), sources, 0, size_cap)
        (self.folder / "control").write_bytes(page.ljust(4096, b"\0"))

    def set_state(self, state: int) -> None:
        with (self.folder / "control").open("r+b") as file:
            file.seek(12)
            file.write(struct.pack("<IQ", state, time.monotonic_ns()))

    def page(self) -> tuple[int, int]:
        """State, and how often it was changed by the program."""
        epoch, state = struct.unpack_from("<II", (self.folder / "control").read_bytes(), 8)
        return state, epoch - 1

    def environment(self, **more: str) -> dict[str, str]:
        agent = str(self.agent)
        return with_sanitizer(
            {
                **os.environ,
                "WARPLINE_SPOOL": str(self.folder),
                "WARPLINE_AGENT": agent,
                "NVTX_INJECTION64_PATH": agent,
                "CUDA_INJECTION64_PATH": agent,
                **self.variables,
                **more,
            }
        )

    def run(self, *command: str | Path, status: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(word) for word in command],
            env=self.environment(**more),
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == status, done.stderr
        return done

    def start(self, *command: str | Path, **more: str) -> subprocess.Popen[str]:
        """The program, with pipes to talk to it line by line."""
        return subprocess.Popen(
            [str(word) for word in command],
            env=self.environment(**more),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def spools(self) -> list[SpoolFile]:
        spools, problems = read_spools(self.folder)
        assert not problems
        return spools

    def spool(self) -> SpoolFile:
        """The one file there is."""
        (only,) = self.spools()
        return only

    def count(self, record_type: int, dtype: npt.DTypeLike) -> int:
        # A file that was made this moment has no header yet.
        return sum(len(spool.records(record_type, dtype).values) for spool in read_spools(self.folder)[0])

    def wait_for(self, record_type: int, dtype: npt.DTypeLike, count: int) -> None:
        """Until so many records can be read; the files are readable while they grow."""
        wait_until(
            lambda: self.count(record_type, dtype) >= count,
            lambda: f"{self.count(record_type, dtype)} of {count} records came",
        )


@pytest.fixture
def session(tmp_path: Path, agent: Path) -> Session:
    """A recording that is on."""
    return Session(tmp_path / "run.h5.spool", agent)


@pytest.fixture
def gpu_session(session: Session, simulated_gpu: Path) -> Session:
    """A recording of programs that find the simulated GPU."""
    session.variables = {
        "LD_LIBRARY_PATH": str(simulated_gpu),
        "WARPLINE_LIBCUPTI": str(simulated_gpu / "libcupti.so.12"),
    }
    return session


def states(spool: SpoolFile) -> dict[str, tuple[bool, str, str]]:
    """The last word about each source: enabled, reason, remedy."""
    found = spool.records(3, records.source_state).values
    return {
        spool.text(name): (bool(enabled), spool.text(reason), spool.text(remedy))
        for name, enabled, reason, remedy, _lost in found.tolist()
    }


def names(spool: SpoolFile, record_type: int, dtype: npt.DTypeLike) -> list[str]:
    """Names of records, in the order of their writing."""
    return [spool.text(name) for name in spool.records(record_type, dtype).values["name"].tolist()]


Record = Callable[..., Path]


@pytest.fixture(scope="session")
def record(tmp_path_factory: pytest.TempPathFactory, simulated_gpu: Path) -> Record:
    """``warpline record`` with the simulated GPU; returns the capture's path."""

    def run(
        *command: str | Path,
        options: Sequence[str] = (),
        status: int = 0,
        variables: Mapping[str, str] | None = None,
    ) -> Path:
        output = tmp_path_factory.mktemp("recorded") / "run.h5"
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "warpline",
                "record",
                "-o",
                str(output),
                *options,
                "--",
                *map(str, command),
            ],
            env=with_sanitizer(
                {**os.environ, **simulated_gpu_environment(simulated_gpu), **(variables or {})}
            ),
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == status, done.stderr
        return output

    return run


def info(path: Path) -> dict[str, object]:
    """``warpline info --json``."""
    done = subprocess.run(
        [sys.executable, "-m", "warpline", "info", str(path), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def column(
    spool: SpoolFile, record_type: int, dtype: npt.DTypeLike, field_name: str
) -> npt.NDArray[np.int64]:
    """One field of all records of a type."""
    return spool.records(record_type, dtype).values[field_name].astype(np.int64)
