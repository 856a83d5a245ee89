"""Some inputs that nobody has seen for every target of ``tests/fuzz/guided``, in every run."""

from __future__ import annotations

import os
import random
import sys
from functools import partial
from pathlib import Path

import pytest
from tests.fuzz.campaign import fork_server
from tests.fuzz.campaign.campaign import GOOD
from tests.fuzz.guided.engine import blind
from tests.fuzz.guided.registry import targets

TARGETS = targets()
COUNT = 12
CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"
KEPT = sorted(path for name in TARGETS for path in CORPUS.glob(f"{name}/*"))
"""What once ended badly, in a folder for each target."""


@pytest.mark.skipif(sys.platform != "linux", reason="where the campaign runs")
@pytest.mark.parametrize("name", TARGETS)
def test_inputs_nobody_has_seen_end_well(name: str) -> None:
    _room, target = TARGETS[name]
    # `ci` tries the same inputs every time (tests/conftest.py): a red run is to tell of the commit it ran on.
    is_ci = os.environ.get("HYPOTHESIS_PROFILE") == "ci"
    first = 0 if is_ci else random.SystemRandom().randrange(10**9)
    target.preload()
    seeds = target.seeds(None)
    inputs = [*seeds[:3], *(blind(target, seeds, number) for number in range(first, first + COUNT))]
    outcomes = fork_server.judged_in_forks([partial(target.run, data) for data in inputs])
    for data, outcome in zip(inputs, outcomes, strict=True):
        assert outcome["state"] in GOOD, f"{name} from number {first} on: {data!r} {outcome['message']}"


@pytest.mark.skipif(sys.platform != "linux", reason="where the campaign runs")
@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_inputs_that_once_ended_badly_end_well(path: Path) -> None:
    target = TARGETS[path.parent.name][1]
    target.preload()
    (outcome,) = fork_server.judged_in_forks([partial(target.run, path.read_bytes())])
    assert outcome["state"] in GOOD, outcome["message"]
