#!/bin/sh
# Puts Warpline's desktop entry, icons and file type where the desktop looks for them (default: this user only).
# Usage: install-desktop.sh [PREFIX]      PREFIX such as /usr/local; removes them again with --uninstall.
set -eu

uninstall=no
if [ "${1:-}" = "--uninstall" ]; then
    uninstall=yes
    shift
fi
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
share=${1:+$1/share}
share=${share:-${XDG_DATA_HOME:-$HOME/.local/share}}
id=warpline
icons=$here/../../resources/icons
[ -d "$icons" ] || icons=$here/_internal/warpline/_resources/icons # unpacked from an archive

if [ "$uninstall" = yes ]; then
    rm -f "$share/applications/$id.desktop" "$share/mime/packages/$id.xml" "$share/thumbnailers/$id.thumbnailer" \
        "$share/icons/hicolor/scalable/apps/$id.svg" \
        "$share/icons/hicolor/scalable/mimetypes/application-x-warpline-capture.svg"
else
    mkdir -p "$share/applications" "$share/mime/packages" "$share/thumbnailers" \
        "$share/icons/hicolor/scalable/apps" "$share/icons/hicolor/scalable/mimetypes"
    cp "$here/$id.desktop" "$share/applications/"
    cp "$here/$id.thumbnailer" "$share/thumbnailers/"
    cp "$here/$id.mime.xml" "$share/mime/packages/$id.xml"
    cp "$icons/warpline.svg" "$share/icons/hicolor/scalable/apps/$id.svg"
    cp "$icons/warpline-capture.svg" \
        "$share/icons/hicolor/scalable/mimetypes/application-x-warpline-capture.svg"
fi
# Each is there only on some desktops.
command -v update-desktop-database >/dev/null 2>&1 && update-desktop-database "$share/applications" || true
command -v update-mime-database >/dev/null 2>&1 && update-mime-database "$share/mime" || true
command -v gtk-update-icon-cache >/dev/null 2>&1 && gtk-update-icon-cache -q "$share/icons/hicolor" || true
