"""Which decay the name of a schedule means, and names that only look like one."""

from __future__ import annotations

import pytest

from crosscast_reading.readers.schedule_names import decay_of, decay_of_schedule


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("torch.optim.lr_scheduler.CosineAnnealingWarmRestarts", "cosine"),
        ("torch.optim.lr_scheduler.CyclicLR", "custom"),
        ("tensorflow_addons.optimizers.CyclicalLearningRate", "custom"),
        ("deepspeed.runtime.lr_schedules.WarmupLR", "constant"),
        ("deepspeed.runtime.lr_schedules.WarmupDecayLR", "linear"),
        ("diffusers.optimization.get_piecewise_constant_schedule", "multistep"),
        ("ignite.handlers.PiecewiseLinear", "linear"),
        ("transformers.get_constant_schedule_with_warmup", "constant"),
        ("transformers.get_inverse_sqrt_schedule", "inverse_sqrt"),
        ("timm.scheduler.MultiStepLRScheduler", "multistep"),
        ("keras.optimizers.schedules.InverseTimeDecay", "exponential"),
        ("paddle.fluid.layers.linear_lr_warmup", "linear"),
        ("train.py:ScheduledOptim", "noam"),
        ("lr_poly_policy", "polynomial"),
    ],
)
def test_names_of_schedules(name: str, word: str) -> None:
    assert decay_of(name) == word


@pytest.mark.parametrize(
    "name",
    [
        *("LinearWithFrozenWeight", "bilinear", "linear_warmup", "pytorch_warmup.LinearWarmup"),
        *("expected_scheduler", "exp", "polygon", "acyclic", "cyclic_iter", "constant_init"),
        *("warmup_lr", "cos_similarity", "multi_step_train", "StepScheduler"),
    ],
)
def test_names_that_mean_no_decay(name: str) -> None:
    assert decay_of(name) == ""


@pytest.mark.parametrize(
    ("name", "word"),
    [
        *(("linear", "linear"), ("constant_with_warmup", "constant"), ("fixed", "constant")),
        *(("poly", "polynomial"), ("quadratic", "polynomial"), ("exp", "exponential")),
        *(("step", "step"), ("MultiStepWithWarmupScheduler", "multistep"), ("rex", "custom")),
        *(("inverse-square-root", "inverse_sqrt"), ("SquareRootAnnealing", "inverse_sqrt")),
        *(("WarmupHoldPolicy", "custom"), ("LRRangeTest", "custom"), ("tri_stage", "custom")),
        *(("cosine_with_min_lr", "cosine"), ("one_cycle", "onecycle"), ("Cyclic", "custom")),
        *((word, "") for word in ("warmup_stable_decay", "LambdaLR", "none", "auto", "manual", "")),
    ],
)
def test_words_that_certainly_name_a_schedule(name: str, word: str) -> None:
    assert decay_of_schedule(name) == word
