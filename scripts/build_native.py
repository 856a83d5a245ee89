"""Compile the recording agent, and what makes other parts faster, with the system's C compiler, if there is one.

Used by the build hook and by ``make``; on its own: ``python scripts/build_native.py`` compiles into the checkout.
``CC`` names another compiler, ``WARPLINE_REQUIRE_NATIVE=1`` turns "cannot" into a failure, for packagers and CI.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

PACKAGE_NAME = "warpline/recording/agent"
PACKAGE_FOLDER = f"capture/{PACKAGE_NAME}"
SOURCES_FOLDER = "capture/warpline/recording/sources"
LIBRARY_NAME = "libwarpline_agent.so"
FLAGS = ["-std=c11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread"]
# It must never be unmapped: threads and handlers of the program point into it. One segment for what is only read: it is
# loaded into every process of a recording, and each mapping costs it microseconds.
AGENT_OPTIONS = ["-ldl", "-Wl,-z,nodelete", "-Wl,-z,noseparate-code"]
HELPER_OPTIONS = ["-O3"]


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
            f"libwarpline_{native.relative_to(interchange).parts[0]}.so",
            ("warpline/interchange/framework",),
        )
        for native in sorted(interchange.glob("*/**/native"))
        if native.parent.name != "framework"
    ]


HELPERS = (
    *_importer_helpers(Path(__file__).resolve().parents[1]),
    Helper("capture", "warpline/storage/columns", "libwarpline_guard.so"),
    Helper("capture", "warpline/storage/index", "libwarpline_strip.so"),
    Helper("capture", "warpline/storage/write", "libwarpline_packing.so"),
    Helper("capture", "warpline/analysis/framework", "libwarpline_nesting.so"),
    Helper("capture", "warpline/analysis/findings", "libwarpline_waits.so"),
    Helper("app", "warpline_app/timeline/draw", "libwarpline_lines.so"),
)


class NativeBuildError(Exception):
    """A library could not be compiled although WARPLINE_REQUIRE_NATIVE asks for it."""


def build(root: Path, folder: Path) -> Path | None:
    """Compile the agent of the checkout ``root`` into ``folder``; the library, or None when it was not possible.

    Nothing is compiled when the library is newer than every source.
    """
    return _compile(agent_folders(root), folder / LIBRARY_NAME, AGENT_OPTIONS)


def agent_folders(root: Path) -> list[Path]:
    """Where the agent's C is in a checkout: what all sources of recordings share, and the part of each."""
    shared = root / PACKAGE_FOLDER / "native"
    return [shared, shared / "python", *sorted((root / SOURCES_FOLDER).glob("*/native"))]


def build_helper(helper: Helper, root: Path, folder: Path) -> Path | None:
    """Likewise one of `HELPERS`."""
    return _compile([root / source for source in helper.sources], folder / helper.name, HELPER_OPTIONS)


def _compile(folders: list[Path], library: Path, options: list[str]) -> Path | None:
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
    unfinished = library.with_suffix(f".{os.getpid()}.tmp")
    command = [
        *compiler, *FLAGS, *shlex.split(os.environ.get("CFLAGS", "")), *(f"-I{folder}" for folder in folders),
        "-o", str(unfinished), *map(str, sources), *shlex.split(os.environ.get("LDFLAGS", "")), *options,
    ]  # fmt: skip
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.stderr:
        print(done.stderr, file=sys.stderr, end="")
    if done.returncode != 0:
        unfinished.unlink(missing_ok=True)
        return _without(library, f"{compiler[0]} failed with status {done.returncode}")
    unfinished.replace(library)
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
            build(checkout, checkout / PACKAGE_FOLDER),
            *(build_helper(helper, checkout, checkout / helper.folder) for helper in HELPERS),
        ]
        sys.exit(0 if None not in built else 1)
    except NativeBuildError as error:
        sys.exit(str(error))
