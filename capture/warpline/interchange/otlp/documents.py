"""The documents of OpenTelemetry traces in JSON.

Source of the format: ``opentelemetry/proto/trace/v1/trace.proto`` in its JSON encoding.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Attribute(msgspec.Struct, gc=False, frozen=True):
    """A name with a value: an object with one member, whose name is a type."""

    key: str = ""
    value: dict[str, Any] = {}

    def plain(self) -> Any:
        """The value, whatever its type."""
        return next(iter(self.value.values()), None)


class SpanEvent(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """A moment in a span."""

    time_unix_nano: int | str = 0
    name: str = ""


class SpanLink(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """Another span that caused one."""

    span_id: str = ""
    trace_id: str = ""


class Status(msgspec.Struct, gc=False, frozen=True):
    """How a span ended."""

    code: int | str = 0
    message: str = ""


class OtlpSpan(msgspec.Struct, frozen=True, rename="camel"):
    """An operation."""

    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    name: str = ""
    kind: int | str = 0
    start_time_unix_nano: int | str = 0
    end_time_unix_nano: int | str = 0
    attributes: list[Attribute] = []
    events: list[SpanEvent] = []
    links: list[SpanLink] = []
    status: Status = Status()


class Library(msgspec.Struct, frozen=True):
    """The library that made spans."""

    name: str = ""


class ScopeSpans(msgspec.Struct, frozen=True):
    """Spans of a library."""

    scope: Library = Library()
    spans: list[OtlpSpan] = []


class Resource(msgspec.Struct, frozen=True):
    """The program that made spans."""

    attributes: list[Attribute] = []


class ResourceSpans(msgspec.Struct, frozen=True, rename="camel"):
    """Spans of a program."""

    resource: Resource = Resource()
    scope_spans: list[ScopeSpans] = []


class TracesData(msgspec.Struct, frozen=True, rename="camel"):
    """A document."""

    resource_spans: list[ResourceSpans] = []
