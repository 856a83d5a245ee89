"""The platforms that get a wheel with compiled libraries."""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """A platform: what zig, Python's installers and lief call it, and what its libraries may need."""

    name: str
    triple: str
    """Of ``zig cc -target``."""
    tag: str
    """Platform tag of the wheel."""
    system: str
    """As in `sys.platform`."""
    machine: str
    """As in lief's header of the format: `ELF.ARCH`, `MachO.Header.CPU_TYPE`, `PE.Header.MACHINE_TYPES`."""
    has_agent: bool = False
    glibc: tuple[int, int] | None = None
    """The oldest glibc that the libraries run on."""


GLIBC = (2, 17)
TARGETS = (
    *(
        Target(
            f"linux-{machine}",
            f"{machine}-linux-gnu.2.17",
            f"manylinux_2_17_{machine}.manylinux2014_{machine}",
            "linux",
            elf,
            has_agent=True,
            glibc=GLIBC,
        )
        for machine, elf in (("x86_64", "X86_64"), ("aarch64", "AARCH64"))
    ),
    Target("windows-x86_64", "x86_64-windows-gnu", "win_amd64", "win32", "AMD64"),
    Target("windows-arm64", "aarch64-windows-gnu", "win_arm64", "win32", "ARM64"),
    Target("macos-arm64", "aarch64-macos.11.0", "macosx_11_0_arm64", "darwin", "ARM64"),
    Target("macos-x86_64", "x86_64-macos.10.15", "macosx_10_15_x86_64", "darwin", "X86_64"),
)
PURE = Target("any", "", "any", "", "")
"""Every other platform: no library, but the agent's sources, which a machine with a compiler uses."""
