"""Describes protocol buffers as tables: which fields of a message become columns, and which tables of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum


class Action(IntEnum):
    """What happens to a field; ``native/message_tables.c`` has the same numbers."""

    IGNORED = 0
    NUMBER = 1
    TEXT = 2
    MESSAGE = 3
    NUMBERS = 4
    TEXTS = 5


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The fields of a message to read, by their numbers. Other fields are ignored, and counted if ``count_others``.

    ``numbers`` and ``texts`` (strings, bytes, messages kept whole) become columns of the message's table, with the last
    value. ``messages`` become tables of their own; so do ``repeated_numbers`` and ``repeated_texts``, with the column
    ``value``. A float or double is a number whose bits numpy can view.
    """

    numbers: Mapping[int, str] = field(default_factory=dict)
    texts: Mapping[int, str] = field(default_factory=dict)
    messages: Mapping[int, tuple[str, Schema]] = field(default_factory=dict)
    repeated_numbers: Mapping[int, str] = field(default_factory=dict)
    repeated_texts: Mapping[int, str] = field(default_factory=dict)
    count_others: bool = False


@dataclass(frozen=True, kw_only=True)
class TableLayout:
    """A table of a schema: its columns behind the first, which is the row of the message around it.

    ``fields`` gives the action of a field number, and its column or table.
    """

    name: str
    columns: tuple[str, ...]
    fields: Mapping[int, tuple[Action, int]]
    count_others: bool = False


def layouts(schema: Schema, name: str) -> list[TableLayout]:
    """The tables of a schema, the outermost message first. Names join the fields on the way: ``packet.event.name``."""
    tables: list[TableLayout | None] = []
    _add(schema, name, tables)
    return [table for table in tables if table is not None]


def _add(schema: Schema, name: str, tables: list[TableLayout | None]) -> int:
    own = len(tables)
    tables.append(None)
    columns = (*schema.numbers.values(), *schema.texts.values())
    fields: dict[int, tuple[Action, int]] = {}
    for action, group in ((Action.NUMBER, schema.numbers), (Action.TEXT, schema.texts)):
        for number, column in group.items():
            fields[number] = action, 1 + columns.index(column)
    for number, (part, inner) in schema.messages.items():
        fields[number] = Action.MESSAGE, _add(inner, f"{name}.{part}", tables)
    for action, group in (
        (Action.NUMBERS, schema.repeated_numbers),
        (Action.TEXTS, schema.repeated_texts),
    ):
        for number, part in group.items():
            fields[number] = action, len(tables)
            tables.append(TableLayout(name=f"{name}.{part}", columns=("value",), fields={}))
    tables[own] = TableLayout(name=name, columns=columns, fields=fields, count_others=schema.count_others)
    return own
