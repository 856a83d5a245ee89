#!/usr/bin/env bash
# Makes a checkout ready to work in: Python, system libraries, .venv with every extra, the compiled agent.
# Runs in a moment when nothing changed. Messages go to stderr; stdout gets the path of the venv's Python.
#
#   scripts/bootstrap.sh            what the tests and the command line need
#   scripts/bootstrap.sh --window   also what a window on a real display needs
#   scripts/bootstrap.sh --demo     of the Python packages only those of the command line and the window
#
# PYTHON chooses the interpreter for a new .venv; WARPLINE_NO_SYSTEM=1 leaves the system's packages alone.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'warpline: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Two at once in one checkout would install into the same .venv.
mkdir -p build
exec 9>build/.bootstrap.lock
! command -v flock >/dev/null || flock 9

window=no demo=no
for option; do
    case $option in
        --window) window=yes ;;
        --demo) demo=yes ;;
    esac
done

usable_python() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' </dev/null >/dev/null 2>&1
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python3.14; do
        # A version manager's shim may exist for a version that is not selected: only running it tells.
        if command -v "$candidate" >/dev/null && usable_python "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    return 1
}

# --- packages of the system -----------------------------------------------------------------------------------

# Each library, then the package that brings it: Debian/Ubuntu, Fedora, Arch.
offscreen_libraries='
libglib-2.0.so.0      libglib2.0-0        glib2                  glib2
libEGL.so.1           libegl1             libglvnd-egl           libglvnd
libGL.so.1            libgl1              libglvnd-glx           libglvnd
libxkbcommon.so.0     libxkbcommon0       libxkbcommon           libxkbcommon
libdbus-1.so.3        libdbus-1-3         dbus-libs              dbus
libfontconfig.so.1    libfontconfig1      fontconfig             fontconfig
'
window_libraries='
libxcb-cursor.so.0    libxcb-cursor0      xcb-util-cursor        xcb-util-cursor
libxcb-icccm.so.4     libxcb-icccm4       xcb-util-wm            xcb-util-wm
libxcb-keysyms.so.1   libxcb-keysyms1     xcb-util-keysyms       xcb-util-keysyms
libxcb-shape.so.0     libxcb-shape0       libxcb                 libxcb
libxkbcommon-x11.so.0 libxkbcommon-x11-0  libxkbcommon-x11       libxkbcommon-x11
'

missing_packages() { # column of the tables above
    local column=$1 tables=$offscreen_libraries
    [ "$window" = yes ] && tables+=$window_libraries
    printf '%s' "$tables" | while read -r library packages; do
        [ -n "$library" ] || continue
        # The loader is asked, not a package manager: libraries may come from anywhere.
        "$python" -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1])' "$library" </dev/null >/dev/null 2>&1 ||
            printf '%s\n' "$packages" | awk -v column="$column" '{ print $column }'
    done | sort -u
}

install_command() { # prints "command|column", nothing where the package manager is not known
    if command -v apt-get >/dev/null; then echo "apt-get install -y --no-install-recommends|1"
    elif command -v dnf >/dev/null; then echo "dnf install -y|2"
    elif command -v pacman >/dev/null; then echo "pacman -S --needed --noconfirm|3"
    else echo "|1"
    fi
}

apt_install() {
    local log
    log=$(mktemp)
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } \
        </dev/null >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

provide() { # "needed" or "wanted", what for, packages...
    local need=$1 purpose=$2
    shift 2
    local command
    command=$(install_command)
    command=${command%|*}
    if [ "$(id -u)" = 0 ] && [ "${command%% *}" = apt-get ] && [ "${WARPLINE_NO_SYSTEM:-}" != 1 ]; then
        say "installing for $purpose: $*"
        apt_install "$@" && return 0
        say "that failed; run it by hand: $command $*"
    elif [ -n "$command" ]; then
        say "missing for $purpose; run: sudo $command $*"
    else
        say "missing for $purpose; install what your system calls (Debian's names): $*"
    fi
    [ "$need" = wanted ]
}

# --- Python and its packages ----------------------------------------------------------------------------------

venv_python=.venv/bin/python
if [ -x "$venv_python" ] && usable_python "$venv_python"; then
    python=$venv_python
elif ! python=$(find_python); then
    provide needed "Python" python3 python3-venv || exit 1
    python=$(find_python) || die "Python 3.11 or newer is needed; set PYTHON=/path/to/python3"
fi

if [ ! -x "$venv_python" ] || ! usable_python "$venv_python"; then
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        provide needed "virtual environments" python3-venv || exit 1
    fi
    say "making a Python environment in .venv with $("$python" --version)"
    rm -rf .venv
    # A pip that is there already can fill .venv, and its own copy comes with the packages: ensurepip is the slow part.
    if "$python" -c 'import pip, sys; sys.exit(int(pip.__version__.split(".")[0]) < 23)' 2>/dev/null; then
        "$python" -m venv --without-pip .venv
    else
        "$python" -m venv .venv
    fi
fi

provide_libraries() { # what Qt needs of the system, as far as it is missing
    local column packages
    column=$(install_command)
    packages=$(missing_packages "${column#*|}")
    # shellcheck disable=SC2086  # one word per package
    [ -z "$packages" ] || provide needed "Qt" $packages || exit 1
}

# One stamp for every target: a window needs more of the system, and nothing more of .venv.
stamp=.venv/.warpline-stamp
key=$({ cat pyproject.toml hatch_build.py; "$venv_python" -VV; pwd; } | sha256sum | cut -d' ' -f1)
[ "$window" = no ] || [ "$(cat "$stamp.window" 2>/dev/null || true)" = "$key" ] || {
    provide_libraries
    printf '%s\n' "$key" >"$stamp.window"
}
pip_command=("$venv_python" -m pip)
build_requirements=('hatchling>=1.26' 'editables>=0.5')
if ! "$venv_python" -c 'import pip' 2>/dev/null; then
    base_python=$("$venv_python" -c 'import sys; print(sys._base_executable)')
    pip_command=("$base_python" -m pip --python "$PWD/$venv_python")
    build_requirements+=(pip)
fi
pip() { "${pip_command[@]}" --disable-pip-version-check "$@" </dev/null; }

# It needs nothing of .venv and takes as long as pip, so both run beside each other: the build hook leaves it out.
native_build=
start_native_build() {
    command -v "${CC:-cc}" >/dev/null || provide wanted "the recording agent" gcc libc6-dev
    export WARPLINE_NATIVE=later
    "$venv_python" scripts/build_native.py >&2 &
    native_build=$!
    trap 'kill "$native_build" 2>/dev/null || true' EXIT
}

is_ready() { [ "$(cat "$1" 2>/dev/null || true)" = "$key" ]; }

if [ "$demo" = yes ] && ! is_ready "$stamp" && ! is_ready "$stamp.demo"; then
    [ "$window" = yes ] || provide_libraries
    start_native_build
    say "installing Warpline with numpy, HDF5 and Qt into .venv (130 MB to download, 310 MB on the disk)"
    # Python compiles what it imports: to compile all of numpy first would take longer than the example runs.
    { pip install --no-compile "${build_requirements[@]}" && pip install --no-compile --no-build-isolation -e '.[gui]'; } >&2 ||
        die "pip failed; see its messages above"
    # 23 MB of Qt Quick, which no widget uses.
    rm -rf .venv/lib/python*/site-packages/PySide6/Qt/qml
    printf '%s\n' "$key" >"$stamp.demo"
fi
if [ "$demo" = no ] && ! is_ready "$stamp"; then
    [ "$window" = yes ] || provide_libraries
    start_native_build
    say "installing Warpline and its tools into .venv (a few minutes the first time)"
    log=.venv/install.log
    # The build's own requirements go into .venv too: no second environment has to be made for every build.
    if ! { pip install -q "${build_requirements[@]}" && pip install -q --no-build-isolation -e '.[dev]'; } \
        >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        die "pip failed; the whole story is in $log"
    fi
    # Only one test needs it, and it is skipped without it. With all it asks for it would bring Jupyter: 200 MB.
    pip install -q --no-deps 'HolisticTraceAnalysis>=0.5' >>"$log" 2>&1 ||
        say "HolisticTraceAnalysis could not be installed; the test that compares with it is skipped"
    printf '%s\n' "$key" >"$stamp"
fi

# The agent's sources change more often than pyproject.toml does. Without a compiler there is no agent, and that is
# said, but it is no reason to stop.
if [ -n "$native_build" ]; then
    say "waiting for the C compiler"
    wait "$native_build" || true
    trap - EXIT
else
    "$venv_python" scripts/build_native.py >&2 || true
fi
printf '%s\n' "$PWD/$venv_python"
