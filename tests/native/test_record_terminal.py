"""A program in a terminal, recorded with everything on, meets what it would meet without."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from pathlib import Path

import pytest

SIZE = struct.pack("HHHH", 33, 123, 0, 0)
LOOK = """
import ctypes, os, resource, signal, sys
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
import nvtx
for number in range(100):
    with nvtx.annotate("turn"):
        cuda.simulatedLaunch(ctypes.c_char_p(b"kernel"), 7, ctypes.c_uint64(100))
print("terminals", [os.isatty(number) for number in range(3)], os.get_terminal_size(), os.ttyname(0) == os.ttyname(1))
print("in the foreground", os.tcgetpgrp(0) == os.getpgrp())
print("directory", os.getcwd(), "umask", os.umask(0o22), "nice", os.nice(0), sys.argv)
limits = [name for name in dir(resource) if name.startswith("RLIMIT_")]
print("limits", {name: resource.getrlimit(getattr(resource, name)) for name in limits})
print("blocked", signal.pthread_sigmask(signal.SIG_BLOCK, []))
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
print("signals", {name: status[name] for name in ("SigBlk", "SigIgn", "SigPnd", "NoNewPrivs", "Seccomp", "CapEff")})
print("descriptors", sorted(map(int, os.listdir("/proc/self/fd"))))
ours = ("WARPLINE_", "NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH", "LD_PRELOAD")
print("environment", sorted(name for name in os.environ if not name.startswith(ours)))
print("line", input())
signal.signal(signal.SIGUSR1, lambda *_: print("got the signal", flush=True))
os.kill(os.getpid(), signal.SIGUSR1)
print("words for standard error", file=sys.stderr)
sys.exit(9)
"""


def in_a_terminal(command: list[str], environment: Mapping[str, str], folder: Path) -> tuple[bytes, int]:
    """What a command printed in a terminal of a known size, and how it ended."""
    gate, written = os.pipe()
    child, terminal = pty.fork()
    if child == 0:
        os.read(gate, 1)  # what is typed comes first in either
        os.close(gate)
        os.close(written)
        os.chdir(folder)
        os.umask(0o27)
        os.nice(3)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        fcntl.ioctl(0, termios.TIOCSWINSZ, SIZE)
        os.execve(command[0], command, dict(environment))
    os.write(terminal, b"hello \xc3\xbc\n")
    os.write(written, b"x")
    os.close(gate)
    os.close(written)
    output = b""
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:  # Linux says so when the other side is closed
            break
        if not part:
            break
        output += part
    os.close(terminal)
    return output, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_program_in_a_terminal_is_as_without(simulated_gpu: Path, tmp_path: Path) -> None:
    pytest.importorskip("nvtx")
    script = tmp_path / "look.py"
    script.write_text(LOOK)
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(simulated_gpu),
        "WARPLINE_LIBCUPTI": str(simulated_gpu / "libcupti.so.12"),
    }
    program = [sys.executable, str(script), "a b", "--record"]
    output = tmp_path / "x.h5"
    record = [sys.executable, "-m", "warpline", "record", "--quiet", "-o", str(output)]
    plain = in_a_terminal(program, environment, tmp_path)
    recorded = in_a_terminal(
        [*record, "--trace", "cpu,nvml,nvtx,cuda", "--", *program], environment, tmp_path
    )
    assert plain[1] == 9, plain[0].decode()
    assert b"got the signal" in plain[0]
    assert b"columns=123, lines=33" in plain[0]
    assert recorded[0].decode().splitlines() == plain[0].decode().splitlines()
    assert recorded[1] == plain[1]
    info = [sys.executable, "-m", "warpline", "info", str(output), "--json"]
    assert b'"kernel": 100' in subprocess.run(info, capture_output=True, check=True).stdout
