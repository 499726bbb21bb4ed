"""The list of steps while a forward pass is being read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from crosscast_migrate.models import initials
from crosscast_migrate.models.initials import Drawn, constant
from crosscast_migrate.models.network import (
    Initial,
    Layer,
    Network,
    Shape,
    Step,
    UnreadableError,
)
from crosscast_migrate.models.objects import (
    Constant,
    Initializer,
    LayerObject,
    Library,
    Opaque,
    Tensor,
)
from crosscast_migrate.models.settings import normalized
from crosscast_migrate.models.shapes import PAIRWISE, POINTWISE, completed, inferred
from crosscast_migrate.models.tables import ModelTables

KEPT = frozenset(
    {
        *("linear", "conv", "batch_norm", "layer_norm", "embedding", "dropout", "known_model"),
        "recurrent",
    }
)
"""Kinds that become a layer of the migrated model; all others become operations."""
NORMS = frozenset({"batch_norm", "layer_norm"})
_OF_NORMS: Mapping[str, Drawn] = {"weight": constant(1.0), "bias": constant(0.0)}
"""What normalizations start from, whatever the framework is."""
_UNNEEDED = frozenset({"identity"})
_VIEWS = frozenset(
    {"flatten", "reshape", "permute", "unsqueeze", "squeeze", "part", "slice", "swap"}
)
"""Operations whose results share the memory of their input."""


_TRUTHS = frozenset({"compare", "not", "and", "or", "causal"})
"""Operations whose results are true or false."""
_MOVES = frozenset({*_VIEWS, "concat", "stack", "expand_rows"})
"""Operations whose results have the type of their inputs."""
_BY_POSITION = frozenset(
    {
        *(POINTWISE | PAIRWISE | _TRUTHS),
        *("linear", "layer_norm", "embedding", "power", "number", "fill"),
    }
)
"""Operations that treat all steps of all rows alike."""
_REDUCTIONS = frozenset({"mean", "sum", "max"})


class Graph:
    """Steps, layers and shapes of a model."""

    def __init__(self, source: ModelTables) -> None:
        self.source = source
        self.channels = source.channels
        self.steps: list[Step] = []
        self.layers: list[LayerObject] = []
        self.shapes: dict[int, Shape] = {}
        self.notes: list[str] = []
        self.rowless: set[int] = set()
        """Values that have no axis of the rows, as tables of positions."""
        self.truths: set[int] = set()
        """Values that are true or false."""
        self.whole: set[int] = set()
        """Values of constants that are whole numbers."""
        self._values = 0
        self._overwritten: set[int] = set()
        self._constants: dict[int, Tensor] = {}
        self._kept: list[Constant] = []

    def value(self, shape: Shape | None = None) -> Tensor:
        """Return a new value."""
        number = self._values
        self._values += 1
        if shape is not None:
            self.shapes[number] = shape
        return Tensor(number)

    def shape(self, tensor: Tensor) -> Shape | None:
        """Return the shape of a value."""
        return self.shapes.get(tensor.number)

    def apply(
        self, kind: str, inputs: Sequence[Tensor], settings: Mapping[str, Any], layer: str = ""
    ) -> Tensor:
        """Add a step; return its value."""
        if kind in _UNNEEDED:
            return inputs[0]
        if any(tensor.is_turned for tensor in inputs):
            return self._turned(kind, inputs, settings, layer)
        self._unchanged(inputs)
        if kind == "concat":
            inputs = self._with_rows(inputs)
        shapes = [self.shape(tensor) for tensor in inputs]
        output = self.value(inferred(kind, settings, shapes, self.channels))
        numbers = tuple(tensor.number for tensor in inputs)
        self.steps.append(
            Step("layer" if layer else kind, numbers, output.number, dict(settings), layer)
        )
        if numbers and self._is_rowless(kind, numbers):
            self.rowless.add(output.number)
        if kind in _TRUTHS or (kind in _MOVES and self.truths.issuperset(numbers[:1])):
            self.truths.add(output.number)
        return output

    def is_real(self, tensor: Tensor) -> bool:
        """Whether a value has real numbers for certain; the types of inputs are not known."""
        made = {step.output: step for step in self.steps}
        number = tensor.number
        while number in made and made[number].kind in _MOVES:
            number = made[number].inputs[0]
        return number in made and number not in self.truths | self.whole

    def _is_rowless(self, kind: str, numbers: Sequence[int]) -> bool:
        """Whether a result has no axis of the rows; views have further inputs for their sizes."""
        return self.rowless.issuperset(numbers[:1] if kind in _VIEWS else numbers)

    def learn(self, tensor: Tensor, shape: Shape) -> None:
        """Put down the shape of a value, which a step needs, and what follows from it."""
        if tensor.number in self.shapes:
            return
        made = {step.output: step for step in self.steps}
        kinds = {layer.name: layer.reading.kind for layer in self.layers}
        todo = [(tensor.number, shape)]
        while todo:
            number, sizes = todo.pop()
            if number in self.shapes:
                continue
            self.shapes[number] = sizes
            step = made.get(number)
            if step is None:
                continue
            kind = kinds.get(step.layer, step.kind)
            if kind in POINTWISE or kind == "layer_norm":
                todo.append((step.inputs[0], sizes))
            elif kind in PAIRWISE:
                unknown = (None,) * len(sizes)
                todo += [(n, unknown) for n in step.inputs if n not in self.rowless]
            elif kind == "embedding":
                todo.append((step.inputs[0], sizes[:-1]))
            elif kind == "linear":
                todo.append((step.inputs[0], (*sizes[:-1], step.settings["inputs"])))
        for step in self.steps:
            if step.output not in self.shapes:
                kind = kinds.get(step.layer, step.kind)
                shapes = [self.shapes.get(number) for number in step.inputs]
                computed = inferred(kind, step.settings, shapes, self.channels)
                if computed is not None:
                    self.shapes[step.output] = computed

    def constant(self, held: Constant) -> Tensor:
        """Return constants as a value."""
        if id(held) not in self._constants:
            output = self.value(held.shape)
            taken = {step.settings["name"] for step in self.steps if step.kind == "constant"}
            name = held.name or "constant"
            if name in taken:
                name = next(f"{name}_{n}" for n in range(2, 1000) if f"{name}_{n}" not in taken)
            settings = {"name": name, "text": held.text, "before": held.before}
            self.steps.append(Step("constant", (), output.number, settings))
            self.rowless.add(output.number)
            if held.kind == "bool":
                self.truths.add(output.number)
            if held.kind == "int64":
                self.whole.add(output.number)
            self._kept.append(held)
            self._constants[id(held)] = output
        return self._constants[id(held)]

    def positions(self, of: Tensor, axis: int) -> Tensor:
        """Return the numbers 0, 1, ... along an axis of a value."""
        output = self.value((None,))
        self.steps.append(Step("positions", (of.number,), output.number, {"axis": axis}))
        self.rowless.add(output.number)
        return output

    def _with_rows(self, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        """Return values to be joined: those without rows are repeated for every row."""
        rowed = [tensor for tensor in inputs if tensor.number not in self.rowless]
        if not rowed:
            return inputs
        return [
            tensor if tensor in rowed else self.apply("expand_rows", [tensor, rowed[0]], {})
            for tensor in inputs
        ]

    def _turned(
        self, kind: str, inputs: Sequence[Tensor], settings: Mapping[str, Any], layer: str
    ) -> Tensor:
        """Add a step of values whose second axis the source has first."""
        ranks = {len(shape) for t in inputs if t.is_turned and (shape := self.shape(t)) is not None}
        rank = max(ranks, default=3)  # steps, rows and their numbers, if nothing else is known
        plain = [self._unturned(tensor, rank) for tensor in inputs]
        axis = settings.get("axis")
        last = kind in ("softmax", "log_softmax", "concat") and axis in (-1, 2)
        if kind in _BY_POSITION or last:
            return replace(self.apply(kind, plain, settings, layer), is_turned=True)
        if kind in _REDUCTIONS and axis == (0,) and not settings["keepdims"]:
            return self.apply(kind, plain, {**settings, "axis": (1,)}, layer)
        raise UnreadableError(f"{kind} of values that have the rows on their second axis")

    def _unturned(self, tensor: Tensor, rank: int) -> Tensor:
        """Return a value with its rows first, as others of a number of axes."""
        if tensor.is_turned:
            return replace(tensor, is_turned=False)
        shape = self.shape(tensor)
        if tensor.number not in self.rowless or shape is None:
            raise UnreadableError("values with the rows on the first axis and on the second")
        if len(shape) < rank and (len(shape) < rank - 1 or shape[0] == 1):
            return tensor  # its axes are the last ones of the other value
        if len(shape) != rank:
            raise UnreadableError("a value with one number for every row of a batch")
        axes = (1, 0, *range(2, len(shape)))
        return self.apply("permute", [tensor], {"axes": axes})

    def apply_layer(self, layer: LayerObject, inputs: Sequence[Tensor]) -> Tensor:
        """Add the step of a layer of the library."""
        kind = layer.reading.kind
        if layer.reading.note:
            self.note(layer.reading.note)
        settings = normalized(kind, layer.settings, layer.span)
        training = settings.pop("training", None)
        if training is False and kind == "dropout":
            return inputs[0]
        if training is True and kind == "dropout":
            self.note("dropout without `training=` also drops in evaluation; here it does not")
        completed(kind, settings, self.shape(inputs[0]), self.channels)
        if kind not in KEPT:
            plain = {name: value for name, value in settings.items() if name != "inplace"}
            output = self.apply(kind, inputs, plain)
        else:
            if layer not in self.layers:
                self.layers.append(layer)
                layer.name = layer.name or f"{kind}_{len(self.layers) - 1}"
            output = self.apply(kind, inputs, settings, layer.name)
        if settings.get("inplace"):
            self.overwrite(inputs[0])
        return output

    def overwrite(self, tensor: Tensor) -> None:
        """Remember that a value, with its views, has been changed in place."""
        made = {step.output: step for step in self.steps}
        number = tensor.number
        while number in made and made[number].kind in _VIEWS:
            number = made[number].inputs[0]
        self._overwritten.add(number)
        for step in self.steps:
            if step.kind in _VIEWS and step.inputs[0] in self._overwritten:
                self._overwritten.add(step.output)

    def _unchanged(self, tensors: Sequence[Tensor]) -> None:
        if any(tensor.number in self._overwritten for tensor in tensors):
            raise UnreadableError("a value is used after it was changed in place")

    def note(self, sentence: str) -> None:
        """Remember what of the model is not carried."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def network(self, title: str, inputs: Sequence[str], output: Tensor) -> Network:
        """Return the model that was read."""
        self._unchanged([output])
        layers = tuple(self._layer(layer) for layer in self.layers)
        names = {layer.name for layer in layers}
        if len(names) < len(layers):
            raise UnreadableError("two layers have one name")
        settings = {layer.name: layer.settings for layer in layers}
        return Network(
            title=title,
            source=self.source.backend,
            channels=self.channels,
            inputs=tuple(inputs),
            layers=layers,
            steps=tuple(
                Step(
                    step.kind,
                    step.inputs,
                    step.output,
                    settings.get(step.layer, step.settings),
                    step.layer,
                )
                for step in self.steps
            ),
            output=output.number,
            shapes=dict(self.shapes),
            notes=tuple(self.notes),
        )

    def _recurrent(self, made: LayerObject) -> Layer:
        """Return a recurrent layer; its weights start as those of its library, or as they may."""
        settings = dict(made.settings)
        initial: dict[str, Initial | None] = {}
        for name, drawn in self.source.initials.get("recurrent", {}).items():
            initial[name] = drawn((settings["units"], settings["units"]))
        if not initial:
            self.note(f"what the weights of {made.name} start from is not carried")
        return Layer(made.name, "recurrent", settings, initial)

    def _layer(self, made: LayerObject) -> Layer:
        if made.reading.kind == "recurrent":
            return self._recurrent(made)
        kind, settings = made.reading.kind, dict(made.settings)
        given = {name: settings.pop(f"{name}_initial", None) for name in ("weight", "bias")}
        for name in ("activation", "training", "inplace", "input_shape", "input_dim"):
            settings.pop(name, None)
        if kind in ("linear", "conv"):
            settings.setdefault("bias", given["bias"] is not False)
            settings["bias"] = bool(settings["bias"])
        initial: dict[str, Initial | None] = {}
        reading = self.source.reading
        named = reading.initializer_names if reading is not None else {}
        defaults = _OF_NORMS if kind in NORMS else self.source.initials.get(kind, {})
        for name, default in defaults.items():
            if not _has(name, kind, settings):
                continue
            source = made.drawn.get(name, given[name]) if name in made.drawn else given[name]
            maker = source.of if isinstance(source, Initializer) else source
            if maker in (None, True, False) and name not in made.drawn:
                maker = default
            if isinstance(maker, str | Library):
                maker = named.get(maker.name if isinstance(maker, Library) else maker)
            if maker is None or isinstance(maker, Opaque) or not callable(maker):
                initial[name] = None
                self.note(f"what the {name} of {made.name} starts from is not carried")
                continue
            initial[name] = maker(initials.fans(kind, settings))
        return Layer(made.name, kind, settings, initial)


def _has(name: str, kind: str, settings: Mapping[str, Any]) -> bool:
    """Whether a layer has its `weight` or its `bias`."""
    if kind in NORMS:
        affine = settings["affine"]
        return bool(affine if name == "weight" else settings.get("shift", affine))
    return name == "weight" or bool(settings.get("bias", True))
