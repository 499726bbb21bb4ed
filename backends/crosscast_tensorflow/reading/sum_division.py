"""Whether sums of gradients are means: divided by the number of micro-batches anywhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_reading.readers.python.value_flow import flow_of
from crosscast_tensorflow.reading.gradient_sums import (
    GradientSum,
    computes_gradients,
    gradient_flow,
)
from crosscast_tensorflow.reading.sum_windows import length_of, rounds_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_WINDOW = re.compile(
    r"accum|chunk|ga_steps|batch_split|iter_size|update_freq|micro|virtual|num_grads|n_grads"
    r"|backward_passes|mini_?batch|sub_?div|(?<![a-z])n_?steps|num_steps",
    re.I,
)
_DIVIDES = frozenset(
    {
        *("divide", "truediv", "multiply", "scalar_mul", "div", "div_no_nan", "scale_gradients"),
        *("reduce_mean", "average", "mean", "accumulate_n", "realdiv"),
    }
)
_SCALED = re.compile(r"grad|loss|cost|\bgv?s?\b|gv?\[|sum|total|accum|scale|lr\b|rate", re.I)
_SUMMED = re.compile(
    r"reduce_sum|\bSUM\b|['\"]sum['\"]|\bNONE\b|['\"]none['\"]|num_tokens|n_tokens|ntokens|"
    r"global_batch|total_batch|compute_average_loss|valid_tokens|per_example",
)
_SHOWS = ("print", "info", "debug", "warning", "format", "write", "set_description")
_MEANS = ("tensorflow.reduce_mean", "tensorflow.math.reduce_mean", "keras.backend.mean")
_WHOLE = ("int", "ceil", "floor", "range")
_PASSES = ("get_scaled_loss", "scale_loss")
_SESSION = re.compile(r"(self\.)?_?sess(ion)?")
_RATE = re.compile(r"(\w+\.)*(base_|init_|initial_|start_)?(lr|learning_?rate|rate)", re.I)
_ADAPTIVE = re.compile(r"Adam|RMSProp|Adagrad|Adadelta|Lamb", re.I)
_LOSSES = re.compile(r"loss|cost|crit|entropy|error|mse|objective|model|net\b|mean", re.I)
"""Functions and models whose results may be losses."""
_PER_EPISODE = re.compile(r"reward|advantage|episode|discount|(?<![a-z])actor|critic(?!al)", re.I)


def is_divided(total: GradientSum) -> bool | None:
    """Return whether a sum is divided by its number of terms; None if it is not clear."""
    program = total.module.program
    names, number = _length_names(total), _length_number(total)
    if any(
        _divides_by(node, module, names)
        and not _is_shown(node, module)
        and not _is_report(node, module, total)
        and not _is_without_effect(node, module, total)
        for module in program.modules
        for node in module.nodes
    ):
        return True
    if number is not None and any(
        _divides_by_number(node, module, number)
        for module in program.modules
        for node in module.nodes
    ):
        return True
    added = {part for part, _ in gradient_flow(total.added, total.module)}
    if any(_scales(part) and not _is_mean(part) for part in added):
        return None
    if total.applied is not None:
        flows = (gradient_flow(a, total.applied.module) for a in total.applied.node.args[:1])
        if any(_scales(part) for flow in flows for part, _ in flow if part not in added):
            return None
    if _rescales(total):
        return None
    return None if _by_design(total, known=bool(names)) else False


def _length_names(total: GradientSum) -> set[str]:
    """Return the last parts of the names that the length of a window has."""
    length = length_of(total)
    if length is None:
        return set()
    return _words(node for node, _ in flow_of(*length)[:60]) - {"self"}


def _words(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names in nodes; of `args.steps` the last part."""
    parts = [node for node in nodes if isinstance(node, ast.Name | ast.Attribute)]
    owners = {node.value for node in parts if isinstance(node, ast.Attribute)}
    return {identifier(node) for node in parts if node not in owners}


def _length_number(total: GradientSum) -> int | None:
    """Return the length of a window that is written as a number."""
    length = length_of(total)
    match length[0] if length is not None else None:
        case ast.Constant(value=int() as number):
            return number
    return None


def _divides_by_number(node: ast.AST, module: Module, number: int) -> bool:
    """Whether a gradient or a loss is divided by a number: `gradient / 8`."""
    match node:
        case (
            ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=by))
            | ast.AugAssign(target=left, op=ast.Div(), value=ast.Constant(value=by))
        ):
            return bool(by == number) and _is_scaled(left, module)
    return False


def _divides_by(node: ast.AST, module: Module, names: set[str]) -> bool:
    """Whether a gradient, a loss or 1 is divided by the length of a window (or times 1 / N)."""
    for operand, others in _operands(node):
        words = _words(walk(operand))
        exact = words & names and not isinstance(getattr(node, "op", None), ast.Mult)
        if not exact and not any(_is_scaled(other, module) for other in others):
            continue
        if words & names or any(_WINDOW.search(w) and not _is_variable(w) for w in words):
            return not _is_number_of_steps(node, module)
    return False


def _is_shown(node: ast.AST, module: Module) -> bool:
    """Whether a quotient only gets into a text, or a call that shows it."""
    here, around = node, module.parent(node)
    while around is not None and not isinstance(around, ast.stmt):
        match around:
            case ast.FormattedValue():
                return True
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod()):
                return True
            case ast.Call(func=called) if called is not here and identifier(called) in _SHOWS:
                return True
        here, around = around, module.parent(around)
    return False


def _is_report(node: ast.AST, module: Module, total: GradientSum) -> bool:
    """Whether the mean of a running sum is taken behind the window, when its gradients are known.

    `shown += loss` in the loop over the micro-batches, and `shown /= n` behind it.
    """
    match node:
        case ast.AugAssign(target=ast.Name(id=name)) | ast.BinOp(left=ast.Name(id=name)):
            rounds = rounds_of(total)
        case _:
            return False
    if rounds is None or total.root == name:
        return False
    loop, where = rounds
    function = where.enclosing(loop, ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)
    assert function is not None
    assert loop.end_lineno is not None
    if module.function_of(node) is not where.function_of(loop) or node.lineno <= loop.end_lineno:
        return False
    if _gradients(function) - _gradients(loop):
        return False
    return name in {
        where.text(inner.target) for inner in walk(loop) if isinstance(inner, ast.AugAssign)
    }


def _gradients(node: ast.AST) -> set[ast.AST]:
    return {inner for inner in walk(node) if computes_gradients(inner)}


def _is_without_effect(node: ast.AST, module: Module, total: GradientSum) -> bool:
    """Whether a quotient never reaches the update.

    That is a number that a session has returned, or the rate of an optimizer whose steps do not
    depend on the size of the gradients: a smaller rate is then no mean.
    """
    rated = total.applied is not None and _ADAPTIVE.search(" ".join(total.applied.names))
    for _, others in _operands(node):
        for other in others:
            if isinstance(other, ast.Call) and _is_run(other, module):
                return True
            if rated and _RATE.fullmatch(module.text(other)):
                return True
    return False


def _is_run(node: ast.Call, module: Module) -> bool:
    """Whether a session runs something, and not a method of the program of this name."""
    match node.func:
        case ast.Attribute(value=owner, attr="run"):
            made = canonical(module.call(node).name)
            return made.endswith("Session.run") or bool(_SESSION.fullmatch(module.text(owner)))
    return False


def _is_scaled(node: ast.expr, module: Module) -> bool:
    """Whether an operand is what a mean is taken of: a gradient, a loss, a rate or 1."""
    if isinstance(node, ast.Constant):
        return node.value in (1, 1.0)
    return bool(_SCALED.search(module.text(node)))


def _is_variable(word: str) -> bool:
    """Whether a name is that of gradients, not of a number."""
    return bool(re.search(r"grad|vars?$|sum|total|loss", word, re.I)) and not re.search(
        r"step|num|n_|freq|iter", word, re.I
    )


def _is_number_of_steps(node: ast.AST, module: Module) -> bool:
    """Whether a quotient counts something: `steps = int(rows / (batch * accumulation))`."""
    parent = module.parent(node)
    while isinstance(parent, ast.BinOp | ast.Call):
        if isinstance(parent, ast.Call) and identifier(parent.func) in _WHOLE:
            return True
        parent = module.parent(parent)
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    return target is not None and bool(re.search(r"steps|num_|updates", module.text(target)))


def _operands(node: ast.AST) -> list[tuple[ast.expr, list[ast.expr]]]:
    """Return the divisors or factors of an operation, each with what it is applied to."""
    match node:
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return [(right, [left])]
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return [(right, [left]), (left, [right])]
        case ast.AugAssign(target=target, op=ast.Div() | ast.Mult(), value=value):
            return [(value, [target])]
        case ast.Call(func=function, args=args) if identifier(function) in _DIVIDES:
            return [(a, [b for b in args if b is not a]) for a in args]
    return []


def _scales(node: ast.AST) -> bool:
    return bool(_operands(node))


def _is_mean(node: ast.AST) -> bool:
    """Whether a mean is taken of one micro-batch's gradients, such as those of several devices."""
    match node:
        case ast.Call(func=ast.Name(id=word) | ast.Attribute(attr=word)):
            return word in ("reduce_mean", "mean")
    return False


def _rescales(total: GradientSum) -> bool:
    """Whether the sum itself is set to a scaled value: `g.assign(g / n)`."""
    root = total.root.rpartition(".")[2]
    return any(
        _scales(inner) and root in total.module.text(inner)
        for node in total.module.every(ast.Call)
        if identifier(node.func) in ("assign", "map")
        for argument in node.args
        for inner in walk(argument)
    )


def _by_design(total: GradientSum, *, known: bool) -> bool:
    """Whether the sum may be meant: of summed losses, of the steps of an episode."""
    losses = list(_losses(total))
    if losses and all(_is_averaged(loss, module) for loss, module in losses):
        return bool(_PER_EPISODE.search(total.module.source.text))
    if any(_is_foreign(loss, module) for loss, module in losses):
        return True
    parts = [part for each in losses for part in flow_of(*each)]
    averaged = _of_means(parts)
    for part, module in parts:
        text = module.text(part) if isinstance(part, ast.expr) else ""
        named = isinstance(part, ast.Call | ast.keyword | ast.Attribute) and _SUMMED.search(text)
        if named and part not in averaged:
            return True
        if not known and _operands(part):
            return True  # by a number that may be that of micro-batches
    return bool(_PER_EPISODE.search(total.module.source.text))


def _is_averaged(loss: ast.expr, module: Module) -> bool:
    """Whether a loss is a mean, whatever it is a mean of: `loss = tf.reduce_mean(losses)`."""
    for _ in range(8):
        match loss:
            case ast.Call(func=ast.Attribute(attr=method), args=[inner, *_]) if (
                method in _PASSES or computes_gradients(loss)
            ):
                loss = inner  # the gradients that are unscaled, and the loss behind them
            case ast.Call(func=function, args=[_], keywords=[]):
                return canonical(module.resolve(function)) in _MEANS
            case ast.Name():
                bound = definitions(loss, module)
                if len(bound) != 1 or bound[0].kind != "assign" or bound[0].value is None:
                    return False
                loss, module = bound[0].value, bound[0].module
            case _:
                return False
    return False


def _of_means(parts: list[tuple[ast.AST, Module]]) -> set[ast.AST]:
    """Return the nodes of weighted means: `tf.reduce_sum(w * x) / (tf.reduce_sum(w) + eps)`."""
    nodes: set[ast.AST] = set()
    for part, module in parts:
        match part:
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                below, above = flow_of(right, module), flow_of(left, module)
                if any(_is_sum(node) for node, _ in below) and any(_is_sum(n) for n, _ in above):
                    nodes.update(node for node, _ in (*below, *above))
    return nodes


def _is_sum(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and identifier(node.func) == "reduce_sum"


def _is_foreign(loss: ast.expr, module: Module) -> bool:
    """Whether a function of another file returns a loss, and its name does not speak of losses."""
    values: list[tuple[ast.AST | None, Module]] = [(loss, module)]
    values += [(bound.value, bound.module) for bound in definitions(loss, module)]
    for value, where in values:
        if not isinstance(value, ast.Call):
            continue
        call = where.call(value)
        own = where.program.function(call) is not None or ":" in call.name
        library = canonical(call.name).startswith(("tensorflow.", "keras."))
        if not own and not library and not _LOSSES.search(where.text(value.func)):
            return True
    return False


def _losses(total: GradientSum) -> Iterator[tuple[ast.expr, Module]]:
    """Yield the losses that the gradients of a sum are computed from."""
    for part, module in gradient_flow(total.added, total.module):
        if isinstance(part, ast.Call) and computes_gradients(part):
            given = [
                *part.args[:1],
                *(k.value for k in part.keywords if k.arg in ("loss", "target")),
            ]
            yield from ((argument, module) for argument in given)
