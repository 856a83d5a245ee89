"""`frozen`: dataclasses whose instances never change, and that cost nothing until one is made.

The standard library compiles six methods for each frozen dataclass when its module is imported; a window imports a
hundred of them before it shows anything. These share theirs, and compile a constructor when the first one is called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

_C = TypeVar("_C")
_NOT_GIVEN = object()


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_C]) -> type[_C]:
    """``@dataclass(frozen=True)``: the same fields, constructor, comparison, hash and text, made when they are used.

    `dataclasses.fields` and `replace` take such classes. One that inherits from another is ``frozen`` too.
    """
    dataclass(init=False, repr=False, eq=False)(cls)
    methods: dict[str, Callable[..., Any]] = {
        "__init__": _first_constructor(cls),
        "__setattr__": _refusal(cls, "__setattr__", "assign to"),
        "__delattr__": _refusal(cls, "__delattr__", "delete"),
    }
    if "__repr__" not in vars(cls):
        methods["__repr__"] = _text
    if "__eq__" not in vars(cls):
        methods |= _comparison(cls)
    for name, method in methods.items():
        setattr(cls, name, method)
    cls.__signature__ = _Signature()  # type: ignore[attr-defined]  # what `inspect` and `help` ask for
    return cls


class _Signature:
    """How a class is called, found out when somebody asks."""

    def __get__(self, instance: object, owner: type[Any]) -> inspect.Signature:
        called = inspect.signature(_constructor(owner))
        return called.replace(parameters=list(called.parameters.values())[1:])


def _text(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({shown})"


def _comparison(cls: type[Any]) -> dict[str, Callable[..., Any]]:
    """Equality by the fields that are compared, and the hash that goes with it."""
    compared = [f.name for f in fields(cls) if f.compare]
    hashed = [f.name for f in fields(cls) if (f.compare if f.hash is None else f.hash)]
    values, hashed_values = _reader(compared), _reader(hashed)

    def equal(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_of(self: Any) -> int:
        return hash(hashed_values(self))

    return {"__eq__": equal} if "__hash__" in vars(cls) else {"__eq__": equal, "__hash__": hash_of}


def _reader(names: list[str]) -> Callable[[Any], Any]:
    """The values as a tuple, which also compares what is not equal to itself."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _refusal(cls: type[Any], method: str, what: str) -> Callable[..., None]:
    names = {f.name for f in fields(cls)}

    def refuse(self: Any, name: str, *value: Any) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot {what} field {name!r}")
        getattr(super(cls, self), method)(name, *value)

    return refuse


def _first_constructor(cls: type[Any]) -> Callable[..., None]:
    """Stands for the constructor until the first call, which makes it."""

    def construct(self: Any, *arguments: Any, **named: Any) -> None:
        made = _constructor(cls)
        # One that somebody put in its place, around it perhaps, stays.
        if cls.__init__ is construct:
            cls.__init__ = made
        made(self, *arguments, **named)

    return construct


def _constructor(cls: type[Any]) -> Callable[..., None]:
    """What `dataclass` would compile."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_not_given": _NOT_GIVEN}
    parameters: list[str] = []
    by_name: list[str] = []
    body: list[str] = []
    for number, f in enumerate(fields(cls)):
        value, parameter = f.name, f.name
        if f.default_factory is not MISSING:
            names[f"_made_{number}"] = f.default_factory
            value = f"_made_{number}()"
            if f.init:
                parameter, value = f"{f.name}=_not_given", f"{value} if {f.name} is _not_given else {f.name}"
        elif f.default is not MISSING:
            names[f"_default_{number}"] = f.default
            parameter = f"{f.name}=_default_{number}"
        if f.init:
            (by_name if f.kw_only else parameters).append(parameter)
        if f.init or f.default_factory is not MISSING:
            body.append(f"    _set(self, {f.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("    self.__post_init__()")
    given = ["self", *parameters, *(["*", *by_name] if by_name else [])]
    exec("\n".join([f"def __init__({', '.join(given)}):", *body, "    return None"]), names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {f.name: f.type for f in fields(cls) if f.init} | {"return": None}
    return made
