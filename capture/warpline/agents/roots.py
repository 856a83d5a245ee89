"""The folders that the server may read, and where it may write recordings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from warpline.model.errors import UsageError

_LONGEST_PATH, _LONGEST_NAME = 1_000, 255


class Roots:
    """Folders below which every path of a call must lie, links resolved."""

    def __init__(self, folders: Sequence[Path], base: Path | None = None) -> None:
        """``base`` is the folder that relative paths start at (default: the first of ``folders``)."""
        self.folders = tuple(dict.fromkeys(folder.resolve() for folder in folders))
        self._base = base or (self.folders[0] if self.folders else Path("/"))

    def checked(self, text: str) -> Path:
        """The path that a text names, links resolved. Raises UsageError when it lies outside the folders."""
        if "\0" in text or not text.strip():
            raise UsageError("a path must be a text without null characters")
        try:
            path = Path(text).expanduser()
            path = (path if path.is_absolute() else self._base / path).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise UsageError(f"not a path: {text[:200]!r}") from error
        if len(str(path)) > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_NAME for part in path.parts):
            raise UsageError(f"the path {text[:80]!r}… is too long")
        if not any(path.is_relative_to(folder) for folder in self.folders):
            allowed = ", ".join(map(str, self.folders)) or "no folder"
            raise UsageError(
                f"{text[:200]!r} lies outside the folders this server may read ({allowed}); "
                "the user can allow more with: warpline mcp --root FOLDER"
            )
        return path
