#!/usr/bin/env bash
# resnet-cifar: training for JAX 0.9 or newer (Flax NNX).
# Written by crosscast 0.1.0 from recipe b4e8ca5572bdf3f1.
# Edit freely: nothing here imports crosscast.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# The factory of the model is imported from the folder you start this in.
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
exec "${PYTHON:-python3}" "$here/train.py" "$@"
