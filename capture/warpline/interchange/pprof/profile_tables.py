"""What the numbers in a profile of pprof mean: strings, functions, locations, types of values."""

from __future__ import annotations

from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.protobuf import (
    Message,
    ProtobufError,
    integer_of,
    message_of,
    read_fields,
    text_of,
)

TYPE_FIELD, SAMPLE_FIELD = 1, 2
_MAPPING, _LOCATION, _FUNCTION, _STRING, _DEFAULT = 3, 4, 5, 6, 14


class ProfileTables:
    """The tables of a profile; texts are numbers in the table of strings."""

    def __init__(self) -> None:
        self._strings: list[str] = []
        self._types: list[Message] = []
        self._locations: dict[int, bytes] = {}
        self._functions: dict[int, Message] = {}
        self._mappings: dict[int, Message] = {}
        self._default = 0
        self.damaged = 0
        self.sample_count = 0

    def take(self, number: int, value: int | bytes | None) -> None:
        """Stores a field of the profile; samples are only counted."""
        if number == _DEFAULT and isinstance(value, int):
            self._default = value
        if not isinstance(value, bytes):
            return
        if number == SAMPLE_FIELD:
            self.sample_count += 1
            return
        try:
            if number == _STRING:
                self._strings.append(clean_text(text_of(value)))
            elif number == TYPE_FIELD:
                self._types.append(message_of(value))
            elif number == _LOCATION:
                self._locations[integer_of(message_of(value).get(1, 0))] = value
            elif number in (_FUNCTION, _MAPPING):
                message = message_of(value)
                table = self._functions if number == _FUNCTION else self._mappings
                table[integer_of(message.get(1, 0))] = message
        except ProtobufError:
            self.damaged += 1

    def text(self, number: int) -> str:
        """The text with a number; "" for one that is not in the table."""
        return self._strings[number] if 0 <= number < len(self._strings) else ""

    def value_types(self) -> list[tuple[str, str]]:
        """Name and unit of each value of a sample."""
        return [(self._text(entry, 1), self._text(entry, 2)) for entry in self._types]

    def default_type(self) -> int:
        """The place of the values that the profile is about: the named ones, else the last."""
        names = [name for name, _ in self.value_types()]
        default = self.text(self._default) if self._default > 0 else ""
        return names.index(default) if default in names else len(names) - 1

    def frames(self, number: int) -> list[str]:
        """The frames of a location, outermost first: a function and those inlined into it."""
        lines: list[str] = []
        mapping: Message = {}
        address = 0
        for field, value in read_fields(self._locations.get(number, b"")):
            if field == 2:
                mapping = self._mappings.get(integer_of(value), {})
            elif field == 3:
                address = integer_of(value)
            elif field == 4:
                try:
                    lines.append(self._line(message_of(value)))
                except ProtobufError:
                    self.damaged += 1
        file = self._text(mapping, 5).rpartition("/")[2]
        return lines[::-1] or [f"{file or '?'}+{address:#x}"]

    def _text(self, message: Message, field: int) -> str:
        return self.text(integer_of(message.get(field, 0)))

    def _line(self, line: Message) -> str:
        function = self._functions.get(integer_of(line.get(1, 0)), {})
        name = self._text(function, 2) or self._text(function, 3) or "?"
        file, number = self._text(function, 4).rpartition("/")[2], integer_of(line.get(2, 0))
        return f"{name} ({file}:{number})" if file and number else name
