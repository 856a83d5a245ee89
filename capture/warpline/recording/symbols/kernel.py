"""Names of the kernel's functions, where it tells them."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from pathlib import Path

FIRST_ADDRESS = 1 << 63
"""Addresses from here on are the kernel's."""
NAMELESS = "[kernel]"
_FILE = Path("/proc/kallsyms")


@cache
def _functions() -> tuple[list[int], list[str]]:
    try:
        text = _FILE.read_text()
    except OSError:
        return [], []
    found: list[tuple[int, str]] = []
    for line in text.splitlines():
        words = line.split(maxsplit=3)
        if len(words) >= 3 and words[1] in "tTwW":
            found.append((int(words[0], 16), words[2]))
    # Who may not know sees zeros.
    if not any(address for address, _name in found):
        return [], []
    found.sort(key=lambda entry: entry[0])
    return [address for address, _name in found], [name for _address, name in found]


def kernel_function(address: int) -> str:
    """``futex_wait [kernel]``; `NAMELESS` where the kernel keeps its addresses to itself."""
    addresses, names = _functions()
    at = bisect_right(addresses, address) - 1
    return f"{names[at]} [kernel]" if at >= 0 else NAMELESS
