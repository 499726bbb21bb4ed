#!/usr/bin/env bash
# tf-graph-rewrite: training for Paddle 3.0 or newer.
# Written by crosscast 0.1.0 from recipe 30250bcf7a9d6c88.
# Edit freely: nothing here imports crosscast.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
exec "${PYTHON:-python3}" "$here/train.py" \
  --use_fp16=true \
  --use_dynamic_loss_scaling=true \
  --init_loss_scaling=32768.0 \
  --incr_every_n_steps=2000 \
  --decr_every_n_nan_or_inf=1 \
  --incr_ratio=2.0 \
  --decr_ratio=0.5 \
  "$@"
