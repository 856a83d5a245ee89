"""The recipe for wheels: one machine compiles the agent for both architectures and an old glibc."""

from __future__ import annotations

import importlib.util
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from tests.native.conftest import compile_c

ROOT = Path(__file__).resolve().parents[2]


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


recipe = load(ROOT / "packaging" / "build_wheels.py")


def wheel_with(library: Path, folder: Path) -> Path:
    path = folder / "warpline-0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.write(library, recipe.LIBRARY)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("machine", sorted(recipe.MACHINES))
def test_the_agent_compiles_for_both_machines_and_glibc_2_17(
    machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("needs the packaging extra: pip install ziglang")
    monkeypatch.setenv("CC", f"{sys.executable} -m ziglang cc -target {machine}-linux-gnu.2.17")
    monkeypatch.setenv("WARPLINE_REQUIRE_NATIVE", "1")
    library = load(ROOT / "scripts" / "build_native.py").build(ROOT, tmp_path)
    wheel = wheel_with(library, tmp_path)
    recipe.check(wheel, machine)
    other = next(name for name in recipe.MACHINES if name != machine)
    with pytest.raises(recipe.PackagingError, match=f"not for {other}"):
        recipe.check(wheel, other)


def test_a_library_that_needs_a_newer_glibc_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "new.c"
    source.write_text('const char needs[] = "GLIBC_2.34";\n')
    library = compile_c(tmp_path / "new.so", [source], "-shared", "-fPIC")
    machine = next(
        name
        for name, number in recipe.MACHINES.items()
        if library.read_bytes()[18:20] == number.to_bytes(2, "little")
    )
    with pytest.raises(recipe.PackagingError, match=r"needs glibc 2\.34"):
        recipe.check(wheel_with(library, tmp_path), machine)
