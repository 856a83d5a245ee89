"""What no capture may be made of is refused in one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.storage.hostile.hostile_files import (
    REFUSED,
    outcomes,
    write_hostile,
)


@pytest.fixture(scope="module")
def refused(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """What becomes of each file of `REFUSED`, all in one worker."""
    folder = tmp_path_factory.mktemp("refused")
    paths = [
        write_hostile(sample, folder / f"{index}.h5", change)
        for index, (change, _) in enumerate(REFUSED.values())
    ]
    return dict(zip(REFUSED, outcomes(paths), strict=True))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_followed_is_refused_in_one_line(name: str, refused: dict[str, tuple[str, str]]) -> None:
    state, message = refused[name]
    assert state == "refused"
    assert re.search(REFUSED[name][1], message), message
