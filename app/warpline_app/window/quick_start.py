"""What the first frame does not wait for: sources that PySide reads or compiles, and collections of garbage."""

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
"""New objects after which Python looks for circles among them: a window makes that many in a blink."""

_SUPPORT = "shibokensupport/"
_MOST_BYTES = 8 << 20

Codes = dict[tuple[str, int], CodeType]
"""Compiled modules by their name and the checksum of their source."""


@contextmanager
def imports_uncollected() -> Iterator[None]:
    """Collect no garbage while modules are imported, and leave what they consist of out of later collections.

    Modules stay for as long as the process lives, so that looking through them finds nothing.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(_YOUNG_OBJECTS)
        gc.enable()


def spare_sources() -> None:
    """Let PySide take it that every module may use Qt, instead of searching its source for the word.

    It does so once for each module that is imported after QtCore, to know in which names are switched to snake_case;
    modules that it did find are treated as all are now. A PySide that does it in another way is left as it is.
    """
    with support_compiled_once():
        import PySide6.QtCore  # noqa: F401  # brings the module that is looked for

    feature: Any = sys.modules.get("shibokensupport.feature")
    if hasattr(feature, "_mod_uses_pyside"):
        feature._mod_uses_pyside = lambda _module: True


@contextmanager
def support_compiled_once() -> Iterator[None]:
    """Take the code of Shiboken's own modules from this user's cache while QtCore is imported, and keep it there."""
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
            # Like the module that asks, this one has the annotations of its own lines put off, which is inherited.
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
    """Where it is kept: for each version of Python in its own file. None where files have no owners."""
    if not hasattr(os, "getuid"):
        return None
    from warpline.storage.cache import cache_folder

    return cache_folder() / "code" / f"shiboken-{sys.implementation.cache_tag}.bin"


def read_codes(file: Path) -> Codes:
    """What is kept, nothing when it is damaged, of another Python, or may have been written by somebody else."""
    with suppress(OSError, ValueError, EOFError, TypeError), file.open("rb") as raw:
        status = os.fstat(raw.fileno())
        if status.st_uid != os.getuid() or status.st_mode & 0o022 or status.st_size > _MOST_BYTES:
            return {}
        head, body = raw.read(len(_head(b""))), raw.read()
        if head == _head(body):
            codes: Codes = marshal.loads(body)  # of this user, as the modules of Python are
            return codes
    return {}


def keep_codes(file: Path, codes: Codes) -> None:
    """Write it down for the next start; where nothing can be written each start compiles."""
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
