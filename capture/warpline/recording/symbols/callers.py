"""Names the native callers of blocking functions from the agent's texts."""

from __future__ import annotations

import re

from warpline.recording.symbols.demangle import demangle
from warpline.recording.symbols.modules import Modules, NamedFunction

_BY_ADDRESS = re.compile(r"^(/.*)\+0x([0-9a-f]+)$", re.DOTALL)
_BY_NAME = re.compile(r"^([^!/]+)!(.+)$", re.DOTALL)


class CallerNames:
    """Names callers; reads symbol tables for functions that are local to a file."""

    def __init__(self) -> None:
        self._modules = Modules()

    def text(self, caller: str) -> str:
        """``work [prog]`` for ``LIBRARY!FUNCTION`` and ``/PATH+OFFSET``; anything else stays as it is."""
        named = _BY_NAME.match(caller)
        if named is not None:
            return NamedFunction(demangle(named[2]), named[1], 0).text
        located = _BY_ADDRESS.match(caller)
        if located is None:
            return caller
        module = self._modules.get(located[1])
        # A return address may be the start of the next function.
        return module.function(module.first_address + int(located[2], 16) - 1).text
