"""What the computation of a learning rate reads: progress, settings, and stand-ins for others."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.evaluation.bindings import default_of
from crosscast_reading.pysource.machine.frames import Closure
from crosscast_reading.pysource.machine.functions import Array
from crosscast_reading.pysource.machine.numbers import NumberMachine
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.names.reaching_assignments import condition_of
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.pysource.values.budget import NoValueError
from crosscast_reading.pysource.values.value import Choice, Known, Symbol, Unknown, Value
from crosscast_reading.readers.python.library_calls import parts_of
from crosscast_reading.readers.python.run_progress import Progress, progress_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_LOADERS = frozenset(
    {"loader", "dataloader", "train", "data", "batches", "dl", "loaders", "dataset"}
)
_PROCESSES = frozenset({"get_world_size", "size", "world_size", "get_num_workers", "worker_num"})
"""Functions that return the number of processes."""
_BASES = frozenset({"base_lrs", "initial_lr"})
"""What the rates of groups are called that the optimizer was made with."""
_RATES = frozenset({"lr", "rate", "eta", "lrs"})
_LAST = frozenset({"min", "final", "end", "stop", "last"})
_WARM = frozenset({"warm", "warmup", "rampup"})
_UNITS = frozenset({"step", "steps", "iter", "iters", "iterations", "updates", "epoch", "epochs"})
_SHARES = frozenset({"ratio", "factor", "frac", "fraction", "proportion", "pct", "gamma", "power"})
_LENGTHS = frozenset({"total", "max", "num", "n", "training", "train", "decay", "t"})
_TOTALS = frozenset({"epochs", "steps", "iterations", "iters", "nepochs"})
_GROUPS = frozenset({"scale", "mult", "multiplier"})


@dataclass(frozen=True, slots=True)
class StandIns:
    """Numbers for what a source does not say; a result that is the same for two sets is read."""

    processes: int
    per_epoch: int
    warmup: int
    warmup_epochs: int
    total: int
    epochs: int
    highest: float
    lowest: float

    def named(self, name: str) -> float:
        """Return the number for a name.

        Raises:
            NoValueError: its meaning is not plain from its words.
        """
        words = parts_of(name)
        if words & _SHARES:
            raise NoValueError
        if words & _RATES:
            if words & _WARM:
                raise NoValueError
            return self.lowest if words & _LAST else self.highest
        in_epochs = bool(words & {"epoch", "epochs"})
        if words & _WARM:
            return self.warmup_epochs if in_epochs else self.warmup
        if (words & _LENGTHS and words & _UNITS) or words <= _TOTALS:
            return self.epochs if in_epochs else self.total
        raise NoValueError


STAND_INS = (
    StandIns(2, 7, 13, 3, 307, 31, 0.37, 0.03),
    StandIns(3, 11, 17, 2, 401, 23, 0.53, 0.05),
)


class RateWorld:
    """The program around a formula, at one step of a run."""

    def __init__(self, stand_ins: StandIns) -> None:
        self.stand_ins = stand_ins
        self.position = 0
        self.progress: set[Progress] = set()
        """The counters that were read."""
        self.relative = False
        """Whether rates were read of which the formula is a factor."""
        self.assumed: set[str] = set()
        """The names that stand-ins were used for."""
        self.limits: set[float] = set()
        """Numbers of steps, as it seems, that do not depend on the step."""
        self.machine = NumberMachine(self)
        self._kept: dict[ast.AST, object] = {}
        self._busy: set[ast.AST] = set()
        self._moves = 0

    def steps_of_epoch(self) -> int:
        """Return the number of steps of an epoch."""
        self.assumed.add("len")
        return self.stand_ins.per_epoch

    def read(self, node: ast.expr, module: Module) -> object:
        """Return the value of a name, attribute or entry at this step of the run."""
        if node in self._kept:
            return self._kept[node]
        if node in self._busy:
            raise NoValueError
        self._busy.add(node)
        moves, seen = self._moves, set(self.machine.limits)
        try:
            value = self._read(node, module)
        finally:
            self._busy.discard(node)
        if moves == self._moves:
            self._kept[node] = value
            self.limits |= self.machine.limits - seen
        return value

    def length(self, node: ast.expr, module: Module) -> int:
        """Return the number of batches of an epoch."""
        if not parts_of(identifier(node)) & _LOADERS:
            raise NoValueError
        return self.steps_of_epoch()

    def _read(self, node: ast.expr, module: Module) -> object:
        counted = progress_of(node, module)
        if counted is not None:
            return self._count(counted)
        known = _known(evaluate(node, module), module)
        if known is not None:
            return known[0]
        if parts_of(_name(node)) >= {"per", "epoch"}:
            return self.steps_of_epoch()
        bindings = [] if isinstance(node, ast.Call) else list(definitions(node, module))
        try:
            return self._defined(bindings, node, module)
        except NoValueError:
            return self._stand_in(node)

    def _count(self, counted: Progress) -> int:
        self._moves += 1
        self.progress.add(counted)
        if counted.unit == "run":
            return self.position + counted.first
        per_epoch = self.steps_of_epoch()
        if counted.unit == "epoch":
            return self.position // per_epoch + counted.first
        return self.position % per_epoch + counted.first

    def _defined(self, bindings: Sequence[Binding], use: ast.expr, module: Module) -> object:
        """Return the value of one of several assignments."""
        chosen: Binding | None = None
        for binding in bindings:
            here = use if binding.scope is module.scope_of(use) else None
            condition = condition_of(binding, here, binding.module)
            if condition is not None:
                test = self.machine.truth_of(self.machine.value_in(condition[0], binding.module))
                if test is None:
                    raise NoValueError
                if test != condition[1]:
                    continue
            chosen = binding
        if chosen is None:
            raise NoValueError
        return self._bound(chosen)

    def _bound(self, binding: Binding) -> object:
        module = binding.module
        match binding:
            case Binding(kind="function", node=ast.FunctionDef() as node):
                return Closure(node, module)
            case Binding(kind="parameter", node=ast.arg() as node):
                return self._argument(binding, node)
            case Binding(kind="assign", value=ast.expr() as given):
                value = self.machine.value_in(given, module)
                for place in binding.path:
                    value = _item(value, place)
                return value
        raise NoValueError

    def _argument(self, binding: Binding, node: ast.arg) -> object:
        """Return the value that all calls of a function give for a parameter, if it is the same."""
        given = binding.module.program.arguments_for(binding)
        default = default_of(binding)
        if not given and default is not None:
            return self.machine.value_in(default, binding.module)
        values = [self.machine.value_in(argument, module) for argument, module in given]
        if not values or values != values[:1] * len(values):
            raise NoValueError
        return values[0]

    def _stand_in(self, node: ast.expr) -> object:
        name = _name(node)
        match node:
            case ast.Call(func=function, args=[]) if identifier(function) in _PROCESSES:
                self.assumed.add("processes")
                return self.stand_ins.processes
            case ast.Subscript(value=group) if parts_of(name) & _GROUPS:
                if parts_of(identifier(group)) & {"group", "pg"}:
                    return 1.0  # groups differ by this factor: the rate is that of the others
        if not name:
            raise NoValueError
        if name in _BASES:
            self.relative = True
            return Array([1.0]) if name == "base_lrs" else 1.0
        number = self.stand_ins.named(name)
        self.assumed.add(name)
        return number


def _name(node: ast.expr) -> str:
    """Return the name of what is read, of an entry its key; empty if it has none."""
    match node:
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return key
        case ast.Name() | ast.Attribute():
            return identifier(node)
    return ""


def _item(value: object, place: int) -> object:
    match value:
        case list() | tuple():
            for item in value[place : place + 1]:
                return item
    raise NoValueError


def _known(value: Value, module: Module) -> tuple[object] | None:
    """Return the value of an expression in every run, or with the defaults of flags."""
    match value:
        case Known(value=content) | Unknown(default=content, has_default=True):
            pass
        case Choice(options=((_, Known(value=content, flag=flag)), *_)) if flag:
            pass
        case Symbol(name=name):
            function = module.program.function_named(name)
            return (Closure(function[1], function[0]),) if function is not None else None
        case _:
            return None
    return (content,) if _is_plain(content) else None


def _is_plain(content: object) -> bool:
    match content:
        case list() | tuple():
            return all(map(_is_plain, content))
        case dict():
            return all(map(_is_plain, content.values()))
        case None | bool() | int() | float() | str():
            return True
    return False
