"""Calls that make schedules of the learning rate."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.facts.fact import Fact
from crosscast.messages.diagnostics import Span
from crosscast.pysource.programs.evaluate import evaluate
from crosscast.pysource.values.value import Choice, Known, Unknown, Value
from crosscast.readers.fact_builder import fact_of
from crosscast.readers.python.conditions import conditions
from crosscast.readers.python.default_conditions import is_usual
from crosscast.readers.python.library_calls import last, parts_of
from crosscast.readers.torch.fact_writer import content, is_number, place_of
from crosscast.readers.torch.schedule_functions import Candidate, by_function, own_class
from crosscast.readers.torch.schedule_names import (
    BY_WORD,
    FACTORIES,
    NOT_BY_NAME,
    decay_of,
    is_schedule,
    warms_up,
)
from crosscast.readers.torch.schedule_outside import by_outside
from crosscast.readers.torch.schedule_policies import POLICY, is_partial, policy
from crosscast.readers.words import SCHEDULES

if TYPE_CHECKING:
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.program import Program

_WARMUPS = (
    *("num_warmup_steps", "warmup_steps", "warmup", "warmup_iters", "warmup_epochs"),
    *("n_warmup_steps", "warmup_num_steps", "warmup_t", "num_warmup_epochs", "total_epoch"),
    *("warmup_period", "warmup_updates", "warmup_proportion", "warmup_epoch", "warm_up"),
)
_TOTALS = ("num_training_steps", "total_steps", "t_total", "T_max", "num_train_steps")
_STYLES = ("decay_style", "lr_decay_style", "decay_type", "schedule_type", "lr_scheduler_type")
_NAMED = re.compile(r"(cosine|linear|poly\w*|exp\w*|inv\w*)_(lr_)?(scheduler|schedule|sched)")
"""Functions that return all rates of a run, as many files around vision models have them."""
_CHAINS = frozenset({"SequentialLR", "ChainedScheduler", "ConcatScheduler"})


def _is_rate(call: Call) -> bool:
    """Whether what a function makes is kept under a name of learning rates."""
    target = call.module.parent(call.node)
    names = [call.module.text(one) for one in getattr(target, "targets", ())]
    return any(parts_of(name) & {"lr", "lrs", "rate", "rates"} for name in names)


def in_library(program: Program) -> bool:
    """Whether a file without a training loop configures a run."""
    return any(
        name.rpartition(".")[2] == "configure_optimizers"
        for module in program.modules
        for name in module.functions
    )


def scheduled(program: Program) -> Iterator[Candidate]:
    """Yield the schedules that calls make."""
    for module in program.modules:
        for call in module.calls:
            found = _of_call(call, program)
            if found is not None:
                found.usual = _usual(call)
                yield found


def _of_call(call: Call, program: Program) -> Candidate | None:
    names = [n for n in call.names if is_schedule(n)]
    place = place_of(call)
    own = call.module.class_of(call.node)
    if own is not None and is_schedule(own.name):
        return None
    if names and program.function(call) is None:
        return _made(call, names[0])
    if "schedule" in call.bound() and last(call.name).endswith("Adam"):  # BERT's own optimizer
        return _bert(call)
    word = last(call.name) or call.method
    if is_partial(call):
        word = last(call.module.resolve(call.node.args[0]))
    if FACTORIES.fullmatch(word) and program.function(call) is None:
        if call.receiver is not None and not call.name:
            return None
        timm = call.name.startswith("timm.")
        flags = {"warmup_epochs", "warmup_steps", "warmup"} & set(program.flags) if timm else set()
        return Candidate(
            "selectable" if timm else "elsewhere",
            (place, *(program.flags[f].span for f in flags)),
            warms=bool(flags),
            confidence="certain" if timm else "likely",
        )
    if POLICY.fullmatch(word) and not names and program.function(call) is None:
        return policy(call, program)
    if _NAMED.fullmatch(word) and program.function(call) is None and _is_rate(call):
        decay, warms = by_outside(call.node, call.module)
        return Candidate(decay, (place,), warms=warms, confidence="likely")
    function = call.node.func
    if isinstance(function, ast.Name) and "sched" in function.id.lower() and not call.names:
        scope = call.module.scope_of(call.node).lookup(function.id)
        bindings = scope.bindings.get(function.id, []) if scope is not None else []
        if any(one.kind == "parameter" for one in bindings):
            return Candidate("caller", (place,))
    return None


def _usual(call: Call) -> bool | None:
    found: bool | None = True
    for one in conditions(call.node, call.module):
        met = is_usual(one)
        if met is None:
            found = None
        elif met != one.holds:
            return False
    return found


def _made(call: Call, name: str) -> Candidate:
    word = last(name)
    places = (place_of(call),)
    if word in NOT_BY_NAME:
        if word in _CHAINS:
            return Candidate("", places, chained=True)
        return by_function(call)
    if word in BY_WORD:
        return _by_word(call)
    if word == "LinearLR" and name.startswith("torch."):
        return _linear(call)
    found = Candidate(decay_of(name), places)
    bound = call.bound()
    if word == "OneCycleLR":
        found.warms = "pct_start" in bound
    if warms_up(name) or set(_WARMUPS) & set(bound):
        found.warms = True
        found.rising = not found.decay or "radual" in word
        _warmup(found, call)
    if not found.decay and not found.warms:
        own = own_class(call)
        found.decay, found.warms = own if own else (_by_style(call), False)
    for argument in _TOTALS:
        if argument in bound:
            value = call.argument(argument)
            number = content(value)
            if not is_number(number) or number > 0:  # type: ignore[operator]
                found.total = _fact("schedule.total_steps", value, places[0])
            break
    return found


def _by_style(call: Call) -> str:
    """Return the fall that an argument names, of a class that says nothing itself."""
    for argument in _STYLES:
        if argument in call.bound():
            word = content(call.argument(argument))
            return SCHEDULES.get(str(word).lower(), "selectable")
    return "custom" if ":" in call.name else "elsewhere"


def _linear(call: Call) -> Candidate:
    """Return LinearLR: a warm-up if it rises, as it does by default."""
    start = content(call.argument("start_factor"))
    end = content(call.argument("end_factor"))
    first = start if is_number(start) else 1 / 3
    final = end if is_number(end) else 1.0
    rises = first < final  # type: ignore[operator]
    word = "" if rises else "linear"
    start = f"start_factor {first:.6g}" if rises and first else ""
    return Candidate(word, (place_of(call),), warms=rises, rising=rises, start=start)


def _warmup(found: Candidate, call: Call) -> None:
    bound = call.bound()
    for argument in _WARMUPS:
        if argument not in bound:
            continue
        value = call.argument(argument)
        if isinstance(value, Known) and not value.flag and value.value in (0, None, False):
            found.warms = found.rising = False
            return
        found.warmup = _fact("schedule.warmup", value, place_of(call))
        return


def _fact(name: str, value: Value | None, place: Span) -> Fact | None:
    if value is None:
        return None
    if isinstance(value, Known) and not is_number(value.value):
        return None
    if isinstance(value, Unknown) and value.has_default and not is_number(value.default):
        return None
    return fact_of(name, value, place, reader="torch_schedules")


def _by_word(call: Call) -> Candidate:
    value = call.argument("name")
    if value is None and call.node.args:
        value = evaluate(call.node.args[0], call.module)
    word = content(value)
    flag = value.flag if isinstance(value, Known) else ""
    text = str(getattr(word, "value", word)).lower().rpartition(".")[2]
    places = (place_of(call),)
    found = Candidate(SCHEDULES.get(text, ""), places, flag=flag)
    if isinstance(value, Unknown) and not value.has_default:
        found.decay = "selectable"
        found.flag = value.text
    elif isinstance(value, Choice):
        found.decay = "selectable"
    found.warms = text != "constant"
    if found.warms:
        _warmup(found, call)
        found.warms = found.warms and bool(set(_WARMUPS) & set(call.bound()))
    return found


def _bert(call: Call) -> Candidate | None:
    """Return the schedule that the BertAdam of the first BERT ports brings along."""
    value = content(call.argument("schedule"))
    decay = {
        "warmup_linear": "linear",
        "warmup_cosine": "cosine",
        "warmup_constant": "none",
        "warmup_poly": "poly",
    }.get(str(value))
    if decay is None:
        return None
    found = Candidate(decay, (place_of(call),), warms="warmup" in call.bound())
    _warmup(found, call)
    return found
