#!/usr/bin/env bash
# Makes an AppImage of the folder that packaging/bundle.py leaves in build/bundle. Needs appimagetool on PATH.
# Usage: packaging/appimage/build.sh VERSION [OUTPUT]
set -euo pipefail
cd "$(dirname "$0")/../.."

version=${1:?which version?}
output=${2:-dist}
machine=$(uname -m)
image=build/AppDir
rm -rf "$image"
mkdir -p "$image" "$output"
cp -a build/bundle/frozen/warpline "$image/opt"
cp packaging/linux/warpline.desktop resources/icons/warpline.svg "$image/"
install -D packaging/linux/warpline.metainfo.xml "$image/usr/share/metainfo/warpline.appdata.xml"
# Without arguments the window; with them the command line, so that one file does both.
cat >"$image/AppRun" <<'RUN'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/opt/warpline" "$@"
RUN
chmod +x "$image/AppRun"
# A test validates the metadata; this tool also refuses a name that is not a reversed domain, and the project has none.
ARCH=$machine appimagetool --no-appstream "$image" "$output/warpline-$version-$machine.AppImage"
