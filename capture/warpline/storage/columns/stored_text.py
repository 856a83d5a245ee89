"""Texts as a capture stores them: UTF-8, in attributes of fixed length."""

from __future__ import annotations

import re

import h5py
import numpy as np

_SURROGATES = re.compile("[\ud800-\udfff]")


def utf8(text: str) -> bytes:
    """UTF-8; what cannot be encoded (undecodable bytes of a path, halves of surrogate pairs) is replaced."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text).encode()


def set_attribute(node: h5py.Group | h5py.Dataset, name: str, value: str | int) -> None:
    """Writes an attribute; texts with a fixed length, which HDF5 keeps beside the object under its checksum."""
    if isinstance(value, int):
        node.attrs[name] = value
        return
    data = utf8(value)
    node.attrs.create(name, np.array(data), dtype=h5py.string_dtype("utf-8", max(1, len(data))))
