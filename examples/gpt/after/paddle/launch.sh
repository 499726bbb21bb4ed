#!/usr/bin/env bash
# gpt: training for Paddle 3.0 or newer.
# Written by crosscast 0.1.0 from recipe 57302b084b55a191.
# Edit freely: nothing here imports crosscast.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# The factory of the model is imported from the folder you start this in.
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
exec "${PYTHON:-python3}" "$here/train.py" \
  --use_fp16=true \
  --use_dynamic_loss_scaling=true \
  --init_loss_scaling=65536.0 \
  --incr_every_n_steps=100 \
  --decr_every_n_nan_or_inf=1 \
  --incr_ratio=2.0 \
  --decr_ratio=0.5 \
  "$@"
