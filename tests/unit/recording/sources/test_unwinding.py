"""Call chains by rules and by frame pointers, from memory that is made up."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

import warpline
from warpline.recording.symbols.address_spaces import AddressSpaces, Mapping
from warpline.recording.symbols.elf import read_elf
from warpline.recording.symbols.frame_rules import FrameRule, FrameRules
from warpline.recording.symbols.unwinding import trusted_part, unwind

BY_STACK, BY_FRAME, OUTERMOST = FrameRule(7, 16, None), FrameRule(6, 16, -16), FrameRule(-2, 8, None)
STACK = 0x7000


def memory(*words: int) -> bytes:
    return struct.pack(f"<{len(words)}Q", *words)


def test_a_chain_reaches_the_first_function_of_the_thread() -> None:
    # A frame of two words by the stack pointer, then one by the frame pointer, then the thread's first function.
    rules = {0x10: BY_STACK, 0x20 - 1: BY_FRAME, 0x30 - 1: OUTERMOST}
    words = memory(0xAAAA, 0x20, 0xBBBB, 0, 0x30, 0xCCCC)
    found = unwind((STACK + 24, STACK, 0x10), words, rules.get, lambda _address: False)
    assert found.addresses == (0x10, 0x20, 0x30)
    assert found.is_whole


def test_a_chain_ends_where_nothing_is_known_or_copied() -> None:
    rules = {0x10: BY_STACK, 0x20 - 1: BY_STACK}
    nothing_known = unwind((0, STACK, 0x10), memory(0, 0x20, 0, 0x30), rules.get, lambda _address: False)
    assert (nothing_known.addresses, nothing_known.is_whole) == ((0x10, 0x20, 0x30), False)
    not_copied = unwind((0, STACK, 0x10), memory(0, 0x20), rules.get, lambda _address: False)
    assert (not_copied.addresses, not_copied.is_whole) == ((0x10, 0x20), False)
    nowhere = unwind(
        (STACK - 64, STACK, 0x10), memory(0, 0), lambda _address: BY_FRAME, lambda _address: False
    )
    assert nowhere.addresses == (0x10,)


def test_a_chain_ends_at_an_address_that_is_enough() -> None:
    endless = unwind((0, STACK, 0x10), memory(0, 0x20, 0, 0x20), lambda _a: BY_STACK, lambda a: a == 0x20 - 1)
    assert endless.addresses == (0x10, 0x20)


def test_frame_pointers_are_trusted_while_functions_keep_them() -> None:
    rules = {0x10: BY_FRAME, 0x20 - 1: BY_STACK, 0x30 - 1: BY_FRAME}
    assert trusted_part((0x10, 0x20, 0x30), rules.get).addresses == (0x10, 0x20)
    assert not trusted_part((0x10, 0x20, 0x30), rules.get).is_whole
    assert trusted_part((0x10,), {0x10: OUTERMOST}.get).is_whole


def test_the_address_space_of_a_process_depends_on_the_time() -> None:
    spaces = AddressSpaces()
    spaces.begin(10, 1, 0)
    spaces.add(11, 1, Mapping(0x1000, 0x1000, 0, "/first"))
    spaces.begin(20, 2, 1)
    spaces.add(21, 1, Mapping(0x1800, 0x1000, 0x800, "/second"))
    spaces.begin(30, 2, 0)
    spaces.add(31, 2, Mapping(0x1000, 0x100, 0, "/third"))

    def path(pid: int, time_ns: int, address: int) -> str | None:
        space = spaces.at(pid, time_ns)
        found = None if space is None else space.find(address)
        return None if found is None else found.path

    assert path(1, 25, 0x1900) == "/second"
    assert path(1, 25, 0x1000) is None  # what was there was mapped over
    assert path(2, 25, 0x1900) == "/first"
    assert path(2, 35, 0x1080) == "/third"
    assert path(2, 35, 0x1900) is None
    assert path(3, 35, 0x1900) is None


@pytest.mark.parametrize(
    ("field", "value"), [(16, 1 << 63), (16, (1 << 62) - 1), (24, (1 << 64) - 9), (32, 1 << 60)]
)
def test_frame_sections_outside_the_file_have_no_rules(tmp_path: Path, field: int, value: int) -> None:
    library = next(Path(warpline.__file__).parent.glob("**/*.so"))
    sound = FrameRules(read_elf(library))
    starts = sound._starts.tolist()
    assert any(map(sound.find, starts))

    with library.open("rb") as stream:
        elf = ELFFile(stream)
        header = elf["e_shoff"] + elf.get_section_index(".eh_frame") * elf["e_shentsize"]
    data = bytearray(library.read_bytes())
    data[header + field : header + field + 8] = value.to_bytes(8, "little")
    path = tmp_path / "x.so"
    path.write_bytes(data)
    assert not any(map(FrameRules(read_elf(path)).find, starts))
