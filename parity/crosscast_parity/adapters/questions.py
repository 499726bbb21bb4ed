"""Questions of the conformance table: the cases they read and the words they are answered in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from crosscast_parity.adapters import rows
from crosscast_parity.adapters.rows import BY_NAME, Cases

HALF_TITLE = "float16 on a CPU is"


@dataclass(frozen=True, slots=True)
class Question:
    """A row: its title, what is done, the cases it reads, and how they are put into words."""

    key: str
    title: str
    done: str
    reads: tuple[str, ...]
    answer: Callable[[Cases], str]

    @property
    def scaled(self) -> bool:
        """Whether it needs a loss scale."""
        return any(BY_NAME[name].scale is not None for name in self.reads)

    def silent(self, cases: Mapping[str, Any]) -> bool:
        """Whether it is not the trainer's business; a case is then the reason why."""
        reasons = [cases[name] for name in self.reads if isinstance(cases[name], str)]
        return any(not reason.startswith("refused") for reason in reasons)

    def put(self, cases: Mapping[str, Any]) -> str:
        """Return the answer of an observation."""
        for name in self.reads:
            if isinstance(cases[name], str):
                return str(cases[name])
        return self.answer(cases)


QUESTIONS: tuple[Question, ...] = (
    Question(
        "tail",
        "Short last window",
        "4 a window, 10 micro-batches an epoch, 2 epochs",
        ("tail",),
        rows.tail,
    ),
    Question(
        "uneven",
        "Loss is divided by",
        "a window of 3 rows and 1 row",
        ("uneven",),
        rows.uneven,
    ),
    Question(
        "counted",
        "Loss is divided by, if rows can be counted",
        "`compute_loss_func` of HF Trainer",
        ("uneven_counted",),
        rows.uneven_counted,
    ),
    Question(
        "invariance",
        "4 micro-batches of 1 row against 1 of 4",
        "with clipping, 2 windows",
        ("four_small", "one_large"),
        rows.invariance,
    ),
    Question(
        "clip_window",
        "Clipped is",
        "gradients 3 and -1 in one window, limit 2",
        ("clip_window",),
        rows.clip_window,
    ),
    Question(
        "clip_scaled",
        "Clipping comes",
        "gradient 3, limit 2, loss scale 1024",
        ("clip_scaled",),
        rows.clip_scaled,
    ),
    Question(
        "clip_fused",
        "Clipping comes, with a fused optimizer",
        "PyTorch's `fused=True`",
        ("clip_fused",),
        rows.clip_fused,
    ),
    Question(
        "skip",
        "Overflow",
        "AdamW, second of 3 windows is inf",
        ("skip",),
        rows.skip,
    ),
    Question(
        "counters",
        "Counted afterwards",
        "2 updates and 1 skip",
        ("skip",),
        rows.counters,
    ),
    Question(
        "rate_skip",
        "Schedule, at a skip",
        "rate falls by 1/4 a step",
        ("rate_skip",),
        rows.rate_skip,
    ),
    Question(
        "fused",
        "Schedule, at a skip, with a fused optimizer",
        "PyTorch's `fused=True`",
        ("rate_skip_fused",),
        rows.rate_skip_fused,
    ),
    Question(
        "rate_micro",
        "Schedule counts",
        "2 micro-batches a window, rate falls by 1/8",
        ("rate_micro",),
        rows.rate_micro,
    ),
    Question(
        "inside",
        "Overflow in 1 of 4 micro-batches",
        "second of 3 windows",
        ("inside",),
        rows.inside,
    ),
    Question(
        "growth",
        "Interval of the loss scale counts",
        "interval 4, 4 windows of 2",
        ("growth",),
        rows.growth,
    ),
    Question(
        "unscaled",
        "Overflow without a loss scale",
        "float32, second of 3 gradients is inf",
        ("unscaled_overflow",),
        rows.unscaled,
    ),
)
