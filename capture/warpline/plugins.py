"""Plug-ins: what installed distributions add to Warpline through entry points.

Every kind of plug-in is loaded and checked here, and a broken one never stops the others. It stays listed
under its name, and using it reports the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from warpline.extras import MODULES, install_command
from warpline.i18n import english

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class Plugin(Generic[Value]):
    """A plug-in after loading: its value, or the error that kept it from loading."""

    name: str
    origin: str
    """``package.module:attribute``"""
    distribution: str
    value: Value | None = None
    error: Exception | None = None

    @property
    def problem(self) -> str:
        """Why the plug-in has no value, in English; to be shown `translated`."""
        if isinstance(self.error, ImportError) and (hint := install_hint(self.error)):
            return hint
        return english(
            "plug-in {name} cannot be loaded from {origin}: {reason}",
            name=self.name,
            origin=self.origin,
            reason=str(self.error) or type(self.error).__name__,
        )

    @property
    def remedy(self) -> str:
        """What to do about the problem, in English."""
        return english("update or uninstall {distribution}", distribution=self.distribution)


def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, such as ``warpline.panels``."""
    return tuple(_all_entry_points().select(group=group))


def distribution_of(point: EntryPoint) -> str:
    """Name of the distribution that registers an entry point."""
    return point.dist.name if point.dist is not None else point.value


@cache
def _all_entry_points() -> Any:
    from importlib import metadata  # a tenth of the time that `warpline info` takes, which needs no plug-in

    # Read once for all groups: each read visits every installed distribution.
    return metadata.entry_points()


def forget() -> None:
    """Look for distributions again next time: one was installed or removed while this process runs."""
    _all_entry_points.cache_clear()


def load_plugins(
    group: str, kind: type[Value], check: Callable[[Value], object] | None = None
) -> tuple[Plugin[Value], ...]:
    """All plug-ins of a group, broken ones included; see `load_plugin`."""
    return tuple(load_plugin(point, kind, check) for point in entry_points(group))


def load_plugin(
    point: EntryPoint, kind: type[Value], check: Callable[[Value], object] | None = None
) -> Plugin[Value]:
    """Loads a plug-in that has to be an instance of ``kind``; ``check`` raises when something else is wrong with it."""
    value, error = None, None
    try:
        value = checked(point.load(), kind)
        if check is not None:
            check(value)
    # Importing another distribution's module may raise anything.
    except Exception as raised:
        value, error = None, raised
    return Plugin(
        name=point.name, origin=point.value, distribution=distribution_of(point), value=value, error=error
    )


def checked(value: object, kind: type[Value]) -> Value:
    """The value when it is of that type. Raises TypeError otherwise."""
    if not isinstance(value, kind):
        raise TypeError(english("it is not of type {type}", type=kind.__name__))
    return value


def install_hint(error: ImportError) -> str:
    """How to install the optional package whose import failed, in English; empty for any other module."""
    module = (error.name or "").partition(".")[0]
    if module not in MODULES or not isinstance(error, ModuleNotFoundError):
        return ""
    return english(
        "this needs {module}, which is not installed; install it with: {command}",
        module=module,
        command=install_command(MODULES[module]),
    )
