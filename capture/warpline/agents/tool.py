"""A tool: its name, what it does, its arguments, and the function that answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from warpline.model.errors import UsageError

if TYPE_CHECKING:
    from warpline.agents.session import ToolCall

_LONGEST_TEXT = 10_000
_MOST_TEXTS = 64
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "array": list,
    "boolean": bool,
}


@dataclass(frozen=True)
class ToolArgument:
    """One argument: its JSON type, its description, its bounds."""

    type: str
    description: str = ""
    default: Any = None
    least: int = 0
    most: int = 1_000_000_000
    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """JSON schema of the argument."""
        schema: dict[str, Any] = {"type": self.type}
        if self.description:
            schema["description"] = self.description
        if self.type == "array":
            schema["items"] = {"type": "string"}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.default is not None:
            schema["default"] = self.default
        return schema

    def checked(self, name: str, value: Any) -> Any:
        """The value, or the default for None. Raises UsageError for one of another type or beyond the bounds."""
        if value is None:
            return self.default
        is_typed = isinstance(value, _TYPES[self.type]) and (self.type == "boolean") == isinstance(
            value, bool
        )
        if not is_typed or (self.type == "array" and not all(isinstance(part, str) for part in value)):
            of_texts = " of strings" if self.type == "array" else ""
            raise UsageError(f"argument {name!r} must be of type {self.type}{of_texts}")
        texts = value if self.type == "array" else [value] if self.type == "string" else []
        if len(texts) > _MOST_TEXTS or any(len(text) > _LONGEST_TEXT for text in texts):
            raise UsageError(f"argument {name!r} is too long")
        if any(text != text.encode("utf-8", "replace").decode() for text in texts):
            raise UsageError(f"argument {name!r} is not valid text")
        if self.choices and value not in self.choices:
            raise UsageError(f"argument {name!r} must be one of: {', '.join(self.choices)}")
        if self.type == "integer" and not self.least <= value <= self.most:
            raise UsageError(f"argument {name!r} must be from {self.least} to {self.most}")
        return value


@dataclass(frozen=True)
class ToolPicture:
    """An answer that is a PNG."""

    data: bytes
    text: str = ""


Answer = str | ToolPicture


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool of the server; ``run`` gets the call and its arguments, checked and with defaults filled in."""

    name: str
    description: str
    run: Callable[[ToolCall, dict[str, Any]], Answer]
    arguments: Mapping[str, ToolArgument] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    is_read_only: bool = True

    def schema(self) -> dict[str, Any]:
        """JSON schema of the arguments."""
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: argument.schema() for name, argument in self.arguments.items()},
        }
        if self.required:
            schema["required"] = list(self.required)
        return schema

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call. Raises UsageError for unknown, missing and wrong ones."""
        for name in given:
            if name not in self.arguments:
                near = get_close_matches(str(name), self.arguments, n=1)
                known = ", ".join(self.arguments) or "none"
                hint = f"did you mean {near[0]!r}?" if near else f"there are: {known}"
                raise UsageError(f"{self.name} has no argument {str(name)[:80]!r}; {hint}")
        values = {name: argument.checked(name, given.get(name)) for name, argument in self.arguments.items()}
        for name in self.required:
            if values[name] in (None, "", []):
                raise UsageError(f"{self.name} needs the argument {name!r}")
        return values


CAPTURE = ToolArgument("string", "file name of an open capture; optional while one is open")
RANGE = ToolArgument("string", "part of the capture, e.g. 1.2s:1.35s, :500ms")
TRACK = ToolArgument("string", "pattern of track URIs, e.g. gpu/0/*")
