#!/usr/bin/env bash
# Tries recordings on the real frameworks: installs them beside the checkout's own environment, then runs tests/frameworks.
# WARPLINE_FRAMEWORKS_PYTHON names a Python that has them already.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${WARPLINE_FRAMEWORKS_PYTHON:-}" ]; then
    folder=.venv-frameworks
    wanted="torch lightning transformers accelerate paddlepaddle h5py"
    if [ "$(cat "$folder/wanted" 2>/dev/null)" != "$wanted" ]; then
        .venv/bin/python -m venv "$folder"
        # PyTorch's own index has wheels without CUDA; where it cannot be reached the usual ones do.
        "$folder/bin/pip" install --quiet torch --index-url https://download.pytorch.org/whl/cpu || true
        # shellcheck disable=SC2086
        "$folder/bin/pip" install --quiet $wanted
        echo "$wanted" >"$folder/wanted"
    fi
    export WARPLINE_FRAMEWORKS_PYTHON="$PWD/$folder/bin/python"
fi
exec .venv/bin/python -m pytest tests/frameworks tests/tutorials -q -p no:cacheprovider --timeout=0 "$@"
