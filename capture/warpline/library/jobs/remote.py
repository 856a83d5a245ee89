"""Ranks in object storage or on other machines: URLs for fsspec, such as ``s3://bucket/job``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from warpline.i18n import tr
from warpline.interchange.framework.detection import HEAD_BYTES
from warpline.model import UsageError
from warpline.storage import cache_folder


def is_url(text: str) -> bool:
    """Whether a text is a URL for fsspec rather than a local path."""
    return "://" in text


def list_files(url: str) -> list[str]:
    """The URLs of all files below a URL, or itself. Raises UsageError when it cannot be listed."""
    system, path = _system(url)
    try:
        files = sorted(system.find(path))
    except Exception as error:
        # Storages raise their own errors: permissions, names that do not resolve, protocols.
        raise UsageError(tr("{url}: cannot be listed: {error}", url=url, error=_line(error))) from error
    if not files:
        raise UsageError(tr("there is no file or folder {path}", path=url))
    return [system.unstrip_protocol(file) for file in files]


def content_key(url: str) -> str:
    """A key that changes with the content: size, time, ETag or whatever the storage has.

    Raises OSError when the storage does not answer.
    """
    system, path = _system(url)
    return str(_request(url, lambda: system.ukey(path)))


@contextmanager
def fetched(url: str, *, only_head: bool = False) -> Iterator[Path]:
    """A temporary local copy of the file, under its own name.

    ``only_head`` fetches only its beginning. Raises OSError when the storage fails.
    """
    system, path = _system(url)
    name = url.rstrip("/").rpartition("/")[2]
    place = "head" if only_head else content_key(url)
    folder = cache_folder() / "remote" / blake2b(f"{url}\0{place}".encode(), digest_size=16).hexdigest()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    target = folder / name
    try:
        if only_head:
            target.write_bytes(_request(url, lambda: system.cat_file(path, start=0, end=HEAD_BYTES)))
        else:
            _request(url, lambda: system.get_file(path, str(target)))
        yield target
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _request(url: str, ask: Any) -> Any:
    try:
        return ask()
    except Exception as error:
        # Any error of the storage fails only this rank.
        raise OSError(tr("{url}: cannot be read: {error}", url=url, error=_line(error))) from error


def _system(url: str) -> tuple[Any, str]:
    if find_spec("fsspec") is None:
        raise UsageError(
            tr(
                "{url}: URLs need fsspec; install it with: pip install fsspec",
                url=url,
            )
        )
    from fsspec.core import url_to_fs

    try:
        system, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{url}: {_line(error)}") from error
    return system, path


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
