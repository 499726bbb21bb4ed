#!/usr/bin/env bash
# paddle-xnli: training for Paddle 3.0 or newer.
# Written by crosscast 0.1.0 from recipe 12c67d2021d8a1b1.
# Edit freely: nothing here imports crosscast.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# The launcher takes an empty list of GPUs for one GPU; numbers below 0 hide them, too.
if [[ -z ${CUDA_VISIBLE_DEVICES-unset} ]]; then
  export CUDA_VISIBLE_DEVICES=-1,-1,-1,-1,-1,-1,-1,-1
fi
# Without -- the launcher would take options of train.py for its own.
exec "${PYTHON:-python3}" -m paddle.distributed.launch \
  --nproc_per_node 8 \
  --log_dir runs/paddle-xnli-paddle/log \
  -- "$here/train.py" \
  --use_fp16=true \
  --use_dynamic_loss_scaling=true \
  --init_loss_scaling=32768.0 \
  --incr_every_n_steps=1000 \
  --decr_every_n_nan_or_inf=2 \
  --incr_ratio=2.0 \
  --decr_ratio=0.8 \
  "$@"
