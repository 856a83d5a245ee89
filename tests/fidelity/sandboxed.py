"""Programs that forbid themselves, or are forbidden, system calls: more programs, in the words of `programs`."""

from __future__ import annotations

import sys

_SERVICE = """
# As systemd does for SystemCallFilter=@system-service: any other call ends the process.
import ctypes, os, subprocess, sys
library = ctypes.CDLL("libseccomp.so.2")
library.seccomp_init.restype = ctypes.c_void_p
def members(name, seen):
    if name in seen: return
    seen.add(name)
    words = ["systemd-analyze", "--no-pager", "syscall-filter", name]
    for word in subprocess.run(words, capture_output=True, text=True, check=True).stdout.split("\\n")[1:]:
        if word.strip().startswith("@"): yield from members(word.strip(), seen)
        elif word.strip() and not word.strip().startswith("#"): yield word.strip()
rules = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(0x80000000)))
numbers = {library.seccomp_syscall_resolve_name(name.encode()) for name in members("@system-service", set())}
allowed = [library.seccomp_rule_add(rules, 0x7FFF0000, number, 0) for number in numbers if number >= 0]
assert allowed.count(0) > 200
assert library.seccomp_load(rules) == 0
os.execvp(sys.argv[1], sys.argv[1:])
"""
_KILLS = """
# Writes a filter for bwrap: fallocate, pwrite64 and gettid, which the agent uses and few programs, end the process.
import os, struct, sys
numbers = (285, 18, 186) if os.uname().machine == "x86_64" else (47, 68, 178)
steps = [(0x20, 0, 0, 0)]
for left, number in zip((2, 1, 0), numbers): steps.append((0x15, left, 1 if left == 0 else 0, number))
steps += [(6, 0, 0, 0x80000000), (6, 0, 0, 0x7FFF0000)]
open("filter", "wb").write(b"".join(struct.pack("HBBI", *step) for step in steps))
"""
RAW_GO = """package main
import ("fmt"; "os"; "sync"; "syscall"; "unsafe")
type step struct { code uint16; yes, no uint8; k uint32 }
type program struct { count uint16; steps *step }
// Raw system calls enter the sandbox: no library sees them.
func enter(numbers ...uint32) {
	steps := []step{{0x20, 0, 0, 0}}
	for _, number := range numbers { steps = append(steps, step{0x15, 0, 1, number}, step{6, 0, 0, 0x80000000}) }
	steps = append(steps, step{6, 0, 0, 0x7FFF0000})
	filter := program{uint16(len(steps)), &steps[0]}
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, 38, 1, 0, 0, 0, 0); e != 0 { panic(e) }
	if _, _, e := syscall.RawSyscall(317, 1, 1, uintptr(unsafe.Pointer(&filter))); e != 0 { panic(e) }
}
func main() {
	enter(285, 18)
	var group sync.WaitGroup
	sums := make([]int, 32)
	for i := range sums { group.Add(1); go func(i int) { defer group.Done(); sums[i] = i * i }(i) }
	group.Wait()
	sum := 0
	for _, value := range sums { sum += value }
	os.WriteFile("raw.txt", []byte(fmt.Sprintln(sum)), 0o640)
	fmt.Println(sum)
	os.Exit(5)
}
"""
_SSHD = """mkdir -p /run/sshd; ssh-keygen -q -t ed25519 -N '' -f k; cp k h; cp k.pub h.pub
sshd="$(command -v sshd) -i -f none -h $PWD/h -o AuthorizedKeysFile=$PWD/k.pub -o StrictModes=no -o UsePAM=no"
ssh -F none -i k -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o IdentitiesOnly=yes \\
  -o ProxyCommand="$sshd -o PermitRootLogin=yes" root@here 'echo over ssh; exit 3'; echo $?; rm -f k k.pub h h.pub"""
_CHROMIUM = (
    "home=$(mktemp -d /tmp/warpline-XXXXXX); chown 65534 $home; cd $home; "
    "HOME=$PWD setpriv --reuid 65534 --regid 65534 --clear-groups chromium --headless --disable-gpu "
    "--disable-dev-shm-usage --user-data-dir=$PWD/profile {what} "
    "'data:text/html,<h1 id=x>hi</h1><script>x.textContent=6*7</script>' 2>/dev/null; echo $?; {after} "
    "cd /; rm -rf $home"
)
_PAGE = "printf '.TH X 1\\n.SH NAME\\nx - y\\n' > p.1; man -P cat -l ./p.1; man -P cat -l ./none.1; echo $?"


def _shell(text: str) -> list[str]:
    return ["bash", "-c", text]


def _service(command: str) -> list[str]:
    return _shell(f"'{sys.executable}' service.py {command}; echo $?")


SANDBOXED: dict[str, list[str]] = {
    "chromium in its own sandbox": _shell(_CHROMIUM.format(what="--dump-dom", after="")),
    "chromium picture in its own sandbox": _shell(
        _CHROMIUM.format(what="--screenshot=$PWD/s.png --window-size=200,150", after="test -s s.png; echo $?;")
    ),
    "sshd with a connection": _shell(_SSHD),
    "file": _shell("file -b x.c Makefile /bin/sh; file -b /nonexistent; echo $?"),
    "man": _shell(_PAGE),
    "sandbox that kills": _shell(
        f"'{sys.executable}' kills.py; bwrap --ro-bind / / --dev /dev --unshare-all --seccomp 9 "
        "sh -c 'seq 5 | sort -r; sh -c \"exit 3\"; echo $?; exit 4' 9< filter; echo $?"
    ),
    "sandbox that kills, with a root of its own": _shell(
        f"'{sys.executable}' kills.py; bwrap --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib "
        "--symlink usr/lib64 /lib64 --dev /dev --unshare-all --seccomp 9 sh -c 'seq 5 | sort -r; exit 4' 9< filter; "
        "echo $?"
    ),
    "service: sqlite3": _service("sqlite3 :memory: 'select 6*7; create table t(a); insert into t values(1)'"),
    "service: git": _service("sh -c 'git init -q a && cd a && echo x > f && git add . && git status -s; rm -rf .git'"),
    "service: perl": _service("perl -e 'my $p = fork; if (!$p) { exit 2 } waitpid $p, 0; print $?; exit 7'"),
    "service: python": _service(f"'{sys.executable}' pool.py fork"),
    "service: gzip": _service("sh -c 'seq 100000 | gzip -c | gunzip -c | md5sum; exit 3'"),
    "go, raw calls": ["./raw_go"],
}  # fmt: skip
"""By name, as `programs.PROGRAMS`."""

_ANALYZE = "systemd-analyze"
SANDBOXED_NEED = {
    "chromium in its own sandbox": ("chromium", "setpriv"),
    "chromium picture in its own sandbox": ("chromium", "setpriv"),
    "sshd with a connection": ("sshd", "ssh"),
    "file": ("file",),
    "man": ("man", "groff"),
    "sandbox that kills": ("bwrap",),
    "sandbox that kills, with a root of its own": ("bwrap",),
    "go, raw calls": ("go",),
    **{
        name: (_ANALYZE, name.removeprefix("service: "))
        for name in SANDBOXED
        if name.startswith("service: ") and name != "service: python"
    },
    "service: python": (_ANALYZE,),
}
"""What must be installed for those whose first word does not say it."""
SCRIPTS = {"service.py": _SERVICE, "kills.py": _KILLS}
"""What programs are started from, by name."""
