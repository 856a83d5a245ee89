"""Interpreters, compilers and servers of their own: more programs, in the words of `programs`."""

from __future__ import annotations

_RUBY = """q = Queue.new; t = 4.times.map { Thread.new { 10.times { |i| q << i; sleep 0.001 } } }; t.each(&:join)
puts q.size; pid = fork { exit 3 }; Process.wait pid; puts $?.exitstatus; File.write("f", "x"); exit 7"""
_LUA = """local p = io.popen("echo sub; exit 3"); print(p:read("a")); print(p:close())
io.open("f", "w"):write("x"); os.exit(6)"""
_PHP = """echo array_sum(range(1, 100000)), shell_exec("echo sub"); file_put_contents("f", "x");
$p = proc_open("cat", [["pipe", "r"], ["pipe", "w"]], $d); fwrite($d[0], "hi"); fclose($d[0]);
echo stream_get_contents($d[1]), proc_close($p); exit(9);"""
_EMACS = """(progn (with-temp-file "f" (insert "x")) (princ (shell-command-to-string "echo sub"))
(make-thread (lambda () (princ "thread"))) (sleep-for 0.1) (kill-emacs 5))"""
_ERLANG = """S = self(), [spawn(fun() -> S ! N * N end) || N <- lists:seq(1, 100)],
R = lists:sum([receive X -> X end || _ <- lists:seq(1, 100)]), io:format("~p ~s", [R, os:cmd("echo sub")]), halt(8)."""
_GUILE = """(use-modules (ice-9 threads)) (display (apply + (par-map (lambda (x) (* x x)) (iota 1000))))
(system* "echo" "sub") (exit 5)"""
_ZSH = """for i in {1..5}; do (exit $i) || print no $?; done; coproc cat; print -p hi; read -p x; print $x; exit 43"""
_FISH = """for i in (seq 5); sh -c "exit $i"; echo $status; end; seq 100 | sort -r | head -2; exit 44"""
_RSYNC = """mkdir s; for i in 1 2 3 4; do seq $i 1000 > s/$i; done; rsync -a --info=stats0 s/ d/; rm s/2
rsync -ai --delete s/ d/; ls d; rm -r s d"""
_FFMPEG = """ffmpeg -v error -nostdin -f lavfi -i testsrc=size=160x120:rate=10:duration=1 \\
-bitexact -c:v mpeg4 -threads 1 f.avi
md5sum < f.avi; rm f.avi"""
_LTO = """for i in 1 2; do echo "int f$i(int x) { return x * $i; }" > l$i.c; done
echo 'int f1(int); int f2(int); int main(void) { return f1(1) + f2(2); }' > l.c
gcc -O2 -flto=2 l.c l1.c l2.c -o l && ./l; echo $?; rm l l.c l1.c l2.c"""
_BUSYBOX = (
    """seq 100 | busybox awk '{ s += $1 } END { print s }'; busybox tar cf - x.c | busybox tar tf -; exit 3"""
)
_TCC = """echo 'int printf(const char *, ...); int main(void) { printf("hi\\n"); return 4; }' > t.c; tcc -run t.c"""
_MARIADB = """mariadb-install-db --no-defaults --user=$USER_HERE --datadir=$PWD/d >/dev/null 2>&1
echo 'create table test.t (a int);' | mariadbd --no-defaults --user=$USER_HERE --datadir=$PWD/d --bootstrap \\
--skip-networking 2>/dev/null; echo $?; ls d/test | sort; rm -rf d"""


def _shell(text: str) -> list[str]:
    return ["bash", "-c", text]


LANGUAGES: dict[str, list[str]] = {
    "ruby": ["ruby", "-e", _RUBY],
    "lua": ["lua5.4", "-e", _LUA],
    "php": ["php", "-r", _PHP],
    "emacs": ["emacs", "--batch", "--eval", _EMACS],
    "vim": ["vim", "-es", "-u", "NONE", "-c", 'call writefile([system("echo sub")], "f")', "-c", "cq 4"],
    "erlang": _shell(f"erl -noshell -eval '{_ERLANG}'"),
    "guile": ["guile", "-c", _GUILE],
    "zsh": ["zsh", "-fc", _ZSH],
    "fish": ["fish", "--no-config", "-c", _FISH],
    "rsync": _shell(_RSYNC),
    "ffmpeg": _shell(_FFMPEG),
    "gcc -flto": _shell(_LTO),
    "busybox": _shell(_BUSYBOX),
    "tcc": _shell(_TCC),
    "mariadb": _shell(f"USER_HERE=$(id -un); {_MARIADB}"),
}
"""By name, as `programs.PROGRAMS`."""

LANGUAGES_NEED = {
    "erlang": ("erl",),
    "rsync": ("rsync",),
    "ffmpeg": ("ffmpeg",),
    "gcc -flto": ("gcc",),
    "busybox": ("busybox",),
    "tcc": ("tcc",),
    "mariadb": ("mariadbd", "mariadb-install-db"),
}
"""What must be installed for those whose first word does not say it."""
