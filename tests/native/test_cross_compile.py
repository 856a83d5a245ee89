"""One machine builds the wheels of every platform, and a library that does not fit its wheel is refused."""

from __future__ import annotations

import importlib.util
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from tests.native.conftest import compile_c

ROOT = Path(__file__).resolve().parents[2]
NEEDED = "install the extra packaging: pip install ziglang lief build hatchling"
lief = pytest.importorskip("lief", reason=NEEDED)


def load(name: str, folder: str = "packaging") -> ModuleType:
    path = ROOT / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # the scripts import each other by these names
    spec.loader.exec_module(module)
    return module


targets = load("targets")
checks = load("check_wheel")
recipe = load("build_wheels")
native = load("build_native", "scripts")
NAMES = [target.name for target in targets.TARGETS]


def target_named(name: str) -> object:
    return next(target for target in (*targets.TARGETS, targets.PURE) if target.name == name)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [*NAMES, "any"])
def test_a_wheel_is_built_for_every_platform(name: str, tmp_path: Path) -> None:
    for module in ("ziglang", "build", "hatchling"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(NEEDED)
    target = target_named(name)
    wheel = recipe.build_wheel(target, tmp_path)
    assert checks.wheel_target(wheel) == target
    libraries = checks.check_wheel(wheel)
    helpers = 0 if name == "any" else len(checks.declared_functions())
    assert len(libraries) == helpers + name.startswith("linux")
    with zipfile.ZipFile(wheel) as archive:
        sources = [entry for entry in archive.namelist() if entry.endswith(".c")]
    assert bool(sources) is (name == "any")
    for other in targets.TARGETS:
        if other.name != name:
            with pytest.raises(checks.PackagingError):
                checks.check_wheel(wheel, other)


def test_builds_that_differ_are_told_by_their_files(tmp_path: Path) -> None:
    wheels = []
    for number, texts in enumerate([("a", "b"), ("a", "c"), ("a", "b")]):
        wheels.append(tmp_path / f"{number}.whl")
        with zipfile.ZipFile(wheels[-1], "w") as archive:
            for name, text in zip(("same", "other"), texts, strict=True):
                archive.writestr(zipfile.ZipInfo(name), text)
    assert recipe.different_members(wheels[0], wheels[1]) == ["other"]
    assert recipe.different_members(wheels[0], wheels[2]) == []


@pytest.fixture
def target_here() -> object:
    guard = next(iter((ROOT / "capture/warpline/storage/columns").glob("libwarpline_guard.so")), None)
    if guard is None:
        pytest.skip("build the compiled loops: python scripts/build_native.py")
    machine = lief.parse(str(guard)).header.machine_type.name
    return next(target for target in targets.TARGETS if (target.system, target.machine) == ("linux", machine))


def library(folder: Path, text: str, *options: str) -> bytes:
    source = folder / "planted.c"
    source.write_text(text)
    return compile_c(folder / "planted.so", [source], "-shared", "-fPIC", "-g0", *options).read_bytes()


def test_a_fitting_library_is_accepted(target_here: object, tmp_path: Path) -> None:
    data = library(tmp_path, "int planted(void) { return 1; }\n", "-nostdlib")
    checks.check_library(data, target_here, {"planted"})


def test_a_library_that_needs_a_newer_glibc_is_refused(target_here: object, tmp_path: Path) -> None:
    text = '#define _GNU_SOURCE\n#include <sys/mman.h>\nint planted(void) { return memfd_create("x", 0); }\n'
    with pytest.raises(checks.PackagingError, match=r"needs glibc 2\.27"):
        checks.check_library(library(tmp_path, text), target_here, {"planted"})


def test_exports_that_python_does_not_declare_are_refused(target_here: object, tmp_path: Path) -> None:
    data = library(
        tmp_path, "int planted(void) { return 1; }\nint surplus(void) { return 2; }\n", "-nostdlib"
    )
    with pytest.raises(checks.PackagingError, match=r"exports differ .*: surplus"):
        checks.check_library(data, target_here, {"planted"})
    with pytest.raises(checks.PackagingError, match=r"exports differ .*: absent"):
        checks.check_library(data, target_here, {"planted", "surplus", "absent"})


def test_a_path_of_the_build_is_refused(target_here: object, tmp_path: Path) -> None:
    text = f'const char *planted(void) {{ return "{ROOT}/planted.c"; }}\n'
    with pytest.raises(checks.PackagingError, match="contains the path"):
        checks.check_library(library(tmp_path, text, "-nostdlib"), target_here, {"planted"})


@pytest.mark.parametrize("name", NAMES)
def test_a_library_of_another_platform_is_refused(target_here: object, tmp_path: Path, name: str) -> None:
    target = target_named(name)
    if target is target_here:
        return
    data = library(tmp_path, "int planted(void) { return 1; }\n", "-nostdlib")
    with pytest.raises(checks.PackagingError, match=r"is for|is no library for"):
        checks.check_library(data, target, {"planted"})


def test_every_compiled_helper_declares_its_functions() -> None:
    declared = checks.declared_functions()
    libraries = {f"{helper.package}/{helper.file}" for helper in native.HELPERS}
    assert set(declared) == libraries
    assert all(names for names in declared.values())
    assert "warpline_levels_next" in declared["warpline/storage/index/libwarpline_strip.so"]
    assert "warpline_sort_names" in declared["warpline/storage/index/libwarpline_strip.so"]
