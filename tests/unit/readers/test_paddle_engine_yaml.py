"""What configurations of Paddle's engines do not say."""

from __future__ import annotations

from crosscast_paddle.reading import paddle_yaml
from reading_helpers.reader_texts import read, value_of

TEXT = """\
Global:
  epochs: 3
  accum_steps: 2
FP16:
  level: O2
  GradScaler:
    init_loss_scaling: 1024.0
DistributedStrategy:
  data_parallel: true
LRScheduler:
  name: TimmCosine
  learning_rate: 0.002
  warmup_epoch: 1
  decay_unit: step
Optimizer:
  name: AdamW
  betas: (0.8, 0.99)
  grad_clip:
    name: ClipGradByGlobalNorm
    clip_norm: 2.0
"""


def test_what_an_engine_is_not_told() -> None:
    head = TEXT.replace("  data_parallel: true", "  data_parallel: false")
    assert value_of(read(paddle_yaml.READER, head, "run.yaml"), "parallel.kind") != "paddle_dp"
    plain = TEXT.replace("  accum_steps: 2\n", "").replace("(0.8, 0.99)", "default")
    reading = read(paddle_yaml.READER, plain, "run.yaml")
    assert {"accumulation.steps", "optimizer.betas.0"}.isdisjoint(f.field for f in reading.facts)
