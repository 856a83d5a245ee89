#!/usr/bin/env bash
# Records the bundled example and shows it: in the window where there is a display, as a picture where there is none.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-build/demo}
display=no
[ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && display=yes

if [ "$display" = yes ]; then scripts/bootstrap.sh --window >/dev/null; else scripts/bootstrap.sh >/dev/null; fi
warpline=.venv/bin/warpline
mkdir -p "$folder"
$warpline demo "$folder"
capture=$(find "$folder" -maxdepth 1 -name '*.h5' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
[ -n "$capture" ] || { echo "warpline: no capture was written to $folder" >&2; exit 1; }

if [ "$display" = yes ]; then
    exec $warpline view "$capture"
fi
picture=${capture%.h5}.png
QT_QPA_PLATFORM=offscreen $warpline render "$capture" -o "$picture"
echo "There is no display here, so the timeline was drawn into a picture: $PWD/$picture"
echo "The capture is $PWD/$capture; on a machine with a display: warpline $capture"
