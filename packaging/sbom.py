"""Writes what a release consists of: CycloneDX 1.6, ``warpline-VERSION.cdx.json``, the same bytes for equal files."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from packaging.metadata import Metadata
from packaging.requirements import Requirement

_LICENSE = "Apache-2.0"
_DEVELOPERS = re.compile(r"""extra == ['"](dev|hta|packaging)['"]""")
"""Markers of what only a checkout needs."""


def sha256(path: Path) -> str:
    """The checksum of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def requirements(wheel: Path) -> list[Requirement]:
    """What a wheel requires, alone and with the extras of users."""
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Metadata.from_email(archive.read(name), validate=False)
    return [needed for needed in metadata.requires_dist or [] if not _DEVELOPERS.search(str(needed.marker))]


def required(requirement: Requirement) -> dict[str, Any]:
    """A component for a requirement: no version, since the installer chooses one."""
    name = requirement.name.lower().replace("_", "-")
    return {
        "type": "library",
        "name": requirement.name,
        "purl": f"pkg:pypi/{name}",
        "scope": "optional" if "extra" in str(requirement.marker or "") else "required",
        "properties": [{"name": "warpline:requirement", "value": str(requirement)}],
    }


def contained(name: str, version: str) -> dict[str, Any]:
    """A component that is inside a bundle, with its version."""
    purl = f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"
    return {"type": "library", "name": name, "version": version, "purl": purl}


def write_sbom(version: str, files: Iterable[Path], components: list[dict[str, Any]], output: Path) -> Path:
    """Writes the list of components and of released files with their checksums."""
    released = [
        {
            "type": "file",
            "name": path.name,
            "hashes": [{"alg": "SHA-256", "content": sha256(path)}],
        }
        for path in sorted(files)
    ]
    unique = {json.dumps(component, sort_keys=True): component for component in components}
    document: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "warpline",
                "version": version,
                "purl": f"pkg:pypi/warpline@{version}",
                "licenses": [{"license": {"id": _LICENSE}}],
                "components": released,
            }
        },
        "components": [unique[key] for key in sorted(unique)],
    }
    identity = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    document["serialNumber"] = f"urn:uuid:{identity}"
    path = output / f"warpline-{version}.cdx.json"
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path
