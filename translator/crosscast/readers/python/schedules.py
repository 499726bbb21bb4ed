"""Which schedule a learning rate follows, from the calls and formulas behind it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.pysource.syntax.nodes import walk
from crosscast.pysource.values.value import Known, Unknown, Value
from crosscast.readers.python.decays import NOT, formulas, named, words_of
from crosscast.readers.python.expression_sources import ExpressionSources, sources_of
from crosscast.readers.python.library_calls import canonical, last, plain

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Module

__all__ = ["Course", "course_of", "words_of"]
_SCHEDULE_CALL = re.compile(
    r"(keras\.optimizers\.schedules|keras\.experimental|tensorflow\.train|tensorflow_addons\."
    r"optimizers|paddle\.optimizer\.lr|paddle\.optimizer\.lr_scheduler|paddle\.fluid\.dygraph(\."
    r"learning_rate_scheduler)?|paddle\.fluid\.layers(\.learning_rate_scheduler)?|optax(\.schedules)?)"
    r"\.\w+"
)
_WARMUPS = (
    "warmup_steps",
    "num_warmup_steps",
    "warmup_epochs",
    "warmup_batches",
    "lr_warmup_steps",
)
_PLAIN_WORDS = re.compile(
    r"decay|schedule|annealing|noam|piecewise|plateau|onecycle|lambda|warmup|multi_?step|cyclic",
    re.I,
)
_LENGTH = re.compile(r"warm_?up_?(steps|epochs|iters|proportion|ratio)$", re.I)
_TOTAL = re.compile(r"^(?!.*warm).*(total|train|max)_?(steps|iters|epochs)|decay|power")
_WARM = re.compile(r"warm_?up|ramp_?up", re.I)


@dataclass(frozen=True, slots=True)
class Course:
    """What is known of a schedule."""

    decay: str
    """Word of the vocabulary; empty: not known."""
    warmup: str = ""
    """Length of the warm-up as text; empty if there is none."""
    has_warmup: bool = False
    base: tuple[ast.expr, Module] | None = None
    """The highest rate, if the schedule names it."""
    places: tuple[Span, ...] = ()
    total: Value | None = None


def course_of(rate: ast.expr, module: Module) -> Course | None:
    """Return the schedule behind a learning rate; None if it is a plain number or not known."""
    found = sources_of(rate, module)
    words: list[str] = []
    places: list[Span] = []
    warm: list[str] = []
    base: tuple[ast.expr, Module] | None = None
    total: Value | None = None
    for call, name in _library_calls(found):
        word = _word(call, name, words)
        if word == "warmup":
            warm.append(_length(call))
        elif word and word not in words:
            words.append(word)
        places.append(call.module.span(call.node))
        base = _base(call) or base
        total = total or _total(call)
        if re.search(r"(with|and)_?warm_?up", last(name), re.I):
            warm.append(_length(call))
        if (
            name.endswith(
                ("CosineDecay", "warmup_cosine_decay_schedule", "cosine_onecycle_schedule")
            )
            and "warmup_steps" in call.bound()
        ):
            warm.append(_length(call))
        if "NoamDecay" in name or last(name) == "noam_decay":
            warm.append(_length(call))
    by_library = bool(words)
    for word, place, by_name in formulas(found):
        if by_library and not by_name:
            continue  # a formula around what a library computes
        if word not in words:
            words.append(word)
        places.append(place)
    unseen = ""
    for call in found.calls:
        if any(k.arg in _WARMUPS for k in call.node.keywords) and not warm:
            unseen = "" if _is_here(call) else _behind(call)
            warm.append(_length(call))
            places.append(call.module.span(call.node))
    text = found.text
    if not warm and _WARM.search(text) and (words or _compared(found)):
        warm.append(_first_warmup(found))
    if not words and not warm:
        return None
    decay = words[0] if len(words) == 1 else "selectable" if words else "none"
    if unseen and not words:
        decay = unseen
    return Course(
        decay=decay,
        warmup=next((w for w in warm if w), ""),
        has_warmup=bool(warm),
        base=base,
        places=tuple(dict.fromkeys(places)),
        total=total,
    )


def _behind(call: Call) -> str:
    """Return what a schedule of another file does after its warm-up, by what it is told."""
    words = {str(k.arg) for k in call.node.keywords}
    if words & {"d_model", "model_dim", "dmodel"}:
        return "noam"
    return "elsewhere" if any(_TOTAL.search(word) for word in words) else ""


def _is_here(call: Call) -> bool:
    """Whether a schedule is a function or a class of the program."""
    program = call.module.program
    if program is None:
        return False
    shown = last(call.name) or call.method
    return program.function(call) is not None or any(shown in m.classes for m in program.modules)


def _library_calls(found: ExpressionSources) -> Iterator[tuple[Call, str]]:
    for call in found.calls:
        for name in call.names:
            name = canonical(name)
            shown = last(name)
            if NOT.search(shown) or not _PLAIN_WORDS.search(shown):
                continue
            if _SCHEDULE_CALL.fullmatch(name):
                yield call, name
                break
            if ":" not in name and name and named(shown):
                yield call, name
                break


def _word(call: Call, name: str, before: list[str]) -> str:
    shown = last(name)
    small = shown.lower()
    if small in ("linearwarmup", "linear_lr_warmup", "warmup"):
        return "warmup"
    if small == "linear_schedule":
        return _between(call)
    if small in ("join_schedules", "constant_schedule", "lambdadecay", "learningrateschedule"):
        return ""
    word = named(shown)
    if word == "poly" and _is_one(call, "power"):
        return "linear"
    return word


def _is_one(call: Call, name: str) -> bool:
    node = call.bound().get(name)
    if node is None:
        return True  # every library has 1.0 as the default
    return plain(call.argument(name)) in (1, 1.0)


def _between(call: Call) -> str:
    """Return whether a straight line rises (warm-up) or falls."""
    first, final = plain(call.argument("init_value")), plain(call.argument("end_value"))
    if first == 0 or (isinstance(first, int | float) and first < 1e-7):
        return "warmup"
    return "linear" if final is not None or first is not None else ""


_BASES = (
    *("initial_learning_rate", "learning_rate", "warmup_target", "peak_value", "max_learning_rate"),
    *("base_lr", "init_value", "end_lr"),
)


def _base(call: Call) -> tuple[ast.expr, Module] | None:
    bound = call.bound()
    shown = last(call.name)
    names: tuple[str, ...] = (
        ("end_lr",) if shown in ("LinearWarmup", "linear_lr_warmup") else _BASES
    )
    if shown == "linear_schedule":  # it rises or falls: the other end is the highest rate
        rises = plain(call.argument("init_value")) in (0, 0.0)
        names = ("end_value",) if rises else ("init_value",)
    elif shown == "NoamDecay":
        names = ("learning_rate",)
    for name in names:
        node = bound.get(name)
        if node is not None:
            return node, call.module
    return None


def _total(call: Call) -> Value | None:
    for name in ("decay_steps", "T_max", "total_steps", "first_decay_steps"):
        if name in call.bound():
            return call.argument(name)
    return None


def _length(call: Call) -> str:
    for name in (*_WARMUPS, "transition_steps", "warmup"):
        node = call.bound().get(name)
        if node is not None:
            return _shown(call.argument(name), call.module.owner_of(node).text(node))
    return ""


def _shown(value: Value | None, text: str) -> str:
    match value:
        case Known(value=int() | float() as number, flag=flag) if not isinstance(number, bool):
            return flag or str(number)
        case Unknown(names=(one,)):
            return one
    return text[:200]


def _compared(found: ExpressionSources) -> bool:
    """Whether something is compared with the length of a warm-up."""
    for node, module in found.places:
        for one in walk(node):
            if isinstance(one, ast.Compare | ast.Call) and _WARM.search(module.text(one)):
                if isinstance(one, ast.Compare):
                    return True
                if last(canonical(module.call(one).name)) in ("where", "cond", "less", "minimum"):
                    return True
    return False


def _first_warmup(found: ExpressionSources) -> str:
    best = next((text for text in _warmups(found) if _LENGTH.search(text)), "")
    return best or next(_warmups(found), "")


def _warmups(found: ExpressionSources) -> Iterator[str]:
    for node, module in found.places:
        for one in walk(node):
            if isinstance(one, ast.Name | ast.Attribute) and _WARM.search(module.text(one)):
                yield module.text(one)[:200]
            if isinstance(one, ast.Subscript) and _WARM.search(module.text(one.slice)):
                yield module.text(one)[:200]
