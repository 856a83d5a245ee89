"""``warpline compare``: nothing against itself, turned around with the captures, parts that add up to the whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpline.cli import main
from warpline.model import Flag
from warpline.storage import CaptureBuilder


def make_capture(path: Path, running: list[int], blocked: list[int], kernel_names: str = "ab") -> None:
    """A main thread that runs and blocks in turns of these lengths, in ms, and ranges of the same lengths."""
    with CaptureBuilder(path) as builder:
        process = builder.add_process(71, name="python")
        thread = builder.add_thread(process, 71, name="main")
        state = builder.track(
            "process/71.1/thread/71.1/state", title="State", role="state", process=process, thread=thread
        )
        ranges = builder.track(
            "process/71.1/thread/71.1/nvtx", title="NVTX", role="ranges", process=process, thread=thread
        )
        now = 0
        for run, wait in zip(running, blocked, strict=True):
            for name, length, flag in (("running", run, Flag(0)), ("blocked", wait, Flag.IDLE)):
                span = ([now * 1_000_000], [length * 1_000_000])
                builder.add_events(
                    state, "thread_state", *span, [builder.string(name)], flags=np.array([flag], np.uint8)
                )
                builder.add_events(ranges, "range", *span, [builder.string(f"{name} {kernel_names}")])
                now += length
        builder.set_span(0, now * 1_000_000)
        builder.finish()


@pytest.fixture
def captures(tmp_path: Path) -> tuple[str, str]:
    before, after = tmp_path / "a.h5", tmp_path / "b.h5"
    make_capture(before, [10, 20, 30], [5, 5, 40])
    make_capture(after, [10, 22, 30], [5, 5, 8])
    return str(before), str(after)


def compare(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["compare", "--json", *arguments]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_parts_add_up_and_name_what_changed(
    captures: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = compare(capsys, *captures)
    assert found["total"] == {"a_ns": 110_000_000, "b_ns": 80_000_000, "difference_ns": -30_000_000}
    assert sum(part["difference_ns"] for part in found["parts"]) == -30_000_000
    first = found["parts"][0]
    assert (first["cause"], first["difference_ns"]) == ("blocked", -32_000_000)


def test_nothing_differs_from_itself_and_turned_around_is_turned_around(
    captures: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = captures
    report = ("--report", "nvtx_sum")
    same = compare(capsys, a, a, *report)
    assert all(part["difference_ns"] == 0 for part in same["parts"])
    assert all(row["difference"] == 0 for row in same["reports"][0]["rows"])
    there, back = compare(capsys, a, b, *report), compare(capsys, b, a, *report)
    assert {p["cause"]: p["difference_ns"] for p in there["parts"]} == {
        p["cause"]: -p["difference_ns"] for p in back["parts"]
    }
    names = {row["name"]: row["difference"] for row in there["reports"][0]["rows"]}
    assert names == {row["name"]: -row["difference"] for row in back["reports"][0]["rows"]}
    assert names["blocked ab"] == -32_000_000


def test_a_row_of_one_side_is_shown_as_missing_on_the_other(
    captures: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "c.h5"
    make_capture(other, [10], [5], kernel_names="cd")
    rows = compare(capsys, captures[0], str(other), "--report", "nvtx_sum")["reports"][0]["rows"]
    assert {row["name"]: (row["a"] is None, row["b"] is None) for row in rows} == {
        "running ab": (False, True),
        "blocked ab": (False, True),
        "running cd": (True, False),
        "blocked cd": (True, False),
    }


def test_a_gate_for_regressions(captures: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    a, b = captures
    assert main(["compare", b, a, "--md", "--fail-if", "total>5%"]) == 3
    assert "| total | 80 ms | 110 ms | +30 ms |" in capsys.readouterr().out.replace(
        "80.00 ms", "80 ms"
    ).replace("110.0 ms", "110 ms").replace("30.00 ms", "30 ms")
    assert main(["compare", a, b, "--fail-if", "total>5%"]) == 0
    assert main(["compare", a, b, "--fail-if", "much"]) == 2


def test_what_cannot_be_compared_is_said_in_a_line(
    captures: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *captures, "--report", "cuda_gpu_kern_sum"]) == 2
    assert "cuda_gpu_kern_sum was not recorded in both captures" in capsys.readouterr().err
    assert main(["compare", captures[0], "no such file.h5"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_any_two_ranges_stand_against_each_other(
    captures: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    a, _b = captures
    found = compare(capsys, a, a, "--range-a", ":15ms", "--range-b", "15ms:40ms")
    assert found["aligned_by"] == "range"
    assert found["a"]["range_ns"] == [0, 15_000_000]
    assert found["b"]["range_ns"] == [15_000_000, 40_000_000]
    assert found["total"]["difference_ns"] == 10_000_000
    named = compare(capsys, *captures, "--range-name", "running ab", "--each-step")
    assert [step["difference_ns"] for step in named["steps"]] == [0, 2_000_000, 0]
    assert named["total"]["difference_ns"] == 2_000_000


def test_conditions_on_steps_need_steps(
    captures: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *captures, "--fail-if", "step>5%"]) == 2
    assert "steps were not compared" in capsys.readouterr().err
    assert main(["compare", *captures, "--align", "step"]) == 2
    assert "no steps were recorded" in capsys.readouterr().err
    assert main(["compare", *reversed(captures), "--fail-if", "blocked>10ms"]) == 3
    assert "FAILED blocked>10ms: " in capsys.readouterr().err
    assert main(["compare", *captures, "--fail-if", "nothing>5%"]) == 2
    told = capsys.readouterr().err
    assert "'nothing'" in told
    assert all(cause in told for cause in ("total", "step", "copies", "loader", "lock"))
    assert main(["compare", *captures, "--fail-if", "blocked>10ms", "--fail-if", "total>1%"]) == 0
    assert capsys.readouterr().err.count("passed") == 2


def test_what_a_gate_says_stands_first_for_a_pull_request(
    captures: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["compare", *reversed(captures), "--md", "--fail-if", "blocked>10ms", "--fail-if", "lock>1%"])
        == 3
    )
    failed, passed = [line for line in capsys.readouterr().out.splitlines()[:4] if line]
    assert failed.startswith("❌ FAILED blocked")
    assert passed.startswith("✅ passed lock")
    main(["compare", *reversed(captures), "--json", "--fail-if", "blocked>10ms"])
    (gate,) = json.loads(capsys.readouterr().out)["gates"]
    assert gate["failed"] is True
    assert gate["b_ns"] - gate["a_ns"] > 10_000_000


def test_several_runs_on_each_side(
    captures: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = []
    for number, wait in enumerate((39, 42, 37)):
        make_capture(tmp_path / f"run-{number}.h5", [10, 20, 30], [5, 5, wait])
        runs.append(str(tmp_path / f"run-{number}.h5"))
    found = compare(capsys, captures[0], *runs[:2], "--vs", *runs)
    assert found["variation"]["of"] == "runs"
    assert [run["value_ns"] for run in found["b"]["runs"]] == [109_000_000, 112_000_000, 107_000_000]
    assert found["b"]["path"] == runs[0]
    assert found["is_noise"] is True
    assert main(["compare", captures[0], *runs[:2], "--vs", *runs]) == 0
    assert "No difference beyond run-to-run variation" in capsys.readouterr().out
    assert main(["compare", *runs]) == 2
    assert "--vs" in capsys.readouterr().err


def test_a_page_to_share_holds_everything_and_asks_for_nothing(
    captures: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["compare", *captures, "-o", str(page), "--report", "nvtx_sum"]) == 0
    assert capsys.readouterr().out == ""
    text = page.read_text()
    assert "http" not in text.replace("http-equiv", "")
    assert "<script" not in text
    assert "-32.00 ms" in text
    assert "running ab" in text
    assert text.count("<rect") == 4
    assert main(["compare", *captures, "-o", str(tmp_path / "page.docx")]) == 2
    assert main(["compare", *captures, "-o", str(tmp_path / "nowhere" / "page.html")]) == 2


def test_a_page_shows_names_as_they_are(tmp_path: Path) -> None:
    evil = "<script>alert('x')</script>"
    for name, wait in (("a.h5", 5), ("b.h5", 50)):
        make_capture(tmp_path / name, [10], [wait], kernel_names=evil)
    page = tmp_path / "page.html"
    files = [str(tmp_path / name) for name in ("a.h5", "b.h5")]
    assert main(["compare", *files, "-o", str(page), "--report", "nvtx_sum"]) == 0
    assert "<script" not in page.read_text()
    assert "&lt;script&gt;" in page.read_text()
