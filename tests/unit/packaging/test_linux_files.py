"""Desktop files agree with each other and with what validates them, where it is installed."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

LINUX = Path(__file__).resolve().parents[3] / "packaging" / "linux"
TYPE = "application/x-warpline-capture"


def test_thumbnails_and_metadata_name_the_type_of_captures() -> None:
    thumbnailer = configparser.ConfigParser(interpolation=None)
    thumbnailer.read(LINUX / "warpline.thumbnailer")
    entry = thumbnailer["Thumbnailer Entry"]
    assert entry["MimeType"] == f"{TYPE};"
    assert entry["Exec"].startswith("warpline render %i -o %o ")
    metadata = ET.parse(LINUX / "warpline.metainfo.xml").getroot()
    assert metadata.findtext("launchable") == metadata.findtext("id") == "warpline.desktop"
    assert metadata.findtext("provides/mediatype") == TYPE


@pytest.mark.parametrize(
    "command",
    [
        ["desktop-file-validate", "warpline.desktop"],
        # The project has no domain that its name could be reversed from.
        [
            "appstreamcli",
            "validate",
            "--no-net",
            "--override=cid-desktopapp-is-not-rdns=info",
            "warpline.metainfo.xml",
        ],
    ],
)
def test_desktop_files_are_valid(command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, cwd=LINUX, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
