"""Checks the compiled libraries of a wheel: platform, needed glibc, exported functions, no path of the build in them.

``python packaging/check_wheel.py WHEEL...``; needs ``pip install lief`` and Warpline itself.
"""

from __future__ import annotations

import importlib
import re
import sys
import zipfile
from collections import defaultdict
from pathlib import Path, PurePosixPath

import lief
from targets import PURE, TARGETS, Target

from warpline.platform.systems import library_file

lief.logging.disable()
ROOT = Path(__file__).resolve().parents[1]
AGENT_FOLDER = "warpline/recording/agent"
_DECLARES = re.compile(r"^SIGNATURES\b", re.MULTILINE)
_RUNTIME_EXPORTS = {
    "darwin": {"__dso_handle", "_mh_dylib_header"},
    "linux": set[str](),
    "win32": {"_CRT_INIT", "__mingw_module_is_dll", "atexit"},
}
"""Symbols of the C runtime and the linker that zig's libraries also export."""
_GLIBC_VERSION = re.compile(r"GLIBC_(\d+)\.(\d+)")


class PackagingError(Exception):
    """A wheel does not hold what its name promises."""


def declared_functions(root: Path = ROOT) -> dict[str, set[str]]:
    """The functions that Python declares, by the library's path in a Linux wheel."""
    functions: dict[str, set[str]] = defaultdict(set)
    for room in ("capture", "app"):
        for path in sorted((root / room).glob("*/**/*.py")):
            if not _DECLARES.search(path.read_text("utf-8")):
                continue
            module = importlib.import_module(".".join(path.relative_to(root / room).with_suffix("").parts))
            library = module.LIBRARY.relative_to(Path(module.__file__ or "").parents[0]).as_posix()
            package = path.relative_to(root / room).parent
            functions[(package / library).as_posix()] |= set(module.SIGNATURES)
    return dict(functions)


def wheel_target(wheel: Path) -> Target:
    """The target that a wheel's name promises. Raises PackagingError."""
    for target in (*TARGETS, PURE):
        if wheel.stem.endswith(f"-py3-none-{target.tag}"):
            return target
    raise PackagingError(f"{wheel.name}: no target has this tag")


def check_wheel(wheel: Path, target: Target | None = None) -> list[str]:
    """Names of the libraries of a wheel. Raises PackagingError when one is missing, surplus or wrong."""
    target = target or wheel_target(wheel)
    functions: dict[str, set[str]] = {}
    if target is not PURE:
        for path, names in declared_functions().items():
            place = PurePosixPath(path)
            name = re.sub(r"^lib|^", "", place.stem).removeprefix("warpline_")
            functions[str(place.with_name(library_file(name, target.system)))] = names
    with zipfile.ZipFile(wheel) as archive:
        libraries = {
            name: archive.read(name)
            for name in archive.namelist()
            if name.endswith((".so", ".dylib", ".dll", ".lib", ".pdb"))
        }
    agent = f"{AGENT_FOLDER}/{library_file('agent', 'linux')}"
    expected = {*functions, *([agent] if target.has_agent else [])}
    if set(libraries) != expected:
        different = ", ".join(sorted(set(libraries) ^ expected))
        raise PackagingError(f"{wheel.name}: missing or surplus: {different}")
    for name, data in libraries.items():
        try:
            check_library(data, target, functions.get(name))
        except PackagingError as error:
            raise PackagingError(f"{wheel.name}: {name}: {error}") from error
    return sorted(libraries)


def check_library(data: bytes, target: Target, functions: set[str] | None) -> None:
    """Raises PackagingError when a library is not one for the target; ``functions`` are its exports, None for any."""
    library = lief.parse(data)
    if isinstance(library, lief.ELF.Binary) and target.system == "linux":
        machine, exports = library.header.machine_type.name, {one.name for one in library.exported_functions}
        _check_glibc(library, target)
    elif isinstance(library, lief.PE.Binary) and target.system == "win32":
        machine, exports = library.header.machine.name, {one.name for one in library.exported_functions}
    elif isinstance(library, lief.MachO.Binary) and target.system == "darwin":
        machine = library.header.cpu_type.name
        exports = {one.name.removeprefix("_") for one in library.exported_functions}
        if machine == "ARM64" and not library.has_code_signature:
            raise PackagingError("has no signature, without which macOS loads nothing on arm64")
    else:
        raise PackagingError(f"is no library for {target.system}")
    if machine != target.machine:
        raise PackagingError(f"is for {machine}, not for {target.machine}")
    exports -= _RUNTIME_EXPORTS[target.system]
    if functions is not None and exports != functions:
        raise PackagingError(
            f"exports differ from the declared ones: {', '.join(sorted(exports ^ functions))}"
        )
    for path in (str(ROOT), "warpline-build-", str(Path.home()) + "/"):
        if path.encode() in data:
            raise PackagingError(f"contains the path {path!r} of the build")


def _check_glibc(library: lief.ELF.Binary, target: Target) -> None:
    assert target.glibc is not None
    versions = {
        (int(match[1]), int(match[2]))
        for requirement in library.symbols_version_requirement
        for version in requirement.get_auxiliary_symbols()
        if (match := _GLIBC_VERSION.match(version.name))
    }
    newest = max(versions, default=(0, 0))
    if newest > target.glibc:
        raise PackagingError(f"needs glibc {newest[0]}.{newest[1]}")


def main(wheels: list[str]) -> int:
    """Checks wheels and prints what is compiled in each."""
    for wheel in wheels:
        print(f"{wheel}: {len(check_wheel(Path(wheel)))} libraries")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except PackagingError as error:
        sys.exit(f"check_wheel: {error}")
