#!/bin/sh
# Run the agent's tests with ThreadSanitizer, then with AddressSanitizer and UndefinedBehaviorSanitizer. Only the C is
# instrumented; the recorded Python programs preload the sanitizer's runtime. Fails if a sanitizer reported anything.
# Arguments go to pytest.
set -u
cd "$(dirname "$0")/.." || exit 1
compiler=${CC:-cc}
reports=$(mktemp -d) || exit 1
trap 'rm -rf "$reports"' EXIT
status=0

cannot() { # why
    echo "$name: not run, because $1"
    status=1
}

run() { # name, -fsanitize=, runtime
    name=$1 kinds=$2 library=$3 runtime=$("$compiler" -print-file-name="$3")
    shift 3
    if [ ! -e "$runtime" ]; then
        cannot "$compiler has no $library. Debian, Ubuntu: apt-get install gcc; Fedora: dnf install libtsan libasan libubsan; clang: CC=gcc"
        return
    fi
    if ! printf 'int main(void){return 0;}' | "$compiler" -fsanitize="$kinds" -x c - -o "$reports/probe"; then
        cannot "$compiler does not compile with -fsanitize=$kinds"
        return
    fi
    if ! "$reports/probe"; then
        cannot "a compiled program does not start. ThreadSanitizer of older compilers needs: sysctl vm.mmap_rnd_bits=28"
        return
    fi
    echo "$name"
    CFLAGS="-fsanitize=$kinds -fno-omit-frame-pointer -O1" WARPLINE_SANITIZER="$runtime" \
        TSAN_OPTIONS="log_path=$reports/$name exitcode=0 die_after_fork=0 report_mutex_bugs=0 suppressions=$PWD/tests/native/sanitizers.txt" \
        ASAN_OPTIONS="log_path=$reports/$name detect_leaks=0 verify_asan_link_order=0" \
        UBSAN_OPTIONS="log_path=$reports/$name print_stacktrace=1" \
        .venv/bin/python -m pytest -q -p no:cacheprovider --timeout 600 tests/native/test_agent_*.py \
        tests/native/test_cupti_sharing.py tests/native/test_cupti_unseen.py tests/native/test_cupti_library.py \
        tests/native/test_annotate.py tests/native/test_training_steps.py tests/native/ranges \
        --deselect tests/native/test_cupti_unseen.py::test_the_capture_says_when_another_profiler_had_cupti "$@" || status=1
    for report in "$reports/$name".*; do
        [ -e "$report" ] || continue
        cat "$report"
        status=1
    done
}

# ThreadSanitizer has a thread of its own, replaces the mmap that the second test replaces, and ends a forked child whose
# thread has the id that one of its parent's had.
run thread thread libtsan.so \
    --deselect tests/native/test_agent_cupti_session.py::test_nothing_of_ours_is_left_running_or_open \
    --deselect tests/native/test_agent_cupti_ends.py::test_without_memory_for_buffers_the_program_goes_on_and_records_count_as_lost \
    --deselect tests/native/test_agent_endings.py::test_forked_workers_keep_their_kernels \
    "$@"
run address address,undefined libasan.so "$@"
exit $status
