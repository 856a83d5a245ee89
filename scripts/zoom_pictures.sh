#!/bin/sh
# Draws a capture at five zoom levels around a moment, light and dark, into docs/images.
#
#   scripts/zoom_pictures.sh CAPTURE MOMENT_MS [FOLDER]
#
# The pictures in docs/images show google/owlv2 on an H100, recorded by PyTorch's profiler and imported.
set -eu

capture=$1
moment=$2
folder=${3:-docs/images}
mkdir -p "$folder"

# Half the length of each view in microseconds; the first shows everything.
for theme in light dark; do
    warpline render "$capture" -o "$folder/zoom-1-$theme.png" --size 1200x560 --theme "$theme"
    level=2
    for half in 130000 13000 1300 60; do
        start=$(awk "BEGIN { printf \"%d\", $moment * 1000 - $half }")
        stop=$(awk "BEGIN { printf \"%d\", $moment * 1000 + $half }")
        warpline render "$capture" -o "$folder/zoom-$level-$theme.png" --size 1200x560 --theme "$theme" \
            --range "${start}us:${stop}us"
        level=$((level + 1))
    done
done
