"""Attention and encoder layers of libraries, as the layers and operations that they consist of.

A network has one kind of mask: true where a query looks at a key, or numbers that are added to the
scores. The libraries have several, each an argument of the call in their tables: `pads` marks keys
that no query looks at, `hides` pairs of a query and a key that it does not look at, `shows` and
`shows_rows` pairs that it does look at; `causal` says that queries look at no later key. Numbers in
a mask are added to the scores where the table says `adds_numbers`; elsewhere they are truths.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crosscast.messages.diagnostics import Span
from crosscast_migrate.models.initials import GLOROT, Drawn, constant, uniform
from crosscast_migrate.models.network import Network, Step, UnreadableError
from crosscast_migrate.models.objects import Initializer, LayerObject, Opaque, Tensor
from crosscast_migrate.models.rows import Reading
from crosscast_migrate.models.slices import SizeOf
from crosscast_migrate.models.tensor_calls import valued

if TYPE_CHECKING:
    from crosscast_migrate.models.graph import Graph
    from crosscast_migrate.models.machine import ModelMachine

_HIDDEN = -30000.0
"""The score of a key that a query does not look at: no weight is left of it, and half precision has
the number. Where a query looks at nothing, all keys weigh the same."""
_GLOROT = "glorot_uniform"
_LINEAR = Reading("linear")
_NORM = Reading("layer_norm")
_DROPOUT = Reading("dropout")


def part(layer: LayerObject, word: str, reading: Reading, settings: dict[str, Any]) -> LayerObject:
    """Return a layer that a layer consists of, the same at every call."""
    if word not in layer.parts:
        made = LayerObject(reading, settings, layer.span, f"{layer.name}_{word}")
        layer.parts[word] = made
    return layer.parts[word]


def attention(
    machine: ModelMachine, layer: LayerObject, call: Mapping[str, Any], span: Span | None
) -> Any:
    """Return the value of attention of several heads, with its four linear layers."""
    graph, settings = machine.graph, layer.settings
    query, key, value = (call.get(word) for word in ("query", "key", "value"))
    if key is None:
        key = value if settings.get("key_is") == "value" else query
    if value is None:
        value = query if settings.get("value_is") == "query" else key
    inputs = [valued(machine, each) for each in (query, key, value)]
    _values(inputs, span)
    is_turned = _is_turned(inputs, settings, span)
    inputs = [replace(each, is_turned=False) for each in inputs]
    wide, heads = settings.get("width") or settings.get("query_size"), settings["heads"]
    shape = graph.shape(inputs[0])
    wide = wide or (shape[-1] if shape is not None else None)
    if wide is None:
        reason = "the size of the input of a layer (attention) is not in the source"
        raise UnreadableError(reason, span)
    depth = settings.get("depth") or wide // heads
    query_size = settings.get("query_size") or wide
    last = [shape[-1] if shape is not None else None for shape in map(graph.shape, inputs)]
    key_size = settings.get("key_size") or last[1] or query_size
    sizes = (query_size, key_size, settings.get("value_size") or last[2] or key_size)
    projected = []
    for word, each, size in zip(("q", "k", "v"), inputs, sizes, strict=True):
        linear = _projection(layer, word, size, heads * depth)
        graph.learn(each, (None, None, size))
        projected.append(_split(graph, graph.apply_layer(linear, [each]), heads, depth))
    mask = masks(machine, call, span, adds_numbers=settings.get("adds_numbers", False))
    given = {"causal": call.get("causal"), "rate": settings.get("rate")}
    if given["rate"] and settings.get("shares_dropout"):
        graph.note("dropout of attention is drawn for each row and head, not once for all of them")
    looked = attend(graph, layer, projected, mask, given, span)
    joined = _joined(graph, looked, heads * depth)
    out = _projection(layer, "out", heads * depth, settings.get("out_size") or query_size)
    result = replace(graph.apply_layer(out, [joined]), is_turned=is_turned)
    if settings.get("returns") != "pair":
        return result
    return result, Opaque("the weights of attention are not carried", span, is_cause=True)


def _values(inputs: Sequence[Any], span: Span | None) -> None:
    for each in inputs:
        if isinstance(each, Opaque):
            raise UnreadableError(each.text, each.span)
        if not isinstance(each, Tensor):
            raise UnreadableError("a layer gets something that is no value of the model", span)


def _is_turned(inputs: Sequence[Tensor], settings: Mapping[str, Any], span: Span | None) -> bool:
    """Return whether the steps come first in values, where a layer can take them so."""
    turned = {each.is_turned for each in inputs}
    if len(turned) > 1 or turned == {settings.get("rows_first", True)}:
        raise UnreadableError(
            "a layer takes the rows on another axis than its input has them", span
        )
    return turned == {True}


def _projection(layer: LayerObject, word: str, inputs: int, units: int) -> LayerObject:
    settings: dict[str, Any] = {"inputs": inputs, "units": units}
    settings["bias"] = layer.settings.get("bias", True)
    for name in ("weight_initial", "bias_initial"):
        if name in layer.settings:
            settings[name] = layer.settings[name]
    if layer.settings.get("initial") == "packed":
        # The first three are one weight there, whose fan out is that of all three.
        packed: Drawn = uniform((6 / (inputs + 3 * units)) ** 0.5)
        own = [layer.settings.get(name) for name in ("key_size", "value_size")]
        is_packed = all(size in (None, units) for size in own)
        if word != "out":
            settings["weight_initial"] = Initializer(packed if is_packed else GLOROT)
        settings["bias_initial"] = Initializer(constant(0.0))
    if layer.settings.get("initial") == "by heads" and settings["weight_initial"] == _GLOROT:
        # The weight has an axis of the heads, which counts as a window.
        heads = layer.settings["heads"]
        fans = (inputs * heads + inputs * units / heads, inputs + heads * units)
        bound = (6 / fans[word == "out"]) ** 0.5
        settings["weight_initial"] = Initializer(uniform(bound))
    return part(layer, word, _LINEAR, settings)


def _split(graph: Graph, value: Tensor, heads: int, depth: int) -> Tensor:
    """Return a value as (rows, heads, steps, depth)."""
    shape = (None, SizeOf(0, 1), heads, depth)
    return graph.apply(
        "permute", [graph.apply("reshape", [value], {"shape": shape})], {"axes": (0, 2, 1, 3)}
    )


def _joined(graph: Graph, value: Tensor, width: int) -> Tensor:
    back = graph.apply("permute", [value], {"axes": (0, 2, 1, 3)})
    return graph.apply("reshape", [back], {"shape": (None, SizeOf(0, 1), width)})


def masks(
    machine: ModelMachine, call: Mapping[str, Any], span: Span | None, *, adds_numbers: bool
) -> Tensor | None:
    """Return where queries look at keys; None if they look at all.

    Args:
        machine: reads the model.
        call: the arguments with masks.
        span: of the call.
        adds_numbers: whether the library adds a mask of numbers to the scores.

    Raises:
        UnreadableError: a mask is not known, or whether it is true and false or numbers.
    """
    graph = machine.graph
    shown: list[Tensor] = []
    for word in ("pads", "hides", "shows", "shows_rows"):
        given = valued(machine, call.get(word))
        if given is None:
            continue
        _values([given], span)
        is_truth = given.number in graph.truths
        if word == "pads":
            if not is_truth:
                raise UnreadableError("a mask of keys that is not true or false", span)
            given = graph.apply("unsqueeze", [given], {"axis": 1})
            given = graph.apply("unsqueeze", [given], {"axis": 2})
        if not is_truth and not (adds_numbers and graph.is_real(given)):
            raise UnreadableError("a mask that may be true and false or numbers", span)
        shape = graph.shape(given)
        if word == "shows_rows":
            if shape is None:
                raise UnreadableError("a mask of which the axes are not known", span)
            if len(shape) == 3:
                given = graph.apply("unsqueeze", [given], {"axis": 1})
        if word == "hides" and shape is not None and len(shape) > 2:
            raise UnreadableError("a mask for every head is not carried", span)
        if word in ("pads", "hides") and is_truth:
            given = graph.apply("not", [given], {})
        shown.append(given)
    if len(shown) < 2:
        return shown[0] if shown else None
    if not {each.number for each in shown} <= graph.truths:
        raise UnreadableError("a mask of numbers beside another one is not carried", span)
    return graph.apply("and", shown, {})


def attend(
    graph: Graph,
    owner: LayerObject,
    values: Sequence[Tensor],
    mask: Tensor | None,
    call: Mapping[str, Any],
    span: Span | None,
) -> Tensor:
    """Return the values that queries attend to, each (rows, heads, steps, depth).

    Args:
        graph: the steps.
        owner: the layer, or what stands for a function, which the dropout belongs to.
        values: queries, keys and values.
        mask: where queries look at keys, or what is added to their scores.
        call: `causal`, `rate` and `scale`.
        span: of the call.
    """
    shapes = [graph.shape(each) for each in values]
    depth = next((shape[-1] for shape in shapes[:2] if shape is not None and shape[-1]), None)
    scale = call.get("scale") or (depth**-0.5 if depth is not None else None)
    causal = bool(call.get("causal"))
    adds = mask is not None and mask.number not in graph.truths
    if causal and mask is not None:
        if adds:
            raise UnreadableError("a mask of numbers beside another one is not carried", span)
        before = graph.apply("causal", values[:2], {})
        graph.rowless.add(before.number)
        mask, causal = graph.apply("and", [mask, before], {}), False
    settings = {"causal": causal, "adds": adds, "scale": scale}
    inputs = [*values, *([mask] if mask is not None else [])]
    rate = call.get("rate") or 0.0
    if not rate:
        return graph.apply("attend", inputs, settings)
    looks = weights_of(lambda *step: graph.apply(*step), inputs, settings)
    dropped = graph.apply_layer(part(owner, "dropout", _DROPOUT, {"rate": rate}), [looks])
    return graph.apply("matmul", [dropped, values[2]], {})


def weights_of(
    apply: Callable[[str, list[Any], dict[str, Any]], Any],
    inputs: Sequence[Any],
    settings: Mapping[str, Any],
) -> Any:
    """Return how much queries take of every value, computed step by step.

    Args:
        apply: adds a step; returns its value.
        inputs: those of the attention.
        settings: of the attention.

    Raises:
        UnreadableError: the size of the heads is not known.
    """
    query, key, _, *masked = inputs
    if settings["scale"] is None:
        raise UnreadableError("attention of heads of which no size is known")
    turned = apply("swap", [key], {"first": 2, "second": 3})
    scores = apply("matmul", [query, turned], {})
    scores = apply("scale", [scores], {"scale": settings["scale"], "offset": 0.0})
    if settings["adds"]:
        scores = apply("add", [scores, masked[0]], {})
    elif masked or settings["causal"]:
        shown = masked[0] if masked else apply("causal", [query, key], {})
        hidden = apply("not", [shown], {})
        scores = apply("fill", [scores, hidden], {"value": _HIDDEN})
    return apply("softmax", [scores], {"axis": -1})


def with_attention(network: Network, operations: Collection[str]) -> Network:
    """Return a model whose attention is in steps that a target has.

    Args:
        network: the model.
        operations: what the target has.
    """
    if "attend" in operations or not any(step.kind == "attend" for step in network.steps):
        return network
    steps: list[Step] = []
    shapes = dict(network.shapes)
    last = max((step.output for step in network.steps), default=0)

    def apply(kind: str, inputs: list[int], settings: dict[str, Any]) -> int:
        nonlocal last
        last += 1
        steps.append(Step(kind, tuple(inputs), last, settings))
        return last

    for step in network.steps:
        if step.kind == "attend":
            looks = weights_of(apply, step.inputs, step.settings)
            steps.append(Step("matmul", (looks, step.inputs[2]), step.output))
        else:
            steps.append(step)
    return replace(network, steps=tuple(steps), shapes=shapes)


def encoder_layer(
    machine: ModelMachine, layer: LayerObject, call: Mapping[str, Any], span: Span | None
) -> Any:
    """Return the value of a layer of an encoder: attention and two linear layers."""
    graph, settings = machine.graph, layer.settings
    value = valued(machine, call["value"])
    _values([value], span)
    wide, rate = settings["width"], settings["rate"]
    inside: dict[str, Any] = {
        name: settings[name]
        for name in ("width", "heads", "bias", "rows_first", "initial", "adds_numbers")
        if name in settings
    }
    for name in ("weight_initial", "bias_initial"):
        if settings.get(name) is not None:
            raise UnreadableError("initial weights of an encoder are not carried", span)
    looking_rate = settings.get("attention_rate")
    inside["rate"] = rate if looking_rate is None else looking_rate
    looking = part(layer, "self_attn", Reading("attention"), inside)
    inner_rate = settings.get("inner_rate")
    inner_rate = rate if inner_rate is None else inner_rate

    def normalized(word: str, each: Tensor) -> Tensor:
        norm = {"shape": (wide,), "eps": settings["eps"], "affine": True}
        norm["shift"] = settings.get("bias", True)
        return graph.apply_layer(part(layer, word, _NORM, norm), [each])

    def linear(word: str, inputs: int, units: int, each: Tensor) -> Tensor:
        sizes = {"inputs": inputs, "units": units, "bias": settings.get("bias", True)}
        return graph.apply_layer(part(layer, word, _LINEAR, sizes), [each])

    def dropped(word: str, each: Tensor, share: float) -> Tensor:
        if not share:
            return each
        return graph.apply_layer(part(layer, word, _DROPOUT, {"rate": share}), [each])

    def looked(each: Tensor) -> Tensor:
        attended = attention(machine, looking, {**call, "query": each, "value": each}, span)
        return dropped("dropout1", attended, rate)

    def fed(each: Tensor) -> Tensor:
        from crosscast_migrate.models.calls import activated

        each = linear("linear1", wide, settings["hidden"], each)
        each = activated(machine, settings["activation"], each, span)
        each = dropped("dropout", each, inner_rate)
        return dropped("dropout2", linear("linear2", settings["hidden"], wide, each), rate)

    if settings["norm_first"]:
        value = graph.apply("add", [value, looked(normalized("norm1", value))], {})
        return graph.apply("add", [value, fed(normalized("norm2", value))], {})
    value = normalized("norm1", graph.apply("add", [value, looked(value)], {}))
    return normalized("norm2", graph.apply("add", [value, fed(value)], {}))


def encoder(
    machine: ModelMachine, layer: LayerObject, call: Mapping[str, Any], span: Span | None
) -> Any:
    """Return the value of an encoder: copies of a layer, and a normalization."""
    copied, norm = layer.settings["layer"], layer.settings["norm"]
    is_layer = isinstance(copied, LayerObject) and copied.reading.kind == "encoder_layer"
    if not is_layer or copied.drawn or not isinstance(norm, LayerObject | None):
        raise UnreadableError("the layers of an encoder are not known", span)
    value = call["value"]
    for number in range(layer.settings["count"]):
        one = part(layer, f"layers_{number}", copied.reading, copied.settings)
        value = encoder_layer(machine, one, {**call, "value": value}, span)
    if norm is None:
        return value
    norm.name = norm.name or f"{layer.name}_norm"
    return machine.graph.apply_layer(norm, [value])


def scaled_attention(
    machine: ModelMachine, call: Mapping[str, Any], settings: Mapping[str, Any], span: Span | None
) -> Any:
    """Return the value of the function: attention of values that are split into heads."""
    graph = machine.graph
    values = [valued(machine, call[word]) for word in ("query", "key", "value")]
    _values(values, span)
    heads_last = settings.get("heads_last", False)
    if heads_last:
        values = [graph.apply("permute", [each], {"axes": (0, 2, 1, 3)}) for each in values]
    owner = LayerObject(_DROPOUT, {}, span, f"attention_{len(graph.steps)}")
    if call.get("training") is False:
        call = {**call, "rate": 0.0}
    if call.get("rate") and call.get("training", True) is True:
        graph.note("attention that also drops in evaluation drops only in training here")
    shape = graph.shape(values[0])
    if shape is not None and len(shape) != 4:
        raise UnreadableError("attention without an axis of heads is not carried", span)
    mask = masks(machine, call, span, adds_numbers=settings.get("adds_numbers", False))
    attended = attend(graph, owner, values, mask, call, span)
    return graph.apply("permute", [attended], {"axes": (0, 2, 1, 3)}) if heads_last else attended


COMPOSED = {"attention": attention, "encoder_layer": encoder_layer, "encoder": encoder}
"""Kinds of layers to what their call computes."""
