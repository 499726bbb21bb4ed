"""Configurations of big_vision: `get_config()` with the name of a transformation of optax."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact, unknown
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Known, Unknown, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.library_calls import plain, value_of
from crosscast_reading.readers.python.optimizers import family_of

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

NAME = "big_vision"
_DECAYS = {
    "cosine": "cosine",
    "linear": "linear",
    "polynomial": "polynomial",
    "rsqrt": "inverse_sqrt",
    "stair": "multistep",
}
_LOSSES = {"softmax_xent": "cross_entropy of probabilities", "sigmoid_xent": "sum over classes"}
_WARMUPS = ("warmup_steps", "warmup_epochs", "warmup_examples", "warmup_percent")
_FAMILIES = {"scale_by_adam": "adam", "scale_by_lion": "lion", "big_vision.sgd": "sgd",
             "big_vision.momentum_hp": "sgd", "big_vision.scale_by_adafactor": ""}  # fmt: skip
Entries = Mapping[str, ast.expr]


class BigVisionReader:
    """Reads the configurations of `big_vision.train` and the trainers like it."""

    name = NAME
    hints = ("optax_name",)

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts of every module that is such a configuration."""
        for module in program.modules:
            entries = _entries(module)
            if "optax_name" in entries and "schedule" in entries:
                yield from _Config(module, entries).facts()


def _entries(module: Module) -> dict[str, ast.expr]:
    """Return the values that `get_config` assigns to `config.x.y`, and those within `dict(...)`."""
    function = module.functions.get("get_config")
    entries: dict[str, ast.expr] = {}
    for node in walk(function) if function is not None else ():
        match node:
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                head, _, path = module.text(target).partition(".")
                if head != "config" or module.function_of(node) is not function:
                    continue
                entries[path] = value
                entries |= {f"{path}.{key}": each for key, each in _parts(value)}
    return entries


def _parts(value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match value:
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
            yield from ((k.arg, k.value) for k in keywords if k.arg is not None)
        case ast.Dict(keys=keys, values=values):
            for key, each in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, each


class _Config:
    """One configuration, and the facts about it."""

    def __init__(self, module: Module, entries: Entries) -> None:
        self._module = module
        self._entries = entries

    def facts(self) -> Iterator[Fact]:
        """Yield the facts of all entries."""
        home = self._module.span(self._entries["optax_name"])
        yield fact_of("framework", Known("jax", "presence"), home, reader=NAME)
        yield fact_of("zero_grad.where", Known("functional"), home, reader=NAME)
        yield from self._optimizer()
        yield from self._schedule()
        yield from self._clip()
        yield from self._told("batch.global_batch_size", "input.batch_size")
        yield from self._told("seed", "seed")
        yield from self._told("schedule.total_steps", "total_steps")
        yield from self._told("run.epochs", "total_epochs")
        yield from self._loss()
        reason = "the types of its modules are in another file"
        if not any(path.endswith(("dtype_mm", ".dtype")) for path in self._entries):
            yield unknown("precision.mode", reason, home, reader=NAME)

    def _value(self, path: str) -> Value | None:
        return value_of(self._entries.get(path), self._module)

    def _told(self, field: str, path: str) -> Iterator[Fact]:
        value = self._value(path)
        if isinstance(value, Known) and not isinstance(value.value, int | float):
            return
        if value is not None:
            yield self._fact(field, value, path)

    def _fact(self, field: str, value: Value, *paths: str) -> Fact:
        spans = [self._module.span(self._entries[path]) for path in paths]
        return fact_of(field, value, *spans, reader=NAME)

    def _optimizer(self) -> Iterator[Fact]:
        """Yield the optimizer; its decay is not multiplied by `lr`, that of a recipe is."""
        name = plain(self._value("optax_name"))
        family = _FAMILIES.get(str(name), family_of(str(name)))
        decay, rate = self._value("wd"), self._value("lr")
        if family == "adam" and decay is not None:
            family = "adamw"
        if not family or isinstance(self._entries.get("lr_mults"), ast.expr):
            yield unknown("optimizer.name", f"{name} of optax", self._place("optax_name"),
                          reader=NAME)  # fmt: skip
            return
        yield self._fact("optimizer.name", Known(family), "optax_name")
        yield self._fact("optimizer.source_name", Known(f"optax.{name}"), "optax_name")
        yield from self._told("optimizer.learning_rate", "lr")
        for key, field in (("b1", "betas.0"), ("b2", "betas.1"), ("eps", "eps"),
                           ("momentum", "momentum")):  # fmt: skip
            yield from self._told(f"optimizer.{field}", f"optax.{key}")
        match plain(decay), plain(rate):
            case (int() | float() as share, int() | float() as peak) if peak and decay:
                ratio = Known(share / peak, "derived")
                yield self._fact("optimizer.weight_decay", ratio, "wd", "lr")
            case _ if decay is not None:
                yield unknown("optimizer.weight_decay", "it is not multiplied by the rate",
                              self._place("wd"), reader=NAME)  # fmt: skip
        if decay is not None:
            reason = "only kernels decay" if "wd_mults" not in self._entries else "patterns decide"
            yield unknown("optimizer.no_decay", reason, self._place("wd"), reader=NAME)

    def _place(self, path: str) -> Span:
        return self._module.span(self._entries[path])

    def _schedule(self) -> Iterator[Fact]:
        kind = plain(self._value("schedule.decay_type"))
        place = self._place("schedule")
        if isinstance(self._entries["schedule"], ast.List):
            yield unknown("schedule.name", "parts of the weights have their own", place,
                          reader=NAME)  # fmt: skip
            return
        if isinstance(kind, str) and kind in _DECAYS:
            yield self._fact("schedule.name", Known(_DECAYS[kind]), "schedule.decay_type")
        else:
            yield unknown("schedule.name", f"a schedule called {kind!r}", place, reader=NAME)
        yield self._fact("schedule.stepped_per", Known("step"), "schedule")
        path = next((p for w in _WARMUPS if (p := f"schedule.{w}") in self._entries), "")
        yield self._fact("schedule.has_warmup", Known("yes" if path else "no"), path or "schedule")
        if path:
            length = plain(self._value(path))
            steps = path.endswith("steps") and isinstance(length, int)
            text = f"{length} steps" if steps else self._module.text(self._entries[path])
            yield self._fact("schedule.warmup", Known(text), path)
        if kind == "cosine":
            yield self._fact("recipe.schedule.end_lr", Known(0.0, "presence"), "schedule")

    def _clip(self) -> Iterator[Fact]:
        value = self._value("grad_clip_norm")
        if value is None or (isinstance(value, Known) and value.value is None):
            yield self._fact("clipping.kind", Known("none"), "optax_name")
            return
        yield self._fact("clipping.kind", Known("global_norm"), "grad_clip_norm")
        yield self._fact("clipping.per", Known("step"), "grad_clip_norm")
        yield self._fact("clipping.value", value, "grad_clip_norm")

    def _loss(self) -> Iterator[Fact]:
        """Yield the name of the loss, whose labels have a value for every class."""
        value = self._value("loss")
        if isinstance(value, Known) and value.value in _LOSSES:
            told = Unknown(str(value.value), _LOSSES[str(value.value)])
            yield self._fact("loss.kind", told, "loss")


READER = BigVisionReader()
