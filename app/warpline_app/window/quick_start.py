"""Speeds up the first frame: skips PySide's source scan, caches compiled modules, postpones garbage collection."""

from __future__ import annotations

import builtins
import gc
import importlib.util
import marshal
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType
from typing import Any

_YOUNG_OBJECTS = 20_000
"""Garbage collection threshold: a window creates this many objects at once."""

_SUPPORT = "shibokensupport/"
_MOST_BYTES = 8 << 20

Codes = dict[tuple[str, int], CodeType]
"""Code objects by module name and source checksum."""


@contextmanager
def imports_uncollected() -> Iterator[None]:
    """Import modules without collecting garbage, and exclude their objects from later collections.

    Modules live as long as the process, so a scan of them finds nothing.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(_YOUNG_OBJECTS)
        gc.enable()


def spare_sources() -> None:
    """Make PySide assume that every module uses Qt, instead of searching its source for the word.

    PySide searches every module imported after QtCore to decide where names switch to snake_case. A PySide that works
    differently is left alone.
    """
    with support_compiled_once():
        import PySide6.QtCore  # noqa: F401  # loads the module to patch

    feature: Any = sys.modules.get("shibokensupport.feature")
    if hasattr(feature, "_mod_uses_pyside"):
        feature._mod_uses_pyside = lambda _module: True


@contextmanager
def support_compiled_once() -> Iterator[None]:
    """Load the code of Shiboken's own modules from the user's cache while QtCore is imported, and save it there."""
    file = _file()
    if file is None or "shiboken6" in sys.modules:
        yield
        return
    known = read_codes(file)
    count = len(known)
    compiled = builtins.compile

    def look_up(source: Any, filename: Any, mode: str, *more: Any, **named: Any) -> Any:
        is_theirs = isinstance(filename, str) and filename.startswith(_SUPPORT) and isinstance(source, bytes)
        if not is_theirs or mode != "exec" or more or named:
            return compiled(source, filename, mode, *more, **named)
        key = filename, zlib.crc32(source)
        if key not in known:
            # As in the calling module, the compiled code inherits postponed annotations.
            known[key] = compiled(source, filename, mode)
        return known[key]

    builtins.compile = look_up
    try:
        yield
    finally:
        builtins.compile = compiled
    if len(known) > count:
        keep_codes(file, known)


def _file() -> Path | None:
    """The cache file, one per Python version; None where files have no owners."""
    from warpline.platform.files import FILES_HAVE_OWNERS
    from warpline.platform.folders import cache_folder

    if not FILES_HAVE_OWNERS:
        return None

    return cache_folder() / "code" / f"shiboken-{sys.implementation.cache_tag}.bin"


def read_codes(file: Path) -> Codes:
    """The cached code; empty if damaged, of another Python version, or possibly written by another user."""
    from warpline.platform.files import is_mine_alone

    with suppress(OSError, ValueError, EOFError, TypeError), file.open("rb") as raw:
        status = os.fstat(raw.fileno())
        if not is_mine_alone(status) or status.st_size > _MOST_BYTES:
            return {}
        head, body = raw.read(len(_head(b""))), raw.read()
        if head == _head(body):
            codes: Codes = marshal.loads(body)  # the user's own file, like Python's cached modules
            return codes
    return {}


def keep_codes(file: Path, codes: Codes) -> None:
    """Write the cache for the next start; without write access every start compiles."""
    body = marshal.dumps(codes)
    part = file.with_suffix(f".{os.getpid()}.part")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "wb") as raw:
                raw.write(_head(body) + body)
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)


def _head(body: bytes) -> bytes:
    return importlib.util.MAGIC_NUMBER + zlib.crc32(body).to_bytes(4, "little")
