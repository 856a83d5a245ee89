"""What users install: the wheel, built and tried in an environment of its own."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import warpline


def run(command: list[str | Path], **environment: str) -> str:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build_wheel(repository: Path, folder: Path, **environment: str) -> Path:
    if importlib.util.find_spec("build") is None or importlib.util.find_spec("hatchling") is None:
        pytest.skip("build and hatchling are not installed (extra: dev)")
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        folder,
        repository,
    ]
    run(command, **environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(repository, tmp_path_factory.mktemp("wheel"))


@pytest.mark.slow
def test_only_our_names_are_installed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    top = {name.partition("/")[0] for name in names}
    assert top == {"warpline", "warpline_app", f"warpline-{warpline.__version__}.dist-info"}
    assert "warpline/py.typed" in names
    assert "warpline_app/py.typed" in names
    assert not [name for name in names if "__pycache__" in name or name.endswith((".c", ".h", ".o", ".tmp"))]


@pytest.mark.slow
def test_every_resource_is_in_the_wheel(wheel: Path, repository: Path) -> None:
    pages = [*(repository / "docs").glob("*.md"), *(repository / "docs" / "tutorials").glob("*.md")]
    folder = repository / "resources"
    files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"warpline/_resources/{path.relative_to(folder).as_posix()}" for path in files} <= names
    assert {f"warpline/_docs/{page.relative_to(repository / 'docs').as_posix()}" for page in pages} <= names


@pytest.mark.slow
def test_the_agent_is_inside_and_the_tag_says_so(wheel: Path, repository: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        compiled = "warpline/recording/agent/libwarpline_agent.so" in archive.namelist()
    sources = list((repository / "capture/warpline/recording/agent/native").glob("*.c"))
    assert compiled is (bool(sources) and shutil.which("cc") is not None)
    tag = wheel.stem.split("-", 2)[2]
    assert tag.startswith("py3-none-")
    assert (tag == "py3-none-any") is not compiled


@pytest.mark.slow
def test_a_wheel_can_be_built_without_a_compiler(repository: Path, tmp_path: Path) -> None:
    wheel = build_wheel(repository, tmp_path, CC="no-such-compiler")
    assert wheel.name.endswith("-py3-none-any.whl")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_wheel_works_alone(wheel: Path, repository: Path, tmp_path: Path) -> None:
    # Without a pip of its own, and compiled where it is used: the half of what an environment takes.
    run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"])
    bin_folder = tmp_path / "venv" / "bin"
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--python",
        bin_folder / "python",
    ]
    run([*pip, "install", "-q", "--no-compile", wheel])
    assert run([bin_folder / "warpline", "--version"]) == f"warpline {warpline.__version__}\n"
    assert "record" in run([bin_folder / "warpline", "--help"])

    where = "import warpline.resources as r; print(r.root())"
    if (repository / "resources").is_dir():
        assert Path(run([bin_folder / "python", "-I", "-c", where]).strip()).is_relative_to(tmp_path)

    # The extra "gui" is not in there, and the command line says what to install.
    done = subprocess.run([bin_folder / "warpline", "view"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1


@pytest.fixture
def build_native(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_native", repository / "scripts" / "build_native.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(build_native: ModuleType, tmp_path: Path) -> Path:
    folder = tmp_path / "checkout" / build_native.PACKAGE_FOLDER / "native"
    folder.mkdir(parents=True)
    (folder / "agent.c").write_text(
        '__attribute__((visibility("default"))) int warpline_agent_version(void) { return 7; }\n'
    )
    return tmp_path / "checkout"


def test_the_agent_is_compiled(build_native: ModuleType, checkout: Path, tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    library = build_native.build(checkout, tmp_path / "out")
    assert library is not None
    assert ctypes.CDLL(str(library)).warpline_agent_version() == 7
    built = library.stat().st_mtime_ns
    assert build_native.build(checkout, tmp_path / "out") == library
    assert library.stat().st_mtime_ns == built, "compiled again although nothing changed"


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_the_agent_is_left_out_with_a_reason(
    build_native: ModuleType,
    checkout: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    compiler: str,
) -> None:
    monkeypatch.setenv("CC", compiler)
    monkeypatch.delenv("WARPLINE_REQUIRE_NATIVE", raising=False)
    assert build_native.build(checkout, tmp_path / "out") is None
    assert compiler in capsys.readouterr().err
    monkeypatch.setenv("WARPLINE_REQUIRE_NATIVE", "1")
    with pytest.raises(build_native.NativeBuildError):
        build_native.build(checkout, tmp_path / "out")
