"""What the names of schedules say: how the rate falls, and whether it warms up first."""

from __future__ import annotations

import re

from crosscast.readers.python.library_calls import last
from crosscast.readers.torch.fact_writer import is_foreign

_EXACT = {
    "StepLR": "step",
    "MultiStepLR": "multistep",
    "ExponentialLR": "exponential",
    "CosineAnnealingLR": "cosine",
    "CosineAnnealingWarmRestarts": "cosine",
    "CosineAnnealingWarmupRestarts": "cosine",
    "ReduceLROnPlateau": "plateau",
    "OneCycleLR": "onecycle",
    "PolynomialLR": "poly",
    "PolyLR": "poly",
    "CyclicLR": "custom",
    "ConstantLR": "none",
    "LinearLR": "linear",
    "MultiplicativeLR": "custom",
    "PiecewiseLinear": "linear",
    "CosineAnnealingScheduler": "cosine",
    "LinearCyclicalScheduler": "custom",
    "WarmupLinearSchedule": "linear",
    "WarmupCosineSchedule": "cosine",
    "WarmupConstantSchedule": "none",
    "ConstantLRSchedule": "none",
    "CosineLRScheduler": "cosine",
    "TanhLRScheduler": "custom",
    "StepLRScheduler": "step",
    "MultiStepLRScheduler": "multistep",
    "PlateauLRScheduler": "plateau",
    "PolyLRScheduler": "poly",
    "WarmupLR": "none",
    "WarmupDecayLR": "linear",
    "SWALR": "custom",
    "NoamLR": "noam",
    "NoamOpt": "noam",
    "NoamOptimizer": "noam",
    "ScheduledOptim": "noam",
}
_WORDS = (
    ("cosine", "cosine"),
    ("cos_", "cosine"),
    ("coslr", "cosine"),
    ("poly", "poly"),
    ("linear", "linear"),
    ("invsqrt", "rsqrt"),
    ("inverse_sqrt", "rsqrt"),
    ("inversesqrt", "rsqrt"),
    ("rsqrt", "rsqrt"),
    ("noam", "noam"),
    ("onecycle", "onecycle"),
    ("exp", "exponential"),
    ("multistep", "multistep"),
    ("steplr", "step"),
    ("step_lr", "step"),
    ("plateau", "plateau"),
    ("constant", "none"),
)
_CLASS = re.compile(
    r"\w*(LR|LRScheduler|Scheduler|Schedule|LRSchedule|WarmUpLR|WarmupLR|LRPolicy)|Warmup\w*|Noam\w*"
    r"|ScheduledOptim|PiecewiseLinear|Gradual\w*|LinearWarmup|ExponentialWarmup|Poly\w*LR"
)
_FUNCTION = re.compile(
    r"get_(\w+_)?(schedule|scheduler|lr_scheduler)(_with_warmup)?|get_\w+_schedule\w*"
)
_NO_SCHEDULE = re.compile(
    r"(Noise|DDPM|DDIM|PNDM|Euler|LMS|DPM|UniPC|Flow|Beta|KL|EMA|Momentum|Dropout|WeightDecay|Data"
    r"|Profiler|Accumulation|Thread|Job|Task|Batch|Trainer|Discrete|Karras|HeunD|Score|IPNDM|VQ|EDM"
    r"|Diffusion|Sampler|Temperature|Teacher|Mask|Length|LogLR|Log|Image)",
)
NOT_BY_NAME = frozenset({"LambdaLR", "SequentialLR", "ChainedScheduler", "LambdaScheduler"})
"""Schedules whose shape is in their arguments."""
FACTORIES = re.compile(
    r"(create|build|get|make|init|setup|initialize)_(\w*_)?(lr_?)?(scheduler|schedule|sched)(_v2)?",
    re.I,
)
BY_WORD = frozenset({"get_scheduler", "get_schedule"})
"""Functions that a word tells which schedule to make."""


def is_schedule(name: str) -> bool:
    """Whether a qualified name is a class or function that makes a schedule."""
    word = last(name)
    if not word or is_foreign(name) or _NO_SCHEDULE.search(word):
        return False
    if name.startswith("diffusers.") and not name.startswith("diffusers.optimization."):
        return False
    if word in _EXACT or word in NOT_BY_NAME:
        return True
    if name.startswith("torch.optim.lr_scheduler."):
        return word[:1].isupper() and word not in ("LRScheduler", "_LRScheduler")
    return bool(_CLASS.fullmatch(word) or _FUNCTION.fullmatch(word)) and word[:1] != "_"


def decay_of(name: str) -> str:
    """Return the word for the fall of a schedule of this name; empty if the name does not say."""
    word = last(name)
    if word in _EXACT:
        return _EXACT[word]
    small = word.lower()
    return next((decay for part, decay in _WORDS if part in small), "")


def warms_up(name: str) -> bool:
    """Whether the name says that there is a warm-up."""
    return "warm" in last(name).lower().replace("warmrestarts", "")
