"""The hosts that ``--on`` names."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpline.cli.host_list import Host, hosts_of, variables_of
from warpline.model.errors import UsageError


def test_hosts_are_listed_with_commas() -> None:
    assert hosts_of(None) == []
    assert hosts_of("box") == [Host("box")]
    assert hosts_of("a, me@b,c") == [Host("a"), Host("me@b"), Host("c")]
    for text in ("a,", ",a", "a,,b", "a,a", "a,@b"):
        with pytest.raises(UsageError, match="every host once"):
            hosts_of(text)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a\nme@b # the other one\n\n# c\n", [Host("a"), Host("me@b")]),
        ("a slots=4 max_slots=8\nb slots=2\n", [Host("a", 4), Host("b", 2)]),
        ("a:4\nb:2\n", [Host("a", 4), Host("b", 2)]),
        ("a\na\nb\na\n", [Host("a", 3), Host("b", 1)]),
        ("only", [Host("only")]),
    ],
)
def test_hosts_are_read_from_the_files_of_mpirun_and_batch_systems(
    tmp_path: Path, text: str, hosts: list[Host]
) -> None:
    (tmp_path / "hosts").write_text(text)
    read = hosts_of(f"@{tmp_path}/hosts")
    assert read == hosts


@pytest.mark.parametrize(
    ("content", "why"),
    [(None, "No such file"), (b"# nobody\n", "names no host"), (b"a\n@more\n", "@more is not a host")],
)
def test_a_host_file_without_hosts_is_refused(tmp_path: Path, content: bytes | None, why: str) -> None:
    if content is not None:
        (tmp_path / "hosts").write_bytes(content)
    with pytest.raises(UsageError, match=why):
        hosts_of(f"@{tmp_path}/hosts")


def test_torchrun_finds_its_place_in_the_environment() -> None:
    hosts = [Host("me@a", 4), Host("b")]
    assert variables_of(hosts, 0) == {
        "WARPLINE_RANK": "0",
        "WARPLINE_RANKS": "2",
        "PET_NODE_RANK": "0",
        "PET_NNODES": "2",
        "PET_MASTER_ADDR": "a",
        "PET_NPROC_PER_NODE": "4",
    }
    assert "PET_NPROC_PER_NODE" not in variables_of(hosts, 1)
