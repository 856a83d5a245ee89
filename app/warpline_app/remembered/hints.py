"""Hints for new users, which disappear once they are no longer needed."""

from __future__ import annotations

from warpline_app.remembered.settings import Settings

ENOUGH_USES = 12
_KEY = "help/explored"


class HintCount:
    """Counts how often the user selected something; without settings the hints stay."""

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings

    @property
    def uses(self) -> int:
        """How often something was selected, `ENOUGH_USES` at most."""
        count = self._settings.record_of(_KEY).get("uses") if self._settings is not None else 0
        return min(count, ENOUGH_USES) if isinstance(count, int) else 0

    @property
    def are_wanted(self) -> bool:
        """Whether hints are still shown."""
        return self.uses < ENOUGH_USES

    def count_use(self, chosen: object) -> None:
        """Count a selection; deselecting (None) does not count."""
        if chosen is not None and self._settings is not None and self.are_wanted:
            self._settings.set_record(_KEY, {"uses": self.uses + 1})
