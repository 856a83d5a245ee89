"""Names of kernel functions from /proc/kallsyms."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from pathlib import Path

from warpline.recording.symbols.machine_files import is_elsewhere

FIRST_ADDRESS = 1 << 63
"""The first kernel address."""
NAMELESS = "[kernel]"
_FILE = Path("/proc/kallsyms")


@cache
def _functions() -> tuple[list[int], list[str]]:
    try:
        text = _FILE.read_text()
    except OSError:
        return [], []
    functions: list[tuple[int, str]] = []
    for line in text.splitlines():
        words = line.split(maxsplit=3)
        if len(words) >= 3 and words[1] in "tTwW":
            functions.append((int(words[0], 16), words[2]))
    # Without privileges all addresses are zero.
    if not any(address for address, _name in functions):
        return [], []
    functions.sort(key=lambda entry: entry[0])
    return [address for address, _name in functions], [name for _address, name in functions]


def kernel_function(address: int) -> str:
    """``futex_wait [kernel]``; `NAMELESS` if the kernel hides its addresses."""
    addresses, names = _functions() if not is_elsewhere() else ([], [])
    at = bisect_right(addresses, address) - 1
    return f"{names[at]} [kernel]" if at >= 0 else NAMELESS
