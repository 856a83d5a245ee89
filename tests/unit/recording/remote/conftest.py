"""A real sshd on 127.0.0.1 with keys and a port of its own, and ways to cut a connection."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.waiting import wait_until

QUICK = ("--no-check", "--trace", "cpu,osrt")
_OLD_PYTHONS = ("python3.9", "python3.10")


@dataclass(frozen=True)
class Far:
    """Another machine for tests: the options that name it, and its cache folder."""

    options: tuple[str, ...]
    cache: Path


class NoServer(Exception):
    """There is no sshd here, or it does not start."""


@contextlib.contextmanager
def ssh_server(folder: Path) -> Iterator[Path]:
    """Runs an sshd; yields the configuration of a client whose host ``box`` it is.

    Raises NoServer.
    """
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if sshd is None or shutil.which("ssh") is None:
        raise NoServer("there is no OpenSSH server here (apt-get install openssh-server)")
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True, timeout=100
        )
    shutil.copy(folder / "user.pub", folder / "authorized")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    for _attempt in range(5):
        port, server = _started(sshd, folder)
        if server.poll() is None or b"in use" not in (folder / "log").read_bytes():
            break  # otherwise somebody else took the port meanwhile
    host_key = " ".join((folder / "host.pub").read_text().split()[:2])
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}\n")
    config = folder / "config"
    config.write_text(
        f"Host box\n HostName 127.0.0.1\n Port {port}\n User {getpass.getuser()}\n IdentityFile {folder}/user\n"
        f" UserKnownHostsFile {folder}/known_hosts\n IdentitiesOnly yes\n BatchMode yes\n SendEnv XDG_CACHE_HOME\n"
    )
    try:
        if server.poll() is not None:
            raise NoServer(f"sshd does not start: {(folder / 'log').read_text()[-300:]}")
        yield config
    finally:
        server.terminate()
        server.wait(60)


def _started(sshd: str, folder: Path) -> tuple[int, subprocess.Popen[bytes]]:
    """A port, and the server that listens on it, or has ended."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        f"PidFile {folder}/pid\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nMaxStartups 100\n"
        f"PermitRootLogin yes\nAcceptEnv XDG_CACHE_HOME XDG_RUNTIME_DIR\n"
    )
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen([sshd, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=log)
    wait_until(
        lambda: server.poll() is not None or b"listening" in (folder / "log").read_bytes(),
        "sshd does not listen",
    )
    return port, server


@pytest.fixture(scope="session")
def ssh_config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The configuration of a client whose host ``box`` is an sshd of this test run."""
    with contextlib.ExitStack() as stack:
        try:
            config = stack.enter_context(ssh_server(tmp_path_factory.mktemp("sshd")))
        except NoServer as error:
            pytest.skip(str(error))
        yield config


@pytest.fixture
def far_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of both ends."""
    cache = tmp_path_factory.getbasetemp() / "far-cache"
    cache.mkdir(exist_ok=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return cache / "warpline-remote"


@pytest.fixture
def via_command(far_cache: Path) -> Far:
    """The same machine, through a command that runs programs."""
    return Far(("--via", "env"), far_cache)


@pytest.fixture
def over_ssh(ssh_config: Path, far_cache: Path) -> Far:
    """The same machine, over ssh, with an old Python where there is one."""
    return Far(("--via", f"ssh -T -F {ssh_config} box", *old_python()), far_cache)


def old_python() -> tuple[str, ...]:
    """Options that name an old Python; none where there is none."""
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    folders += [path.parent for path in Path.home().glob(".pyenv/versions/3.*/bin/python3")]
    for name in _OLD_PYTHONS:
        for folder in folders:
            if "shims" not in folder.parts and os.access(folder / name, os.X_OK):
                return ("--python", str(folder / name))
    return ()


def warpline(*words: str) -> list[str]:
    """A command line of Warpline."""
    return [sys.executable, "-m", "warpline", *words]


def run(
    far: Far, output: Path, *command: str, stdin: bytes = b"", trace: str = "cpu,osrt"
) -> subprocess.CompletedProcess[bytes]:
    words = warpline("record", *far.options, *QUICK, "--trace", trace, "-o", str(output), "--", *command)
    return subprocess.run(words, input=stdin, capture_output=True, check=False, timeout=110)
