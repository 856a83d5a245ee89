"""Frames compressed by Zstandard (RFC 8878), where both ends have it: Python 3.14's or the system's library.

Both ends use this module; the far one runs it with any Python from 3.9 on.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from functools import lru_cache
from typing import Protocol

from warpline.recording.remote.frames import MAX_BODY_BYTES, FrameError, FrameType, packed

_LEVEL = 1
_HEAD_BYTES = 5


class Zstandard(Protocol):
    """What is needed of a library."""

    def compress(self, data: bytes) -> bytes:
        """The data as one Zstandard frame."""

    def decompress(self, data: bytes) -> bytes:
        """The content of a Zstandard frame; raises FrameError when it is none or too large."""


@lru_cache(maxsize=1)
def zstandard() -> Zstandard | None:
    """The library that is here; None without one."""
    if sys.version_info >= (3, 14):
        try:
            return _OfPython()
        except ImportError:  # built without it
            pass
    try:
        return _OfSystem()
    except (OSError, AttributeError):
        return None


def compressed(frame: bytes) -> bytes:
    """A frame of `FrameType.COMPRESSED` with another one inside; the other one itself where that is shorter."""
    library = zstandard()
    if library is None:
        return frame
    made = packed(FrameType.COMPRESSED, frame[:1] + library.compress(frame[_HEAD_BYTES:]))
    return made if len(made) < len(frame) else frame


def decompressed(body: bytes) -> tuple[FrameType, bytes]:
    """Type and body of the frame inside.

    Raises FrameError.
    """
    library = zstandard()
    if library is None or body[:1] != bytes([FrameType.BYTES]):
        raise FrameError("a compressed frame that nobody asked for")
    return FrameType.BYTES, library.decompress(body[1:])


class _OfPython:
    def __init__(self) -> None:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        self._zstd = zstd

    def compress(self, data: bytes) -> bytes:
        return bytes(self._zstd.compress(data, _LEVEL))

    def decompress(self, data: bytes) -> bytes:
        decompressor = self._zstd.ZstdDecompressor()
        try:
            content = bytes(decompressor.decompress(data, MAX_BODY_BYTES))
        except self._zstd.ZstdError as error:
            raise FrameError("a damaged compressed frame") from error
        if not decompressor.eof or decompressor.unused_data:
            raise FrameError("a damaged compressed frame")
        return content


class _OfSystem:
    def __init__(self) -> None:
        library = ctypes.CDLL(
            "libzstd.so.1" if sys.platform == "linux" else ctypes.util.find_library("zstd") or ""
        )
        size, text, context = ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
        self._bound, self._is_error = library.ZSTD_compressBound, library.ZSTD_isError
        self._compress, self._decompress = library.ZSTD_compressCCtx, library.ZSTD_decompress
        self._bound.restype = self._compress.restype = self._decompress.restype = size
        self._bound.argtypes = self._is_error.argtypes = [size]
        self._compress.argtypes = [context, text, size, text, size, ctypes.c_int]
        # Kept, as is the room: to have the pages anew for each frame costs as much as compressing it.
        library.ZSTD_createCCtx.restype = context
        self._context = context(library.ZSTD_createCCtx())
        self._decompress.argtypes = [text, size, text, size]
        self._room = ctypes.create_string_buffer(MAX_BODY_BYTES)

    def compress(self, data: bytes) -> bytes:
        needed = self._bound(len(data))
        if len(self._room) < needed:
            self._room = ctypes.create_string_buffer(needed)
        count = self._compress(self._context, self._room, len(self._room), data, len(data), _LEVEL)
        return data if self._is_error(count) else ctypes.string_at(self._room, count)

    def decompress(self, data: bytes) -> bytes:
        count = self._decompress(self._room, MAX_BODY_BYTES, data, len(data))
        if self._is_error(count):
            raise FrameError("a damaged compressed frame")
        return ctypes.string_at(self._room, count)
