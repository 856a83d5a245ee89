#!/usr/bin/env bash
# Every check, in the order from quick to slow. All of them run even when one fails; pytest comes last, so that its
# summary is the last line. Arguments go to pytest.
set -uo pipefail
cd "$(dirname "$0")/.."

scripts/bootstrap.sh >/dev/null || exit 1
bin=.venv/bin
export QT_QPA_PLATFORM=${QT_QPA_PLATFORM:-offscreen}

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
check types $bin/mypy
check imports $bin/lint-imports --no-cache
check house $bin/python scripts/house.py

[ ${#failed[@]} -eq 0 ] || printf 'failed before the tests: %s\n' "${failed[*]}"
# As many processes as there are cores, at most four; tests that record share one of them.
$bin/python -m pytest -n auto --maxprocesses 4 "$@" </dev/null
status=$?
[ ${#failed[@]} -eq 0 ] || exit 1
exit $status
