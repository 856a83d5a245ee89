#!/usr/bin/env bash
# Records the bundled example and shows it: in the window where there is a display, as a picture where there is none.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-build/demo}
display=no
[ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && display=yes

options=(--demo)
[ "$display" = no ] || options+=(--window)
scripts/bootstrap.sh "${options[@]}" >/dev/null
mkdir -p "$folder"
echo "recording the example for a few seconds" >&2
# Shows it itself: in the window, or as a picture where there is no display, and says where.
.venv/bin/warpline demo "$folder"
echo "next: .venv/bin/warpline $folder/demo.h5, or .venv/bin/warpline record -o run.h5 -- PROGRAM"
