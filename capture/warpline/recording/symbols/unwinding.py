"""Who called whom: call chains from registers and a copy of the stack, by what compilers say of each function."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from warpline.recording.symbols.frame_rules import FrameRule

_WORD = struct.Struct("<Q")
_MOST_FRAMES = 127

FindRule = Callable[[int], FrameRule | None]
"""The rule at an address of a process."""


@dataclass(frozen=True)
class Chain:
    """Addresses, innermost first; ``is_whole`` where they lead to the function a thread began with."""

    addresses: tuple[int, ...]
    is_whole: bool


def unwind(
    registers: tuple[int, int, int], memory: bytes, find_rule: FindRule, is_enough: Callable[[int], bool]
) -> Chain:
    """The call chain of a thread of x86-64: ``registers`` are frame pointer, stack pointer and address.

    ``memory`` is a copy of the stack from the stack pointer on. The chain ends where it leads out of the copy, where no
    rule is known, and with an address that is ``is_enough``.
    """
    frame_pointer, stack_pointer, address = registers
    origin, size = stack_pointer, len(memory)
    found = [address]
    while len(found) < _MOST_FRAMES:
        # A return address may lie behind the end of the function that made the call.
        own = address if len(found) == 1 else address - 1
        if is_enough(own):
            break
        rule = find_rule(own)
        if rule is None:
            break
        if rule.is_outermost:
            return Chain(tuple(found), True)
        if rule.is_by_stack_pointer:
            frame = stack_pointer + rule.offset
        elif rule.is_by_frame_pointer:
            frame = frame_pointer + rule.offset
        else:
            break
        at = frame - origin
        if not (8 <= at <= size and frame > stack_pointer):
            break
        if rule.saved is not None:
            kept = at + rule.saved
            if not 0 <= kept <= size - 8:
                break
            (frame_pointer,) = _WORD.unpack_from(memory, kept)
        (address,) = _WORD.unpack_from(memory, at - 8)
        stack_pointer = frame
        if not address:
            return Chain(tuple(found), True)
        found.append(address)
    return Chain(tuple(found), False)


def checked(addresses: tuple[int, ...], find_rule: FindRule) -> Chain:
    """As much of a chain that was found by frame pointers as is sure: up to the first function that keeps none.

    From there on the frame pointer is somebody else's, or no pointer at all.
    """
    for number, address in enumerate(addresses):
        rule = find_rule(address if number == 0 else address - 1)
        if rule is None or not rule.keeps_frame_pointer:
            return Chain(addresses[: number + 1], rule is not None and rule.is_outermost)
    return Chain(addresses, True)
