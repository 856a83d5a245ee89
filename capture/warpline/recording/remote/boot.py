"""Finds a place and a Python on the other machine, and takes our files there.

This text is the program of its first process: it imports nothing of Warpline and runs with Python 3.9.
"""

# ruff: noqa: UP031
import hashlib
import io
import json
import os
import shutil
import stat
import sys
import zipfile
from collections.abc import Iterator


def places() -> Iterator[str]:
    """Folders that may keep our files, best first."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    yield os.path.join(home, "warpline-remote")
    for base in ("/var/tmp", os.environ.get("TMPDIR") or "/tmp", "/tmp", "/dev/shm"):
        yield os.path.join(base, "warpline-remote-%d" % os.getuid())


def usable(folder: str) -> bool:
    """Whether nobody else can write to a folder, and we can, and programs can run there."""
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
            return False
        probe = os.path.join(folder, ".probe%d" % os.getpid())
        with open(probe, "wb") as file:
            file.write(bytes(4096))
        os.unlink(probe)
        return not os.statvfs(folder).f_flag & os.ST_NOEXEC
    except OSError:
        return False


def exactly(count: int) -> bytes:
    """So many bytes of standard input."""
    data = b""
    while len(data) < count:
        part = os.read(0, count - len(data))
        if not part:
            sys.exit(1)
        data += part
    return data


def take(folder: str) -> None:
    """Receive our files and check them."""
    head = exactly(72).split()
    data = exactly(int(head[0]))
    if hashlib.sha256(data).hexdigest()[:60] != head[1].decode():
        sys.exit("warpline: the files arrived damaged")
    unfinished = "%s.part%d" % (folder, os.getpid())
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            archive.extractall(unfinished)
        if os.path.isdir(folder):
            shutil.rmtree(folder, ignore_errors=True)
        os.rename(unfinished, folder)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        if not os.path.isdir(folder):
            sys.exit("warpline: %s: %s" % (folder, error.strerror))


def main(marker: str, digest: str) -> None:
    """Say what is here, take what is missing, and run it."""
    os.umask(0o077)
    root = next((place for place in places() if usable(place)), "")
    folder = os.path.join(root, digest)
    is_cached = bool(root) and os.path.isdir(folder)
    hello = {
        "root": root,
        "cached": is_cached,
        "python": sys.version.split()[0],
        "machine": os.uname().machine,
    }
    os.write(1, ("\n%s %s\n" % (marker, json.dumps(hello))).encode())
    if not root:
        sys.exit(1)
    if not is_cached:
        take(folder)
    os.utime(folder)
    sys.path.insert(0, folder)
    from pathlib import Path

    import warpline.recording.remote.far.older_pythons  # noqa: F401  # adds missing names to the standard library
    from warpline.recording.remote.far.serve import serve

    sys.exit(serve(Path(folder)))


if __name__ == "__main__":
    main(sys.argv[2], sys.argv[3])
