#!/usr/bin/env bash
# tf-graph-rewrite: training for JAX 0.9 or newer (Flax NNX).
# Written by crosscast 0.1.0 from recipe 30250bcf7a9d6c88.
# Edit freely: nothing here imports crosscast.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
exec "${PYTHON:-python3}" "$here/train.py" "$@"
