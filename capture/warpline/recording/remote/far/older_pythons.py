# mypy: ignore-errors
# ruff: noqa: ARG001, RUF063, UP036, UP042
"""Gives Python 3.9 and 3.10 the names of the standard library that the recorder uses.

Imported before any other module on the other machine. There are no plug-ins there: only what was sent is installed.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import importlib.metadata
import sys
import typing


class _NoEntryPoints:
    def select(self, **_group: str) -> tuple[()]:
        return ()


def _dataclass(cls=None, /, *, kw_only=False, slots=False, **options):
    if cls is None:
        return functools.partial(_dataclass, kw_only=kw_only, **options)
    if not kw_only:
        return _plain_dataclass(cls, **options)
    # Without keyword-only fields, one without a default may not follow one with a default: reorder them.
    names = cls.__dict__.get("__annotations__", {})
    cls.__annotations__ = dict(sorted(names.items(), key=lambda item: hasattr(cls, item[0])))
    return _plain_dataclass(cls, **options)


def _zip(*iterables, strict=False):
    if not strict:
        return _plain_zip(*iterables)
    return _strict_zip(iterables)


def _strict_zip(iterables):
    end = object()
    iterators = [iter(iterable) for iterable in iterables]
    while True:
        row = tuple(next(iterator, end) for iterator in iterators)
        if end in row:
            if any(value is not end for value in row):
                raise ValueError("the arguments of zip() have different lengths")
            return
        yield row


class _StrEnum(str, enum.Enum):
    __str__ = str.__str__
    __format__ = str.__format__

    @staticmethod
    def _generate_next_value_(name, *_others):
        return name.lower()


importlib.metadata.entry_points = lambda **_group: _NoEntryPoints()
_plain_dataclass, _plain_zip = dataclasses.dataclass, zip
if sys.version_info < (3, 11):
    if sys.version_info < (3, 10):
        dataclasses.dataclass = _dataclass
        builtins.zip = _zip
    enum.StrEnum = _StrEnum
    typing.dataclass_transform = lambda **_options: lambda cls: cls
    for _name in ("Self", "Never", "assert_never", "Unpack", "TypeAlias"):
        if not hasattr(typing, _name):
            setattr(typing, _name, typing.Any)
