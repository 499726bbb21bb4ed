"""What happens in a training loop: events, the conditions they stand under, and the windows."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from crosscast.messages.diagnostics import Span
from crosscast_reading.pysource.syntax.truth import is_met
from crosscast_reading.pysource.values.value import Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

EventKind = Literal[
    "forward",
    "divide_loss",
    "backward",
    "all_reduce",
    "unscale",
    "clip",
    "step",
    "update_scale",
    "schedule",
    "zero_grad",
    "accumulate",
    "average_weights",
    "sum_loss",
    "set_epoch",
    "count",
    "make",
    "leave",
]
"""
- forward: a model is called. - divide_loss: a loss that is differentiated later is divided;
  details: `by`, `by_text`, `by_key` (see `WindowTest.key`), `times` if a share is taken.
- backward: gradients are computed; `loss`, `divided_at` (identities of the nodes of its
  `divide_loss`), `multiplied`, `functional` if they are returned. - all_reduce: by hand.
- unscale: the loss scale is taken out of gradients. - clip: `kind`, `max`, `max_text`, `of`,
  `masters` (apex's copies). - step: an optimizer moves weights; `minimize`. - update_scale: of
  the scaler. - schedule: the learning rate moves on; `argument`, `by_hand`. - zero_grad:
  gradients are cleared; `set_to_none`, `accumulator`. - accumulate: gradients are summed up by
  hand (TensorFlow, JAX). - average_weights: EMA. - sum_loss: a loss is added to a running sum;
  `detached`, `added`, `list`. - set_epoch: of a sampler. - count: a counter changes; `by`, `to`.
- make: an optimizer or scaler is made within a loop; `kind`. - leave: break, continue, or return
  out of the loop."""

LoopRole = Literal["epoch", "batch", "micro", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A loop around an event. `micro`: over the micro-batches of one window."""

    node: ast.For | ast.While | ast.AsyncFor
    role: LoopRole
    counter: str = ""
    """Variable that counts its rounds: `step` of `for step, batch in enumerate(loader)`."""
    start: int = 0
    """First value of the counter."""
    over: str = ""
    """What it runs over, as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTest:
    """A condition that is true once a window: `(step + 1) % args.steps == 0`."""

    node: ast.expr
    counter: str
    steps: Value
    """Micro-batches of a window."""
    steps_text: str
    first: int | None
    """Rounds until it is true for the first time, where `steps` is N, as an offset of N: 0 means
    after N micro-batches (right), 1-N is written as 1: see `aligned`; None if unknown."""
    aligned: bool | None
    """Whether every window has `steps` micro-batches; False: the first is shorter or longer."""
    last: bool = False
    """Whether it is also true at the last batch of an epoch."""
    never_again: bool = False
    """Whether it can be true at most once."""
    impossible: bool = False
    """Whether no counter makes it true, where `steps` is above 1: `step + 1 % n == 0`."""
    positive: bool = True
    """False: the condition is written the other way round and is *false* once a window, as
    `(step + 1) % n != 0` or `micro < n - 1`."""
    opens: bool = False
    """Whether it is true at the first micro-batch of a window instead of the last, as the test
    around a `zero_grad` at the start of a window."""
    key: str = ""
    """`steps_text` with names followed to where they come from: equal for tests of one length."""
    first_length: str = ""
    """Micro-batches of the first window in words, if `aligned` is False: `1`, `n - 1`."""
    restarts: bool | None = None
    """Whether the counter starts again in every epoch; None if unknown."""
    by_remainder: bool = False
    """Whether it asks for a remainder: `step % n`, `step % n == 0`."""
    inverted: bool = False
    """Whether the program updates in all other rounds: a remainder is not compared with 0 in `if
    step % n: optimizer.step()`. `positive` is then as if it were."""
    by_caller: bool = False
    """Whether the caller of the function decides: a parameter such as `need_update`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """A condition that an event stands under."""

    node: ast.expr
    text: str
    holds: bool
    """False in the else branch."""
    window: WindowTest | None = None
    flags: tuple[str, ...] = ()
    """Flags (`args.fp16`) the condition reads."""
    value: bool | None = None
    """What the condition is with the defaults of the flags, if that is known."""

    @property
    def at_end(self) -> bool | None:
        """True: only at the end of a window; False: never at the end; None: no window test."""
        if self.window is None:
            return None
        return self.holds == self.window.positive

    @property
    def words(self) -> str:
        """The condition as it holds where the event happens: `not (a > b)` in the else branch."""
        return self.text if self.holds else f"not ({self.text})"

    @property
    def by_default(self) -> bool | None:
        """Whether code under it runs with the defaults of the flags, if that is known."""
        return is_met(self.value, self.holds)


HELD_BACK = "require_backward_grad_sync"
"""Name of contexts that this attribute of DistributedDataParallel stands for."""
ASKED_LATE = "set_requires_gradient_sync"
"""Name of contexts that this method of FSDP stands for, which counts in the backward pass."""

ContextKind = Literal["autocast", "no_sync", "accumulate", "scale_loss", "tape", "no_grad", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A `with` block around an event, or a decorator of its function."""

    kind: ContextKind
    node: ast.AST
    name: str
    """Qualified name of what is entered."""
    detail: Mapping[str, Value] = field(default_factory=dict)
    """Its bound arguments: enabled, dtype, device_type."""
    guards: tuple[Guard, ...] = ()
    """Conditions under which it is this context, where others are possible: that of
    `ctx = model.no_sync() if more else nullcontext()`."""
    subject: str = ""
    """Whose: the model of `model.no_sync()`, the optimizer of `amp.scale_loss`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happens in a loop, in the order of execution."""

    kind: EventKind
    node: ast.AST
    module: Module
    span: Span
    subject: str = ""
    """What it is about: variable of the optimizer, model, schedule, loss: `self.optimizer`."""
    scaler: str = ""
    """Variable of the loss scaler that takes part: `scaler.scale(loss).backward()`."""
    library: str = ""
    """Who does it, if not PyTorch's own object: accelerate, lightning_fabric, apex, deepspeed,
    horovod, paddle, keras, a class of the program."""
    guards: tuple[Guard, ...] = ()
    """Within the innermost function or loop that holds the whole window, outermost first."""
    contexts: tuple[Context, ...] = ()
    loops: tuple[Loop, ...] = ()
    """Outermost first."""
    detail: Mapping[str, Value] = field(default_factory=dict)
    calls: tuple[ast.Call, ...] = ()
    """Calls of functions of the program through which it is reached, outermost first."""
    order: int = 0

    @property
    def window(self) -> WindowTest | None:
        """The test that lets it happen once a window, if there is one."""
        tests = [g.window for g in self.guards if g.window is not None and g.at_end]
        return tests[0] if tests else None

    @property
    def by_default(self) -> bool:
        """Whether it is not ruled out by the defaults of the flags."""
        return all(guard.by_default is not False for guard in self.guards)

    def context(self, kind: ContextKind) -> Context | None:
        """Return the innermost context of a kind."""
        contexts = [c for c in self.contexts if c.kind == kind]
        return contexts[-1] if contexts else None

    def excludes(self, other: Event) -> bool:
        """Whether the two never happen in one round: different branches of one condition.

        Two conditions are one if they are the same test, or read the same in one module.
        """
        return any(_contradict(a, b) for a in self.guards for b in other.guards)


def _contradict(first: Guard, second: Guard) -> bool:
    if first.node is second.node:
        return first.holds != second.holds
    window, other = first.window, second.window
    if window is not None and other is not None:
        same = (window.counter, window.key, window.opens) == (other.counter, other.key, other.opens)
        return same and first.at_end != second.at_end and window.first == other.first
    return first.holds != second.holds and first.text == second.text


def possible(guards: tuple[Guard, ...]) -> bool:
    """Whether conditions can all hold at once."""
    return not any(
        _contradict(guard, other) for i, guard in enumerate(guards) for other in guards[:i]
    )


Touched = Literal["gradients", "weights", "optimizer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfollowed:
    """Code of a loop that gets what is trained, and of which it is not known what it does."""

    span: Span
    text: str
    """The function, or the assignment."""
    touched: Touched
    order: int
    """Number of events before it."""
    loops: tuple[Loop, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStep:
    """One training loop (or a step function without a loop), as events in order."""

    module: Module
    function: str
    """Qualified name of the function that holds the loop; empty at module level."""
    events: tuple[Event, ...]
    loop: Loop | None
    """The loop over batches or micro-batches; None: only a function that makes one step."""
    windowed: bool
    """Whether several backward passes go into one update."""
    steps: Value | None = None
    """Micro-batches of a window, if `windowed`."""
    by_hand: bool = True
    """False: a library counts the micro-batches (accumulate, DeepSpeed, Horovod)."""

    under: tuple[Guard, ...] = ()
    """Conditions around all of it, such as `args.do_train`; left out of those of events."""
    parts: tuple[str, ...] = ()
    """Qualified names of the functions of the program that it runs through."""
    unfollowed: tuple[Unfollowed, ...] = ()
    """Code in the loop, or around it once an epoch, that is not understood."""

    def of(self, *kinds: EventKind) -> tuple[Event, ...]:
        """Return the events of these kinds, in order, inside and around the loop."""
        return tuple(e for e in self.events if e.kind in kinds)

    def inside(self, *kinds: EventKind) -> tuple[Event, ...]:
        """Return those of them that happen within the loop (all, if there is no loop)."""
        return tuple(e for e in self.of(*kinds) if self.holds(e))

    def around(self, *kinds: EventKind) -> tuple[Event, ...]:
        """Return the events before and after the loop: once per epoch, or once per run."""
        return tuple(e for e in self.of(*kinds) if not self.holds(e))

    def holds(self, event: Event) -> bool:
        """Whether an event happens within the loop."""
        return self.loop is None or any(loop.node is self.loop.node for loop in event.loops)
