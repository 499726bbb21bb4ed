#!/usr/bin/env bash
# paddle-xnli: training for PyTorch 2.4 or newer.
# Written by crosscast 0.1.0 from recipe 12c67d2021d8a1b1.
# Edit freely: nothing here imports crosscast.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
exec "${PYTHON:-python3}" -m torch.distributed.run --standalone \
  --nproc-per-node 8 "$here/train.py" "$@"
