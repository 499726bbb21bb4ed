"""The recipe topic of a flag, by its name."""

from __future__ import annotations

import re
from typing import Literal

Topic = Literal["precision", "scaling", "accumulation", "clipping", "schedule", "optimizer"]

_WORDS: dict[Topic, str] = {
    "scaling": r"loss_?scal|scale_loss|(^|_)(init|initial|static|dynamic|min|max)_(loss_)?scale$"
    r"|scale_window|scale_factor_growth|hysteresis|grad_?scal",
    "clipping": r"clip_?(grad|norm|val|thresh|by)|(grad\w*|norm|value)_?clip|^clip(ping)?$"
    r"|max_(grad_)?norm|grad_norm$",
    "accumulation": r"accum|grad(ient)?_merge|merge_steps|^update_freq$|virtual_batch",
    "schedule": r"warm_?up|lr_(sched|decay|policy|step|gamma|power|min)|(lr|learning_rate)_sched"
    r"|^sched|scheduler|decay_(steps|rate|epochs|factor)|^min_lr$|^lr_?min$"
    r"|^lr_\w+_decay$|(^|_)reduce_(epochs?|factor|ratio|times?)$",
    "precision": r"fp16|bf16|float16|(^|_)(amp|half|apex)(_|$)|mixed_?prec|^precision$|opt_level"
    r"|(^|_)tf32",
    "optimizer": r"^(weight_?decay|wd|momentum|optim(izer)?(_?(type|name))?"
    r"|adam_?(beta_?[12]|eps(ilon)?))$",
}
_NOT = re.compile(
    r"eval|infer|test|clip_(model|path|score|text|len|skip|dur|sec|video|size)|export"
)
_PATTERNS = {topic: re.compile(words) for topic, words in _WORDS.items()}


def topic_of(name: str) -> Topic | None:
    """Return the topic of a flag; None if it is about something else.

    Args:
        name: with or without its dashes.
    """
    plain = name.lstrip("-").replace("-", "_").lower()
    if _NOT.search(plain):
        return None
    return next((topic for topic, words in _PATTERNS.items() if words.search(plain)), None)
