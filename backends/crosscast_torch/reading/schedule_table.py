"""Schedules of PyTorch and related libraries: the meaning of their names and arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping

from crosscast_reading.facts.fact import Confidence
from crosscast_reading.pysource.libraries.packages import TRAINING, is_foreign, package_of_name
from crosscast_reading.readers.python.library_calls import last

_CLASS = re.compile(
    r"\w{0,60}(LR|Scheduler|Schedule|LRPolicy)|Warmup\w*|Noam\w*|PiecewiseLinear|Gradual\w*"
    r"|LinearWarmup|ExponentialWarmup|CosineAnnealingWarm(up)?Restarts"
    r"|ReduceLROnPlateau|ScheduledOptim"
)
_FUNCTION = re.compile(
    r"get_(\w+_)?(schedule|scheduler|lr_scheduler)(_with_warmup)?|get_\w+_schedule\w*"
)
_NO_SCHEDULE = re.compile(
    r"(Noise|DDPM|DDIM|PNDM|Euler|LMS|DPM|UniPC|Flow|Beta|KL|EMA|Momentum|Dropout|WeightDecay|Data"
    r"|Profiler|Accumulation|Thread|Job|Task|Batch|Trainer|Discrete|Karras|HeunD|Score|IPNDM|VQ|EDM"
    r"|Diffusion|Sampler|Temperature|Teacher|Mask|Length|LogLR|Log|Image)",
)
BY_ARGUMENTS = frozenset({"LambdaLR", "SequentialLR", "ChainedScheduler", "LambdaScheduler"})
"""Schedules whose arguments determine the shape."""
CHAINS = frozenset({"SequentialLR", "ChainedScheduler", "ConcatScheduler"})
BY_WORD = frozenset({"get_scheduler", "get_schedule"})
"""Functions that create the schedule named by an argument."""
FACTORY = re.compile(
    r"(create|build|get|make|init|setup|initialize)_(\w{0,60}_)?(lr_?)?(scheduler|schedule|sched)(_v2)?",
    re.I,
)
POLICY = re.compile(
    r"(\w{1,60}_)?(lr|learning_rate)_(decay|sched|schedule|schedules)"
    r"|(lr|learning_rate)_(\w{1,60}_)?(policy|schedule|scheduler|schedule_fn)"
    r"|(adjust|update|set|schedule)_(lr|learning_rate)"
)
"""Functions that set the rate of an optimizer."""
POLICY_FLAG = re.compile(
    r"(lr_?)?(policy|sched|scheduler|schedule)(_type|_name)?|lr_(mode|type|decay_style|decay_type)"
)
RATES = re.compile(
    r"(cosine|linear|poly\w{0,60}|exp\w{0,60}|inv\w{0,60})_(lr_)?(scheduler|schedule|sched)"
)
"""Functions that return all rates of a run, common in code for vision models."""
WARMUPS = (
    *("num_warmup_steps", "warmup_steps", "warmup", "warmup_iters", "warmup_epochs"),
    *("n_warmup_steps", "warmup_num_steps", "warmup_t", "num_warmup_epochs", "total_epoch"),
    *("warmup_period", "warmup_updates", "warmup_proportion", "warmup_epoch", "warm_up"),
)
"""Arguments that give the length of the warm-up."""
TOTALS = ("num_training_steps", "total_steps", "t_total", "T_max", "num_train_steps")
"""Arguments that give the length of the run."""
STYLES = ("decay_style", "lr_decay_style", "decay_type", "schedule_type", "lr_scheduler_type")
"""Arguments that name the schedule."""


_TRANSFORMERS = ("transformers.", "transformers.optimization.", "diffusers.optimization.")
DETAILS: Mapping[str, tuple[tuple[str, str, float], ...]] = {
    "torch.optim.lr_scheduler.CosineAnnealingLR": (("end_lr", "eta_min", 0.0),),
    "torch.optim.lr_scheduler.PolynomialLR": (("end_lr", "", 0.0), ("power", "power", 1.0)),
    **{
        f"{package}{function}": fields
        for package in _TRANSFORMERS
        for function, fields in (
            ("get_linear_schedule_with_warmup", (("end_lr", "", 0.0),)),
            ("get_cosine_schedule_with_warmup", (("end_lr", "", 0.0),)),
            (
                "get_polynomial_decay_schedule_with_warmup",
                (("end_lr", "lr_end", 1e-7), ("power", "power", 1.0)),
            ),
        )
    },
}
"""Schedules whose formula a recipe has: field, the argument that sets it, its default."""


def confidence(name: str) -> Confidence:
    """Return how sure the shape is that the name of a class or function suggests."""
    if ":" in name:
        return "guess"
    return "certain" if package_of_name(name) in TRAINING else "likely"


def is_schedule(name: str) -> bool:
    """Whether a qualified name is a class or function that creates a schedule."""
    word = last(name)
    if is_foreign(name, "pytorch") or _NO_SCHEDULE.search(word):
        return False
    if name.startswith("diffusers.") and not name.startswith("diffusers.optimization."):
        return False
    if name.startswith("torch.optim.lr_scheduler."):
        return word[:1].isupper()
    return bool(_CLASS.fullmatch(word) or _FUNCTION.fullmatch(word))


def warms_up(name: str) -> bool:
    """Whether a name implies a warm-up."""
    return "warm" in last(name).lower().replace("warmrestarts", "")
