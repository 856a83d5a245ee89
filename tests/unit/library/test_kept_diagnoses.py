"""Diagnoses of whole captures are kept in the user's cache, and never used for anything else than they were made of."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.unit.analysis.analysis_tools import training_capture

from warpline.analysis.findings import diagnose as engine
from warpline.cli import main
from warpline.library import kept_diagnoses
from warpline.library.kept_diagnoses import forget_diagnoses, whole_diagnosis
from warpline.storage import Capture


@pytest.fixture
def capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Capture]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_diagnoses, "WORTH_KEEPING", 1)
    with training_capture(tmp_path / "run.h5") as capture:
        yield capture


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows with each diagnosis that is computed."""
    times: list[str] = []
    diagnose = engine.diagnose

    def counted(*args: object, **options: object) -> object:
        times.append("computed")
        return diagnose(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "diagnose", counted)
    return times


def test_what_check_prints_does_not_change_when_it_was_kept(
    capture: Capture, computed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    def printed() -> list[str]:
        texts = []
        for options in (["--json"], ["--all"], ["--why", whole_diagnosis(capture).findings[0].id]):
            assert main(["check", str(capture.path), *options]) == 0
            texts.append(capsys.readouterr().out)
        return texts

    fresh = whole_diagnosis(capture)
    kept = whole_diagnosis(capture)
    assert len(computed) == 1
    assert (kept.budget, kept.notices, kept.where) == (fresh.budget, fresh.notices, fresh.where)
    assert [repr(finding) for finding in kept.findings] == [repr(finding) for finding in fresh.findings]
    assert type(kept.findings[0].title) is type(fresh.findings[0].title)
    from_cache = printed()
    assert len(computed) == 1
    for place in kept_diagnoses.kept_diagnoses():
        place.write_text("damaged")
    assert printed() == from_cache


def test_a_changed_capture_or_analysis_is_diagnosed_again(
    capture: Capture, computed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_diagnosis(capture)
    os.utime(capture.path, ns=(1, 1))
    whole_diagnosis(capture)
    assert len(computed) == 2
    monkeypatch.setattr(kept_diagnoses, "_version_of_rules", lambda: "other")
    whole_diagnosis(capture)
    assert len(computed) == 3
    forget_diagnoses()
    whole_diagnosis(capture)
    assert len(computed) == 4


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{}", '{"Diagnosis": {"budget": 3}, "a": 1}', '{"Diagnosis": []}', '{"os": {}}'),
        pytest.param("[" * 200_000, id="deep"),
    ],
)
def test_a_damaged_entry_is_made_again(capture: Capture, computed: list[str], content: str) -> None:
    whole_diagnosis(capture)
    [place] = kept_diagnoses.kept_diagnoses()
    place.write_text(content)
    whole_diagnosis(capture)
    whole_diagnosis(capture)
    assert len(computed) == 2


def test_an_entry_of_a_read_only_cache_is_used(
    capture: Capture, computed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise PermissionError

    whole_diagnosis(capture)
    monkeypatch.setattr("os.utime", refuse)
    whole_diagnosis(capture)
    assert len(computed) == 1


def test_arrays_of_another_form_are_not_kept() -> None:
    for array in (np.zeros((1, 2)), np.zeros(2, np.int64)):
        with pytest.raises(TypeError):
            kept_diagnoses._encoded(array)


def test_small_captures_and_others_rules_are_not_kept(
    capture: Capture, computed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_diagnoses, "WORTH_KEEPING", 1_000_000)
    whole_diagnosis(capture)
    whole_diagnosis(capture)
    assert not kept_diagnoses.kept_diagnoses()
    assert len(computed) == 2
    monkeypatch.setattr(kept_diagnoses, "WORTH_KEEPING", 1)
    monkeypatch.setattr("warpline.plugins.entry_points", lambda _group: ("a rule",))
    assert kept_diagnoses._place(capture) is None
