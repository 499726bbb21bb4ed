#!/usr/bin/env bash
# gpt: training for TensorFlow 2.16 or newer (Keras 3).
# Written by crosscast 0.1.0 from recipe 68f4365e6e00480f.
# Edit freely: nothing here imports crosscast.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# The factory of the model is imported from the folder you start this in.
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
exec "${PYTHON:-python3}" "$here/train.py" "$@"
