"""Compiles the recording agent and the helpers, which make other parts faster, if there is a C compiler.

Used by the build hook and by ``make``; on its own: ``python scripts/build_native.py`` compiles into the checkout.
``CC`` names another compiler, ``WARPLINE_SYSTEM`` the system it compiles for (as in `sys.platform`).
``WARPLINE_REQUIRE_NATIVE=1`` makes it an error when something cannot be compiled, for packagers and CI.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

PACKAGE_NAME = "warpline/recording/agent"
PACKAGE_FOLDER = f"capture/{PACKAGE_NAME}"
SOURCES_FOLDER = "capture/warpline/recording/sources"
SYSTEM = os.environ.get("WARPLINE_SYSTEM") or sys.platform
FLAGS = ["-std=c11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread"]
# It must never be unmapped: threads and handlers of the program point into it. One segment for what is only read: it is
# loaded into every process of a recording, and each mapping costs it microseconds.
# Zig's linker would drop the table of sources, to which only its start and stop symbols refer.
AGENT_OPTIONS = ["-ldl", "-Wl,-z,nodelete", "-Wl,--no-gc-sections"]
AGENT_OPTIONS_IF_KNOWN = ["-Wl,-z,noseparate-code"]
"""Zig's linker has no such option."""
HELPER_OPTIONS = ["-O3"]
_WITHOUT_TIME = ["-Wl,/Brepro", "-Wl,--no-insert-timestamp"]
"""Equal sources make equal DLLs: zig's linker takes one of them, GNU's the other."""


def _systems() -> ModuleType:
    """`warpline.platform.systems`; the build backend cannot import the package."""
    path = Path(__file__).resolve().parents[1] / "capture/warpline/platform/systems.py"
    spec = importlib.util.spec_from_file_location("warpline_systems", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


library_file = _systems().library_file
LIBRARY_NAME = library_file("agent", "linux")


class Helper(NamedTuple):
    """A library beside its package that only makes it faster.

    The sources are in the package's ``native`` folder, and in those of the packages ``shared``.
    """

    root: str
    package: str
    name: str
    shared: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """The package's folder in a checkout."""
        return f"{self.root}/{self.package}"

    @property
    def file(self) -> str:
        """The library's file name on `SYSTEM`."""
        return str(library_file(self.name, SYSTEM))

    @property
    def sources(self) -> list[str]:
        """Folders of a checkout with its C."""
        return [f"{self.root}/{package}/native" for package in (self.package, *self.shared)]


def _importer_helpers(root: Path) -> list[Helper]:
    """A library for each format whose folder has C, named after the folder. All share the framework's headers."""
    interchange = root / "capture/warpline/interchange"
    return [
        Helper(
            "capture",
            native.parent.relative_to(root / "capture").as_posix(),
            native.relative_to(interchange).parts[0],
            ("warpline/interchange/framework",),
        )
        for native in sorted(interchange.glob("*/**/native"))
        if native.parent.name != "framework"
    ]


HELPERS = (
    *_importer_helpers(Path(__file__).resolve().parents[1]),
    Helper("capture", "warpline/storage/columns", "guard"),
    Helper("capture", "warpline/storage/index", "strip"),
    Helper("capture", "warpline/storage/write", "packing"),
    Helper("capture", "warpline/analysis/framework", "nesting"),
    Helper("capture", "warpline/analysis/findings", "waits"),
    Helper("app", "warpline_app/timeline/draw", "lines"),
)


class NativeBuildError(Exception):
    """A library could not be compiled although WARPLINE_REQUIRE_NATIVE asks for it."""


def build(root: Path, folder: Path) -> Path | None:
    """Compiles the agent of the checkout ``root`` into ``folder``. Returns the library, or None if that fails.

    The agent exists on Linux only. Nothing is compiled when the library is newer than every source.
    """
    if SYSTEM != "linux":
        return None
    return _compile(agent_folders(root), folder / LIBRARY_NAME, AGENT_OPTIONS, AGENT_OPTIONS_IF_KNOWN)


def agent_folders(root: Path) -> list[Path]:
    """Where the agent's C is in a checkout: what all sources of recordings share, and the part of each."""
    shared = root / PACKAGE_FOLDER / "native"
    return [shared, shared / "python", *sorted((root / SOURCES_FOLDER).glob("*/native"))]


def build_helper(helper: Helper, root: Path, folder: Path) -> Path | None:
    """Compiles one of `HELPERS` likewise, on every system."""
    options = list(HELPER_OPTIONS)
    if SYSTEM == "darwin":
        # Otherwise the linker writes the path of the build folder into the library.
        options.append(f"-Wl,-install_name,@rpath/{helper.file}")
    options_if_known = _WITHOUT_TIME if SYSTEM == "win32" else None
    return _compile(
        [root / source for source in helper.sources], folder / helper.file, options, options_if_known
    )


@lru_cache
def _takes(compiler: tuple[str, ...], option: str) -> bool:
    """Whether a compiler links with an option."""
    with tempfile.TemporaryDirectory(prefix="warpline-option-") as folder:
        source = Path(folder) / "empty.c"
        source.write_text("int warpline_nothing;\n", "utf-8")
        command = [*compiler, "-shared", "-fPIC", option, "-o", f"{folder}/empty.so", str(source)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode == 0


def _compile(
    folders: list[Path], library: Path, options: list[str], options_if_known: list[str] | None = None
) -> Path | None:
    sources = [path for folder in folders for path in sorted(folder.glob("*.c"))]
    if not sources:
        return _without(library, "this source tree has no C sources for it")
    inputs = [*sources, *(path for folder in folders for path in folder.glob("**/*.h")), Path(__file__)]
    if library.exists() and all(library.stat().st_mtime > path.stat().st_mtime for path in inputs):
        return library
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if shutil.which(compiler[0]) is None:
        return _without(
            library, f"no C compiler {compiler[0]!r} (Debian and Ubuntu: apt-get install gcc libc6-dev)"
        )
    library.parent.mkdir(parents=True, exist_ok=True)
    # Renamed into place: a program being recorded may have the old library mapped, and writing into that kills it.
    # Linkers write the file's name into it, so only its folder has a name of its own.
    scratch = library.parent / f".build-{os.getpid()}"
    scratch.mkdir(exist_ok=True)
    unfinished = scratch / library.name
    options = [
        *options,
        *(option for option in options_if_known or [] if _takes(tuple(compiler), option)),
    ]
    command = [
        *compiler, *FLAGS, *shlex.split(os.environ.get("CFLAGS", "")), *(f"-I{folder}" for folder in folders),
        "-o", str(unfinished), *map(str, sources), *shlex.split(os.environ.get("LDFLAGS", "")), *options,
    ]  # fmt: skip
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.stderr:
        print(done.stderr, file=sys.stderr, end="")
    if done.returncode == 0:
        unfinished.replace(library)
    shutil.rmtree(scratch)
    if done.returncode != 0:
        return _without(library, f"{compiler[0]} failed with status {done.returncode}")
    return library


def _without(library: Path, reason: str) -> None:
    message = f"warpline: {library.name} is not built: {reason}"
    if os.environ.get("WARPLINE_REQUIRE_NATIVE") == "1":
        raise NativeBuildError(message)
    print(message, file=sys.stderr)


if __name__ == "__main__":
    checkout = Path(__file__).resolve().parents[1]
    try:
        built = [
            *([build(checkout, checkout / PACKAGE_FOLDER)] if SYSTEM == "linux" else []),
            *(build_helper(helper, checkout, checkout / helper.folder) for helper in HELPERS),
        ]
        sys.exit(0 if None not in built else 1)
    except NativeBuildError as error:
        sys.exit(str(error))
