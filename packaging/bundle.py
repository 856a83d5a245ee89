"""Makes what runs on Linux without Python: a folder as ``.tar.xz`` and as ``.deb`` (``make bundle``).

``python packaging/bundle.py [--output dist] [--wheel FILE]``. The wheel, the window and PyInstaller are installed into
build/bundle, and the folder is tried before it is packed: it records with every source that the wheel has there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

from build_wheels import build_wheel
from sbom import contained, write_sbom
from targets import TARGETS

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).parent
MOST_UNPACKED, MOST_PACKED = 200 << 20, 70 << 20
_PROGRAM = """import os, threading
print(os.environ.get("LD_LIBRARY_PATH"))
threading.Thread(target=sum, args=(range(10**7),)).start()
"""
_DEBIAN_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_DEPENDS = (
    "libc6, libegl1, libgl1, libx11-6, libxkbcommon0, libxkbcommon-x11-0, libfontconfig1, libdbus-1-3,"
    " libglib2.0-0 | libglib2.0-0t64, libxcb-cursor0, libxcb-icccm4, libxcb-image0, libxcb-keysyms1,"
    " libxcb-render-util0, libxcb-shape0, libxcb-util1"
)
_STRIPPED = ("libpython*", "lib-dynload/*.so")
"""Of Python's own build, which keeps symbols. Libraries of wheels are stripped where they are made."""


class BundleError(Exception):
    """The bundle does not do what the wheel does, or is too large."""


def make_folder(wheel: Path, work: Path) -> tuple[Path, Path]:
    """Installs the wheel and freezes it. Returns the folder, and the Python it was made with."""
    python = work / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(work / "venv", with_pip=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    subprocess.run([*pip, "pyinstaller>=6", f"{wheel}[gui]"], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", str(wheel)], check=True)
    command = [str(python), "-m", "PyInstaller", "--noconfirm", "--log-level=WARN"]
    places = ["--distpath", str(work / "frozen"), "--workpath", str(work / "work")]
    subprocess.run([*command, *places, str(HERE / "warpline.spec")], check=True)
    folder = work / "frozen" / "warpline"
    inside = folder / "_internal"
    libraries = [path for pattern in _STRIPPED for path in inside.rglob(pattern) if not path.is_symlink()]
    subprocess.run(["strip", "--strip-unneeded", *map(str, libraries)], check=True)
    (folder / "warpline-window").symlink_to("warpline")
    for name in ("warpline.desktop", "warpline.mime.xml", "warpline.thumbnailer", "install-desktop.sh"):
        shutil.copy(HERE / "linux" / name, folder)
    shutil.copy(ROOT / "LICENSE", folder)
    return folder, python


def try_folder(folder: Path, python: Path, work: Path) -> None:
    """Raises BundleError unless it records what the wheel records, draws, and leaves programs their libraries."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "LC_ALL": "C.UTF-8"}
    environment.pop("LD_LIBRARY_PATH", None)

    def run(*command: str) -> str:
        done = subprocess.run(
            command,
            cwd=work,
            env=environment,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise BundleError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    sources = {}
    for name, command in {
        "bundle": [str(folder / "warpline")],
        "wheel": [str(python), "-m", "warpline"],
    }.items():
        capture = f"{name}.h5"
        said = run(*command, "record", "-q", "--no-check", "-o", capture, "--", "python3", "-c", _PROGRAM)
        if said.split() != ["None"]:
            raise BundleError(f"{name}: LD_LIBRARY_PATH reached the recorded program: {said}")
        found = json.loads(run(*command, "info", "--json", capture))["sources"]
        sources[name] = {source["name"]: source["enabled"] for source in found}
    if sources["bundle"] != sources["wheel"]:
        raise BundleError(f"other sources than the wheel's: {sources}")
    run(str(folder / "warpline"), "render", "bundle.h5", "-o", "bundle.png")
    run(str(folder / "warpline"), "doctor", "--quick")
    (work / "foreign.json").write_text(
        json.dumps([{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 3, "tid": 4}])
    )
    run(str(folder / "warpline"), "import", "foreign.json", "-o", "foreign.h5")
    size = size_of(folder)
    if size > MOST_UNPACKED:
        raise BundleError(f"{size >> 20} MiB unpacked, more than {MOST_UNPACKED >> 20}")


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def write_archive(folder: Path, output: Path, name: str) -> Path:
    """Packs the folder; equal folders make equal archives."""
    archive = output / f"{name}.tar.xz"

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(archive, "w:xz", preset=6) as packed:
        for path in sorted(folder.rglob("*")):
            packed.add(path, f"warpline/{path.relative_to(folder)}", recursive=False, filter=plain)
    if archive.stat().st_size > MOST_PACKED:
        raise BundleError(
            f"{archive.name}: {archive.stat().st_size >> 20} MiB, more than {MOST_PACKED >> 20}"
        )
    return archive


def write_deb(folder: Path, work: Path, output: Path, version: str, machine: str) -> Path | None:
    """A Debian package with the folder in /opt/warpline; None where dpkg-deb is missing."""
    if shutil.which("dpkg-deb") is None:
        return None
    tree = work / "deb"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(folder, tree / "opt" / "warpline", symlinks=True)
    share = tree / "usr" / "share"
    (tree / "usr" / "bin").mkdir(parents=True)
    for name in ("warpline", "warpline-window"):
        (tree / "usr" / "bin" / name).symlink_to(f"/opt/warpline/{name}")
    linux, icons = HERE / "linux", ROOT / "resources" / "icons"
    for source, place in {
        linux / "warpline.desktop": "applications/warpline.desktop",
        linux / "warpline.mime.xml": "mime/packages/warpline.xml",
        linux / "warpline.metainfo.xml": "metainfo/warpline.metainfo.xml",
        linux / "warpline.thumbnailer": "thumbnailers/warpline.thumbnailer",
        icons / "warpline.svg": "icons/hicolor/scalable/apps/warpline.svg",
        icons / "warpline-capture.svg": "icons/hicolor/scalable/mimetypes/application-x-warpline-capture.svg",
        ROOT / "LICENSE": "doc/warpline/copyright",
    }.items():
        (share / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, share / place)
    control = tree / "DEBIAN" / "control"
    control.parent.mkdir()
    control.write_text(
        f"Package: warpline\nVersion: {version.replace('.dev', '~dev')}\nArchitecture: {_DEBIAN_MACHINES[machine]}\n"
        f"Maintainer: Warpline\nInstalled-Size: {size_of(tree) >> 10}\nDepends: {_DEPENDS}\n"
        "Section: devel\nPriority: optional\nDescription: profiler timeline\n"
        " Records what a program does on CPU cores, threads and GPU streams, and shows it as a timeline.\n"
    )
    package = output / f"warpline_{version}_{_DEBIAN_MACHINES[machine]}.deb"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "0"}
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(tree), str(package)]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return package


def main() -> int:
    """Makes, tries and packs the bundle of this machine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "bundle")
    parser.add_argument("--wheel", type=Path, help="by default it is built")
    args = parser.parse_args()
    work, machine = args.work.resolve(), platform.machine()
    args.output.mkdir(parents=True, exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    target = next(target for target in TARGETS if target.name == f"linux-{machine}")
    wheel = args.wheel or build_wheel(target, work)
    folder, python = make_folder(wheel.resolve(), work)
    try_folder(folder, python, work)
    version = wheel.name.split("-")[1]
    listed = [str(python), "-m", "pip", "list", "--format=json"]
    packages = json.loads(subprocess.run(listed, check=True, capture_output=True).stdout)
    tools = {
        "pip",
        "setuptools",
        "pyinstaller",
        "pyinstaller-hooks-contrib",
        "altgraph",
        "packaging",
        "warpline",
    }
    components = [contained(p["name"], p["version"]) for p in packages if p["name"].lower() not in tools]
    components.append({"type": "platform", "name": "CPython", "version": platform.python_version()})
    made = [write_archive(folder, args.output, f"warpline-{version}-linux-{machine}")]
    if package := write_deb(folder, work, args.output, version, machine):
        made.append(package)
    made.append(write_sbom(f"{version}-linux-{machine}", made, components, args.output))
    print(f"unpacked: {size_of(folder) / 1e6:.0f} MB")
    for path in made:
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (BundleError, subprocess.CalledProcessError) as error:
        sys.exit(f"bundle: {error}")
