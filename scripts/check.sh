#!/usr/bin/env bash
# Every check. All of them run even when one fails; the types, which take as long as all others, are looked at beside
# pytest, which says before its summary what came of that: its summary is the last line. Arguments go to pytest.
set -uo pipefail
cd "$(dirname "$0")/.."

scripts/bootstrap.sh >/dev/null || exit 1
# packaging/release.py asks which commit was tested whole.
commit=
[ $# -ne 0 ] || [ -n "$(git status --porcelain 2>/dev/null || echo none)" ] || commit=$(git rev-parse HEAD)
bin=.venv/bin
export QT_QPA_PLATFORM=${QT_QPA_PLATFORM:-offscreen}
# The tests start some thousand Python processes: without kept byte code each compiles all of Warpline for 0.5 s.
unset PYTHONDONTWRITEBYTECODE

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
check_types() { # the answer is whole when it is there: pytest waits for it
    local told=FAILED
    nice -n 5 $bin/mypy >"$scratch/types.log" 2>&1 </dev/null && told=ok
    echo $told >"$scratch/types.new"
    mv "$scratch/types.new" "$scratch/types"
}
check_types &

failed=()
check() { # name, command...
    local name=$1 output
    shift
    if output=$("$@" 2>&1 </dev/null); then
        printf '%-16s ok\n' "$name"
    else
        printf '%-16s FAILED: %s\n%s\n' "$name" "$*" "$output"
        failed+=("$name")
    fi
}

check lint $bin/ruff check
check format $bin/ruff format --check
check "C format" $bin/clang-format --dry-run -Werror $(git ls-files '*.c' '*.h')
check imports $bin/lint-imports --no-cache
check house $bin/python scripts/house.py

[ ${#failed[@]} -eq 0 ] || printf 'failed before the tests: %s\n' "${failed[*]}"
# As many processes as there are cores, at most four; tests that record share one of them.
WARPLINE_TYPES_CHECKED=$scratch/types $bin/python -m pytest -n auto --maxprocesses 4 "$@" </dev/null
status=$?
if [ $status -gt 1 ]; then # interrupted, or nothing was run: nobody waits for the types
    pkill -P $! 2>/dev/null
    exit $status
fi
wait
[ ${#failed[@]} -eq 0 ] && [ "$(cat "$scratch/types")" = ok ] || exit 1
[ $status -ne 0 ] || [ -z "$commit" ] || echo "$commit" >build/tested
exit $status
