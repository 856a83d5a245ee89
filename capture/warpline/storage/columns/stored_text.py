"""Texts as a capture stores them: UTF-8, in attributes of fixed length."""

from __future__ import annotations

import re

import h5py
import numpy as np

_SURROGATES = re.compile("[\ud800-\udfff]")


def utf8(text: str) -> bytes:
    """The text as UTF-8; undecodable bytes of a path and lone surrogates are replaced."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text).encode()


def set_attribute(node: h5py.Group | h5py.Dataset, name: str, value: str | int) -> None:
    """Writes a new attribute; texts with a fixed length, which HDF5 keeps beside the object under its checksum.

    By the functions below `h5py.AttributeManager`, which takes several times as long; a capture has hundreds of them.
    """
    place = h5py.h5s.create_simple(())
    if isinstance(value, int):
        kind = h5py.h5t.STD_I64LE
        h5py.h5a.create(node.id, name.encode(), kind, place).write(np.array(value, np.int64))
        return
    data = utf8(value)
    text = h5py.h5t.C_S1.copy()
    text.set_size(max(1, len(data)))
    text.set_strpad(h5py.h5t.STR_NULLPAD)
    text.set_cset(h5py.h5t.CSET_UTF8)
    h5py.h5a.create(node.id, name.encode(), text, place).write(np.array(data), mtype=text)
