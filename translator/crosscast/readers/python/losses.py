"""Reads the loss of a training loop, where it is certainly one that a recipe can name.

The loss of every backward pass is followed to the call that computes it. What is more than that
call (a sum of several losses, a weighted one, the output of a model) is a loss of the program's
own, and its expression is reported instead of a kind.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.pysource.names.containers import definitions
from crosscast.pysource.programs.evaluate import evaluate
from crosscast.pysource.syntax.nodes import walk
from crosscast.pysource.values.value import Instance, Known, Symbol, Value
from crosscast.readers.python.fact_writer import FactWriter, place_of
from crosscast.readers.python.library_calls import canonical, last

if TYPE_CHECKING:
    from crosscast.facts.fact import Fact
    from crosscast.messages.diagnostics import Span
    from crosscast.pysource.programs.call import Call
    from crosscast.pysource.programs.module import Module
    from crosscast.trainstep.events import Event, TrainingStep

_DEEPEST = 8
_TORCH = r"torch\.nn\.(?:functional\.|modules\.loss\.)?"
_PADDLE = r"paddle\.nn\.(?:functional\.)?"
_KERAS = r"keras\.(?:losses|metrics|backend)\."
_KINDS: Sequence[tuple[str, str]] = (
    (rf"(?:{_TORCH}|{_PADDLE})(?:CrossEntropyLoss|cross_entropy)", "cross_entropy"),
    (rf"{_PADDLE}softmax_with_cross_entropy", "cross_entropy"),
    (r"tensorflow\.nn\.sparse_softmax_cross_entropy_with_logits", "cross_entropy"),
    (r"tensorflow\.losses\.sparse_softmax_cross_entropy", "cross_entropy"),
    (rf"{_KERAS}(?:SparseCategoricalC|sparse_categorical_c)rossentropy", "cross_entropy"),
    (rf"(?:{_TORCH}|{_PADDLE})(?:MSELoss|mse_loss)", "mse"),
    (rf"{_KERAS}(?:MeanSquaredError|mean_squared_error|mse|MSE)", "mse"),
    (
        rf"(?:{_TORCH}|{_PADDLE})(?:BCEWithLogitsLoss|binary_cross_entropy_with_logits)",
        "binary_cross_entropy",
    ),
    (rf"{_KERAS}(?:BinaryC|binary_c)rossentropy", "binary_cross_entropy"),
)
"""Canonical name of a class or function, and the kind of its loss."""
_OF_KERAS = {"mse": "mse", "mean_squared_error": "mse", "MSE": "mse"}
"""Names that `compile` takes and that mean the same as a kind; others take probabilities."""
_REDUCES = frozenset({"mean", "sum", "reduce_mean", "reduce_sum", "float", "cast", "to", "squeeze"})
_SCALES = frozenset({"scale", "get_scaled_loss", "scale_loss"})
_REDUCED = re.compile(r"(?:tensorflow|torch|paddle)\.(?:math\.)?(?:reduce_)?(?:mean|sum)")


@dataclass(frozen=True, slots=True)
class Found:
    """Where a loss comes from: a call of a library, or something else with its text."""

    kind: str
    """Empty for a loss that no recipe names."""
    text: str
    place: Span
    maker: Call | None = None
    """The call with the settings: of the class, or of the function itself."""


def losses_of(step: TrainingStep, reader: str) -> Iterator[Fact]:
    """Yield the facts about the loss of the backward passes that run by default."""
    passes = [e for e in step.of("backward") if e.by_default and "functional" not in e.detail]
    found: list[Found] = []
    for event in passes:
        loss = _differentiated(event)
        if loss is not None:
            found += _sources(loss, event.module, 0, set())
    yield from _facts(found, reader)


def compiled_losses(calls: Iterator[Call], reader: str) -> Iterator[Fact]:
    """Yield the facts about the losses that `compile` of Keras' models is given."""
    found: list[Found] = []
    for call in calls:
        node = call.bound().get("loss")
        if node is None or call.method != "compile" or call.receiver is None:
            continue
        value = evaluate(node, call.module)
        if isinstance(value, Known) and value.value is None:
            continue
        found.append(_of_value(value, node, call.module))
    yield from _facts(found, reader)


def _facts(found: list[Found], reader: str) -> Iterator[Fact]:
    if not found:
        return
    writer = FactWriter(reader)
    places = tuple(dict.fromkeys(loss.place for loss in found))
    texts = list(dict.fromkeys(loss.text for loss in found))
    kinds = {loss.kind for loss in found}
    makers = {id(loss.maker.node): loss.maker for loss in found if loss.maker is not None}
    if "" in kinds or len(kinds) > 1 or len({_settings(maker) for maker in makers.values()}) > 1:
        reason = "several losses" if len(texts) > 1 else "it is the program's own"
        writer.unknown("loss.kind", reason, *places, expression=" and ".join(texts)[:200])
    else:
        writer.say("loss.kind", kinds.pop(), *places)
        for maker in list(makers.values())[:1]:
            _of_settings(writer, maker)
    yield from writer.facts


def _settings(maker: Call) -> str:
    """Return the settings of a loss as text, without what it is computed of."""
    data = ("input", "target", "label", "logit", "labels", "logits", "y_true", "y_pred")
    given = sorted(maker.bound().items())
    return ", ".join(f"{n}={maker.module.text(node)}" for n, node in given if n not in data)


def _of_settings(writer: FactWriter, maker: Call) -> None:
    """Record smoothing, weights and the label that counts for nothing."""
    place = place_of(maker)
    writer.number("loss.label_smoothing", maker.argument("label_smoothing"), place)
    if not _is_nothing(maker.argument("weight")):
        writer.say("loss.class_weights", "weighted_mean", place)
    ignored = maker.argument("ignore_index")
    if ignored is not None and not (isinstance(ignored, Known) and ignored.value == -100):
        writer.number("loss.ignore_index", ignored, place)


def _is_nothing(value: Value | None) -> bool:
    return value is None or (isinstance(value, Known) and value.value is None)


def _differentiated(event: Event) -> ast.expr | None:
    """Return the loss of a backward pass."""
    call = event.node
    if not isinstance(call, ast.Call):
        return None
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    if call.args:
        return call.args[0]
    if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
        return named.get("loss", call.func.value)
    return named.get("loss", named.get("target"))


def _sources(node: ast.expr, module: Module, depth: int, seen: set[int]) -> list[Found]:
    """Return what the value of a loss comes from; empty for what is already followed."""
    if id(node) in seen:
        return []
    seen.add(id(node))
    other = [Found("", module.text(node), module.span(node))]
    if depth > _DEEPEST:
        return other
    match node:
        case ast.BinOp(left=left, op=ast.Div()):
            return _sources(left, module, depth + 1, seen)
        case ast.Name() | ast.Attribute():
            return _of_name(node, module, depth, seen) or other
        case ast.IfExp(body=body, orelse=orelse):
            first = _sources(body, module, depth + 1, seen)
            return first + _sources(orelse, module, depth + 1, seen)
        case ast.Call():
            return _of_call(node, module, depth, seen) or other
    return other


def _of_name(node: ast.expr, module: Module, depth: int, seen: set[int]) -> list[Found]:
    found: list[Found] = []
    for binding in definitions(node, module):
        statement, value = binding.node, binding.value
        if binding.kind == "augment":
            whole = binding.module.statement_of(statement)
            if isinstance(whole, ast.AugAssign) and isinstance(whole.op, ast.Div):
                continue
            return []
        if binding.kind not in ("assign", "with") or value is None or binding.path:
            return []
        found += _sources(value, binding.module, depth + 1, seen)
    return found


def _of_call(node: ast.Call, module: Module, depth: int, seen: set[int]) -> list[Found]:
    call = module.call(node)
    names = tuple(map(canonical, call.names))
    for name in names:
        if kind := _kind(name):
            return [_exact(kind, name, call, call)]
    made = evaluate(node.func, module)
    if isinstance(made, Instance):
        return [_of_value(made, node, module)]
    function = module.program.function(call) if module.program is not None else None
    if function is not None:
        return _returned(*function, depth, seen)
    attribute = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    first = node.args[0] if node.args else None
    if first is not None and (attribute in _SCALES or any(map(_REDUCED.fullmatch, names))):
        return _sources(first, module, depth + 1, seen)
    if attribute in _REDUCES and isinstance(node.func, ast.Attribute):
        return _sources(node.func.value, module, depth + 1, seen)
    return []


def _returned(module: Module, function: ast.AST, depth: int, seen: set[int]) -> list[Found]:
    """Return what a function of the program returns, if every return is followed."""
    found: list[Found] = []
    for node in walk(function):
        if isinstance(node, ast.Return) and module.function_of(node) is function:
            if node.value is None:
                return []
            found += _sources(node.value, module, depth + 1, seen)
    return found


def _of_value(value: Value, node: ast.expr, module: Module) -> Found:
    """Return the loss that an object, a function or a name for Keras is."""
    place, text = module.span(node), module.text(node)
    match value:
        case Known(value=str(name)) if name in _OF_KERAS:
            return Found(_OF_KERAS[name], text, place)
        case Symbol(name=name) if _kind(canonical(name)) == "mse":
            return Found("mse", text, place)
        case Instance(made_by=name, call=maker) if kind := _kind(canonical(name)):
            return _exact(kind, canonical(name), maker, module.call(node), place)  # type: ignore[arg-type]
    return Found("", text, place)


def _kind(name: str) -> str:
    return next((kind for pattern, kind in _KINDS if re.fullmatch(pattern, name)), "")


def _exact(kind: str, name: str, maker: Call, call: Call, place: Span | None = None) -> Found:
    """Return a loss of a kind, if its settings leave it what a recipe means by that."""
    where, text = place or place_of(call), maker.module.text(maker.node)
    if maker.has_star or not _means(kind, name, maker):
        return Found("", text, where)
    return Found(kind, text, where, maker)


def _means(kind: str, name: str, maker: Call) -> bool:
    """Whether the settings of a loss are among those of its kind in a recipe."""

    def is_(argument: str, *values: object) -> bool:
        value = maker.argument(argument)
        return value is None or (isinstance(value, Known) and value.value in values)

    is_class = last(name)[0].isupper()
    if len(maker.node.args) > (0 if is_class else 2) and not maker.parameters():
        return False  # arguments whose names are not known
    if name.startswith("keras."):
        logits = maker.argument("from_logits")
        takes_logits = isinstance(logits, Known) and logits.value is True
        plain = is_("ignore_class", None) and is_("label_smoothing", 0, 0.0) and is_("axis", -1)
        return plain and (kind == "mse" or takes_logits)
    if kind != "cross_entropy":
        own = is_("weight", None) and is_("pos_weight", None)
        return own and is_("reduction", "mean")
    if name.startswith("tensorflow."):
        return is_("weights", 1, 1.0)
    return is_("soft_label", False) and is_("use_softmax", True) and is_("axis", -1)
