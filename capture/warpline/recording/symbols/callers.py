"""Names of the functions that called what blocked, from what the agent knew of them."""

from __future__ import annotations

import re

from warpline.recording.symbols.demangle import demangle
from warpline.recording.symbols.modules import Modules, NamedFunction

_BY_ADDRESS = re.compile(r"^(/.*)\+0x([0-9a-f]+)$", re.DOTALL)
_BY_NAME = re.compile(r"^([^!/]+)!(.+)$", re.DOTALL)


class CallerNames:
    """Reads symbols where the linker's were not enough: functions that a file keeps to itself."""

    def __init__(self) -> None:
        self._modules = Modules()

    def text(self, caller: str) -> str:
        """``work [prog]`` for ``LIBRARY!FUNCTION`` and ``/PATH+OFFSET``; anything else stays as it is."""
        named = _BY_NAME.match(caller)
        if named is not None:
            return NamedFunction(demangle(named[2]), named[1], 0).text
        found = _BY_ADDRESS.match(caller)
        if found is None:
            return caller
        module = self._modules.get(found[1])
        # The address is where the call returns to, which may be the next function's.
        return module.function(module.first_address + int(found[2], 16) - 1).text
