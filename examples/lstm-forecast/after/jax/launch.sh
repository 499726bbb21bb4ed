#!/usr/bin/env bash
# lstm-forecast: training for JAX 0.9 or newer (Flax NNX).
# Written by crosscast 0.1.0 from recipe ea6dcc5c030bb926.
# Edit freely: nothing here imports crosscast.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# The factory of the model is imported from the folder you start this in.
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
exec "${PYTHON:-python3}" "$here/train.py" "$@"
