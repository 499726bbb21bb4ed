"""Whether losses (or gradients) are divided by the length of a window."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.values.value import Choice, Known, Unknown, Value
from crosscast_reading.trainstep.answers.divisors import divisors_of
from crosscast_reading.trainstep.answers.windows import (
    Answer,
    answer,
    default_events,
    in_micro_loop,
    windows_of,
    with_windows,
)
from crosscast_reading.trainstep.events import Event, Loop, TrainingStep, WindowTest
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.library_settings import given_steps
from crosscast_reading.trainstep.frames.loops import RANGES
from crosscast_reading.trainstep.frames.object_kinds import last_name

_NUMBERS = re.compile(
    r"tok|num_items|n_items|sample_size|valid|mask|weight_sum|ntok|len\(|count|num_"
)
_COUNT = re.compile(r"accum|grad_steps|ga_steps|micro|update_freq|chunk|batch_split|acc_step", re.I)
"""Names of the number of micro-batches of a window."""

_PARTS = re.compile(
    r"batch_?size\b[^/]{0,200}/.{0,200}(shape\[0\]|size\(0\)|batch_?size|len\()"
    r"|len\([^/]{0,200}/.{0,200}batch_?size",
    re.I,
)
"""A window's rows over those of a micro-batch: `args.batch_size / x.shape[0]`."""

_OTHER = re.compile(r"world|rank|gpu|replica|device|scale|proc|temperature|shape|size\(", re.I)
"""Words of numbers that are not the length of a window."""

_ROWS_OF = re.compile(r"len\([\w.]+\)|[\w.]+\.(shape\[0\]|size\(0\))|[\w.]+\.size\(dim=0\)")
"""The rows of a batch or of a part of it."""

_ROWS = re.compile(r"size|rows|batch|shape|total", re.I)
"""Words of a number that may be the rows of a batch."""


def division_of(step: TrainingStep) -> Answer | None:
    """Return whether losses are divided before they are summed up."""
    if not step.by_hand:
        return answer("library", *step.of("backward")[:1])
    tests = [test for _, test in windows_of(step)]
    if any(test.by_caller for test in tests):
        return answer("caller", *step.of("backward")[:1])
    by_library = [e for e in step.of("backward") if _divides_itself(e)]
    if by_library:
        return answer("library", *by_library)
    divisions = {id(e.node): e for e in step.of("divide_loss")}
    plain = [e for e in step.of("backward") if "functional" not in e.detail]
    if not tests:  # passes outside the loop over micro-batches are those without a window
        plain = [e for e in plain if in_micro_loop(e)] or plain
    backward = default_events(with_windows(step, plain))
    passes = [_divided(e, tests, divisions, step) for e in backward]
    yes = [e for loss_pass in passes for e in loss_pass[1]]
    words = {word[0] for word in passes}
    computed = divisors_of(step, windows_of(step)) if "yes" not in words else None
    if computed is not None and computed.averages:
        return answer("yes", computed.event)
    if "yes" in words:
        return answer("yes", *yes)
    if "token_normalised" in words:
        return answer("token_normalised", *yes, *backward)
    scaled = _gradients_divided(step, tests)
    if scaled is not None:
        return scaled
    if not backward or "" in words or (step.of("accumulate") and not tests):
        return None  # an object of which nothing is seen sums up, or a number of which nothing is
    return answer("no", *backward)


def _divides_itself(backward: Event) -> bool:
    """Whether an Accelerator that was given a number of micro-batches divides by it."""
    match backward.node:
        case ast.Call(func=ast.Attribute(value=library)) if backward.library == "accelerate":
            given = given_steps(library, CallFrame(backward.module, None))
            return given is not None and not (isinstance(given, Known) and given.value == 1)
    return False


def _divided(
    backward: Event,
    tests: Sequence[WindowTest],
    divisions: dict[int, Event],
    step: TrainingStep,
) -> tuple[str, list[Event]]:
    at = backward.detail.get("divided_at")
    mine = [divisions[n] for n in getattr(at, "value", ()) if n in divisions]
    slices = _slices(backward)
    if not slices and any(_weighs_rows(e, backward) for e in mine):
        return "", mine  # by the rows of a part of a batch, whose lengths are not seen
    fitting = [e for e in mine if _fits(e, tests, step)]
    if fitting:
        return "yes", fitting
    if mine and slices:
        shares = [e for e in mine if _is_batch(e.detail, slices, backward.module)]
        return ("yes", shares) if shares else ("", mine)
    words = " ".join(str(getattr(e.detail["by_text"], "value", "")) for e in mine)
    if any("times" in e.detail for e in mine) or _NUMBERS.search(words):
        return "token_normalised", mine
    if _counts_items(backward, step):
        return "token_normalised", mine
    if mine and all(_may_be_length(e) for e in mine):
        return "", mine
    counted = bool(tests) or isinstance(step.steps, Known) or not _ROWS.search(words)
    return "no" if counted else "", mine


def _may_be_length(division: Event) -> bool:
    """Whether a divisor of which nothing is known may be the length of a window."""
    text = str(getattr(division.detail["by_text"], "value", ""))
    return isinstance(division.detail["by"], Unknown | Choice) and not _OTHER.search(text)


def _weighs_rows(division: Event, backward: Event) -> bool:
    """Whether `loss * len(part) / len(batch)` is the loss of a part that a loop cuts."""
    if not in_micro_loop(backward):
        return False
    whole = _ROWS_OF.fullmatch(str(getattr(division.detail["by_text"], "value", "")))
    times = str(getattr(division.detail.get("times"), "value", ""))
    factors = [times, *getattr(backward.detail.get("multiplied"), "value", ())]
    return whole is not None and any(_ROWS_OF.fullmatch(text) for text in factors)


def _slices(backward: Event) -> list[ast.expr]:
    """Return the arguments of the `range` if a loss is multiplied by the rows of its slice.

    As `loss * rows / batch_size` in `for start in range(0, batch_size, rows)`.
    """
    factors = getattr(backward.detail.get("multiplied"), "value", ())
    strides = (_strides(loop) for loop in backward.loops if loop.role == "micro")
    return next((s for s in strides if s and backward.module.text(s[2]) in factors), [])


def _strides(loop: Loop) -> list[ast.expr]:
    """Return the three arguments of `for start in range(0, batch_size, rows)`."""
    match loop.node:
        case ast.For(iter=ast.Call(args=[_, _, _] as given, func=called)):
            return given if last_name(called) in RANGES else []
    return []


def _is_batch(division: Mapping[str, Value], slices: list[ast.expr], module: Module) -> bool:
    """Whether a loss is divided by the rows of the batch; of unknown numbers the names decide."""
    by, size = division["by"], CallFrame(module, None).value(slices[1])
    if isinstance(by, Known) and isinstance(size, Known):
        return by.value == size.value
    text = getattr(division["by_text"], "value", "")
    _, whole, part = map(module.text, slices)
    return text == whole or (text != part and bool(_ROWS.search(text)))


def _fits(division: Event, tests: Sequence[WindowTest], step: TrainingStep) -> bool:
    text = str(getattr(division.detail["by_text"], "value", ""))
    key = str(getattr(division.detail["by_key"], "value", ""))
    if any(key == test.key or text == test.steps_text for test in tests):
        return True
    if _COUNT.search(key) or _PARTS.search(text):
        return True
    by, steps = division.detail["by"], step.steps
    if isinstance(by, Known) and isinstance(steps, Known):
        return by.value == steps.value and by.flag == steps.flag
    if tests:
        return False
    module = division.module
    return any(
        text and text in loop.over and text not in map(module.text, _strides(loop)[2:])
        for loop in division.loops
        if loop.role == "micro"
    )


def _counts_items(backward: Event, step: TrainingStep) -> bool:
    """Whether the model receives the number of tokens of a window."""
    for event in step.of("forward"):
        node = event.node
        if not isinstance(node, ast.Call) or event.excludes(backward):
            continue
        if any(k.arg and "item" in k.arg and _NUMBERS.search(k.arg) for k in node.keywords):
            return True
    return False


def _gradients_divided(step: TrainingStep, tests: Sequence[WindowTest]) -> Answer | None:
    """Look for gradients (not losses) that are divided by the length of the window."""
    texts = {test.steps_text for test in tests} | {test.key for test in tests}
    texts |= {text.rpartition(".")[2] for text in texts}
    for module in dict.fromkeys(e.module for e in step.events):
        for node in module.nodes:
            by = _divisor(node)
            if by is None:
                continue
            fits = any(
                _ends_with(module.text(o), texts) or _COUNT.search(module.text(o)) for o in by
            )
            if fits and _of_gradient(node, module):
                value = "conditional" if "bucket" in module.text(node) else "yes"
                return Answer(value, (module.span(node),))
            if _is_factor(node, module):
                return Answer("token_normalised", (module.span(node),))
    return None


def _divisor(node: ast.AST) -> list[ast.expr] | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _with_arguments(node.right)
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div | ast.Mult):
        return _with_arguments(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        if name in ("div_", "div", "true_divide_", "multiply_grads", "scale_grads"):
            return [argument for a in node.args for argument in _with_arguments(a)]
    return None


def _with_arguments(node: ast.expr) -> list[ast.expr]:
    return [node, *node.args] if isinstance(node, ast.Call) else [node]


def _ends_with(text: str, texts: set[str]) -> bool:
    return text in texts or any(ending and text.endswith(f".{ending}") for ending in texts)


def _of_gradient(node: ast.AST, module: Module) -> bool:
    text = module.text(node)
    return bool(re.search(r"grad|\bg\b|bucket", text))


def _is_factor(node: ast.AST, module: Module) -> bool:
    """`multiply_grads(optimizer, world_size / tokens)`."""
    if not isinstance(node, ast.Call):
        return False
    return bool(re.search(r"(multiply|scale)_grads?\b", module.text(node.func)))
