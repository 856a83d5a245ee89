"""What is sampled of a GPU."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A quantity of a GPU: its number in the spool, its key in track URIs, its title and unit."""

    number: int
    key: str
    title: str
    unit: str
