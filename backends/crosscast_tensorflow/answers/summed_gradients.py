"""Sums of gradients in variables of TensorFlow, for the rules about windows."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.rule import Finding
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.pysource.values.value import Known, Value
from crosscast_reading.readers.python.library_calls import unwrapped, value_of
from crosscast_reading.readers.python.value_flow import root_of
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import TrainingStep
from crosscast_tensorflow.answers.keras import accumulating
from crosscast_tensorflow.answers.session_counts import (
    first_of_graph,
    first_of_sessions,
    starts_at_zero,
)
from crosscast_tensorflow.reading.gradient_sums import (
    GradientSum,
    clips_before,
    gradient_sums,
)
from crosscast_tensorflow.reading.loops import gradient_clips, named_clips
from crosscast_tensorflow.reading.micro_clips import clips_given_to, wrapper_steps
from crosscast_tensorflow.reading.sum_division import is_divided
from crosscast_tensorflow.reading.sum_windows import (
    SumWindow,
    increases,
    length_of,
    window_of,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program


_PRIVATE = re.compile(r"privacy|l2_norm_clip|noise_multiplier|dp_?sgd", re.I)
"""Differential privacy clips the gradient of every micro-batch on purpose."""


def windowed_sums(subject: Subject) -> Iterator[tuple[GradientSum, str]]:
    """Yield the sums of gradients over more than one micro-batch, and their number as text."""
    program = subject.program
    if any(_PRIVATE.search(module.code) for module in program.modules):
        return
    for total in gradient_sums(program):
        window_length = length_of(total)
        if window_length is None or _is_one(value_of(*window_length)):
            continue
        yield total, window_length[1].text(window_length[0])


def _is_one(value: Value | None) -> bool:
    content = unwrapped(value)
    if not isinstance(content, Known) or content.origin in ("flag", "function_argument"):
        return False  # a default that users or callers may change
    return content.value == 1


def sums_gradients(subject: Subject, step: TrainingStep) -> bool:
    """Whether a loop adds up the gradients of tapes and applies the sum once per window."""
    libraries = {event.library for event in step.of("backward")}
    if step.loop is None or libraries != {"tensorflow"}:
        return False
    places = {total.place[0] for total in gradient_sums(subject.program)}
    return not places.isdisjoint(ast.walk(step.loop.node))


def starts_again(subject: Subject, step: TrainingStep) -> bool:
    """Whether the sums of a loop are cleared before it, once per epoch."""
    assert step.loop is not None
    loop = step.loop.node
    inside = set(ast.walk(loop))
    for total in gradient_sums(subject.program):
        module = total.place[1]
        outer = module.enclosing(loop, ast.For, ast.While) if total.place[0] in inside else None
        if outer is None:
            continue
        around = [node for node in ast.walk(outer) if node not in inside]
        if any(_sets(node, total.root, module) for node in around):
            return True
    return False


def _sets(node: ast.AST, root: str, module: Module) -> bool:
    """Whether a variable, or every item of it, gets a new value: `totals = [...]`."""
    match node:
        case ast.Assign(targets=[target]):
            return module.text(target) == root
        case ast.Call(func=ast.Attribute(value=of, attr="assign")):
            return root_of(of, module) == root
    return False


_CLEARS = re.compile(r"reset|zero|clear|init|empty", re.I)
"""Names of functions that may set a sum to zero."""


def applied_again(subject: Subject) -> Iterator[Finding]:
    """Find sums that a loop applies after every micro-batch and never clears."""
    for total in gradient_sums(subject.program):
        node, module = total.place
        applied = total.applied
        if applied is None or window_of(total) is not None:
            continue
        loop = module.enclosing(applied.node, ast.For, ast.While)
        if loop is None or module.enclosing(applied.node, ast.If) is not None:
            continue
        inside = list(ast.walk(loop))
        taped = [i for i in inside if isinstance(i, ast.Call) and identifier(i.func) == "gradient"]
        rounds = {module.enclosing(each, ast.For, ast.While) for each in taped}
        if node not in inside or rounds - {loop}:
            continue  # no sum of this loop, or one of an inner loop over micro-batches
        if any(_sets(i, total.root, module) and i is not node for i in inside) or any(
            isinstance(i, ast.Call) and _CLEARS.search(identifier(i.func)) for i in inside
        ):
            continue
        yield Finding(
            span=module.span(applied.node),
            message=f"{total.root} is applied after every micro-batch and never cleared, so the "
            "gradients of earlier ones are applied again",
            hint="apply the sum once, behind the loop, or set it to zero afterwards",
            related=(module.span(node),),
        )


def summed_not_averaged(subject: Subject) -> Iterator[Finding]:
    """Find sums of gradients that nothing divides by the number of micro-batches."""
    for total, length in windowed_sums(subject):
        node, module = total.place
        if is_divided(total) is not False:
            continue
        related = total.applied
        window_length = length_of(total)
        function = total.module.function_of(total.node)
        if function is not None and function.name == "apply_gradients":
            window_length = _given_by(window_length)  # a wrapper of optimizers
        match window_length:
            case (given, home) if home is not module:
                node, module = given, home  # a helper of another file does not know the number
        yield Finding(
            span=module.span(node),
            message=f"the gradients of {length} micro-batches are added up, but neither they nor "
            "the losses are divided by their number",
            hint=f"divide every gradient (or the loss) by {length}",
            related=(related.module.span(related.node),) if related is not None else (),
        )


def _given_by(length: tuple[ast.expr, Module] | None) -> tuple[ast.expr, Module] | None:
    """Return the only argument for the length of a window that is a parameter, or the length."""
    match length:
        case (ast.Name() as name, module):
            bound, program = definitions(name, module), module.program
            if len(bound) == 1 and bound[0].kind == "parameter":
                given = program.arguments_for(bound[0])
                if len(given) == 1:
                    return given[0]
    return length


def clipped_before_the_sum(subject: Subject) -> Iterator[Finding]:
    """Find clips of the gradients of single micro-batches."""
    program = subject.program
    clips = {call.node for _, call in (*gradient_clips(program), *named_clips(program))}
    yield from _before_accumulating(program, clips)
    for total, _ in windowed_sums(subject):
        for part, module in clips_before(total, clips):
            yield Finding(
                span=module.span(part),
                message="the gradients are clipped after every micro-batch, before they are "
                "added up",
                hint="clip the sum, right before it is applied",
                related=(total.module.span(total.node),),
            )


def _before_accumulating(program: Program, clips: Collection[ast.AST]) -> Iterator[Finding]:
    """Find clips of what an optimizer gets that accumulates itself."""
    of_keras = {call.node: "" for call in accumulating(program)}
    for part, module, update, maker in clips_given_to(
        of_keras | wrapper_steps(program), clips, program
    ):
        yield Finding(
            span=module.span(part),
            message="the gradients are clipped after every micro-batch: the optimizer "
            "accumulates what it gets",
            hint="pass the limit to the optimizer: global_clipnorm=..."
            if maker in of_keras
            else "clip the sum, right before the wrapped optimizer gets it",
            related=(update.module.span(update.node),),
        )


def misaligned_sums(subject: Subject) -> Iterator[Finding]:
    """Find window tests of step functions whose counter is ahead or behind by one."""
    for total, length in windowed_sums(subject):
        window = window_of(total)
        if window is None:
            continue
        if _is_graph(window.module):
            first, again = first_of_sessions(window, total) or first_of_graph(window, total), ""
        else:
            first = _first_length(window, length)
            again = _advanced_by_update(window, total) if not first else ""
        if first or again:
            related = total.applied
            yield Finding(
                span=window.module.span(window.test),
                message=again or f"the first window has {first} instead of {length}",
                hint="the test must be true after every full window, for the first time after "
                f"{length} micro-batches",
                related=(related.module.span(related.node),) if related is not None else (),
            )


def never_applied(subject: Subject) -> Iterator[Finding]:
    """Find sums that wait for a counter which nothing advances."""
    seen: set[ast.AST] = set()
    for total, length in windowed_sums(subject):
        window = window_of(total)
        if window is None or not window.never or window.test in seen:
            continue
        seen.add(window.test)
        counter = window.module.text(window.counter)
        yield Finding(
            span=window.module.span(window.test),
            message=f"with {length} above 0 this is never true: {counter} begins at 0, and "
            "nothing advances it",
            hint=f"add 1 to {counter} for every micro-batch, and set it to 0 after the update",
            related=(total.module.span(total.node),),
        )


def _is_graph(module: Module) -> bool:
    """Whether the order of operations is that of a graph, not that of the text."""
    text = module.source.text
    return any(word in text for word in ("Session(", "get_variable(", "get_updates", "estimator"))


def _first_length(window: SumWindow, length: str) -> str:
    """Return the micro-batches of the first window in words; empty if right or unknown."""
    module, offset = window.module, _offset(window.counter)
    counter = _without_offset(window.counter)
    function = module.function_of(window.test)
    if function is None or offset is None or module.enclosing(window.test, ast.For, ast.While):
        return ""
    if not starts_at_zero(counter, module):
        return ""
    added = list(increases(counter, module))
    if [module.parent(module.statement_of(node) or node) for node in added] != [function]:
        return ""
    before = added[0].lineno < window.test.lineno  # type: ignore[attr-defined]
    late = "1 micro-batch" if window.repeats else f"{length} + 1 micro-batches"
    return {0: late, 2: f"{length} - 1 micro-batches"}.get(offset + int(before), "")


def _advanced_by_update(window: SumWindow, total: GradientSum) -> str:
    """Return the message if the update at the end of a window advances its counter again."""
    module, applied = window.module, total.applied
    counter = _without_offset(window.counter)
    if applied is None or not window.repeats or module.enclosing(window.test, ast.For, ast.While):
        return ""
    added = list(increases(counter, module))
    mine = [node for node in added if module.function_of(node) is module.function_of(window.test)]
    others = [node for node in added if node not in mine]
    own = identifier(counter) == "iterations" and applied.receiver_text.startswith("super(")
    ending = [applied.module.function_of(applied.node)]
    if len(mine) != 1 or not (own or [module.function_of(node) for node in others] == ending):
        return ""
    return f"{module.text(counter)} advances for every micro-batch and again with every update"


def _offset(counter: ast.expr) -> int | None:
    """Return the number added to a counter before it is tested; None if it is not a small one."""
    match counter:
        case ast.BinOp(op=ast.Add(), right=ast.Constant(value=int() as number)):
            return number
        case ast.Name() | ast.Attribute():
            return 0
    return None


def _without_offset(counter: ast.expr) -> ast.expr:
    return counter.left if isinstance(counter, ast.BinOp) else counter
