"""The one file that records on another machine: our recorder, its agent, and nothing else."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from warpline.recording.agent.library import LIBRARY_NAME, agent_library

_PACKAGE = Path(__file__).resolve().parents[3]
_FOLDERS = ("i18n", "model", "platform", "recording")
_LEFT_OUT = (
    "recording/finalise.py",
    "recording/recover.py",
    "recording/remote/boot.py",
    "recording/remote/near/",
)
"""Modules that only this end needs, beside each source's ``translate.py``."""


@dataclass(frozen=True)
class FarPackage:
    """The files by their paths below a folder of the other machine; ``digest`` identifies their content."""

    files: dict[str, bytes]
    digest: str

    def packed(self) -> bytes:
        """A ZIP archive with the files."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, content in self.files.items():
                archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
        return buffer.getvalue()


@lru_cache(maxsize=1)
def far_package() -> FarPackage:
    """The package that this installation sends."""
    files = dict(sorted(_files()))
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return FarPackage(files, digest.hexdigest()[:16])


def _files() -> Iterator[tuple[str, bytes]]:
    paths = list(_PACKAGE.glob("*.py"))
    for folder in _FOLDERS:
        paths.extend((_PACKAGE / folder).rglob("*.py"))
    for path in paths:
        if not path.relative_to(_PACKAGE).as_posix().startswith(_LEFT_OUT) and path.name != "translate.py":
            yield str(path.relative_to(_PACKAGE.parent)), path.read_bytes()
    library = agent_library().path
    if library is not None:
        yield f"warpline/recording/agent/{LIBRARY_NAME}", library.read_bytes()
    nvml = importlib.util.find_spec("pynvml")
    if nvml is not None and nvml.origin is not None and nvml.origin.endswith("pynvml.py"):
        yield "pynvml.py", Path(nvml.origin).read_bytes()
