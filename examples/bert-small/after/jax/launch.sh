#!/usr/bin/env bash
# bert-small: training for JAX 0.9 or newer (Flax NNX).
# Written by crosscast 0.1.0 from recipe 48439cb69d5ee3aa.
# Edit freely: nothing here imports crosscast.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
exec "${PYTHON:-python3}" "$here/train.py" "$@"
