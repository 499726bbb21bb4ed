"""Record the updates of static graphs of Paddle, from 1.8 on.

An update is a run of a program to which an optimizer has added its operators. The gradients that
these get (unscaled, clipped, regularized) are fetched with what the script fetches. An overflow is
injected into a weight, for one run. Standard library and NumPy only, and Python 3.7.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle

from crosscast_paddle.inside.update_records import (
    class_of,
    clips_of,
    moved,
    on_gpu,
    settings_of,
    summary,
    tell,
)
from crosscast_parity.inside.updates import SEED, Records


class Pass:
    """What an optimizer added to a program: `scaler` is what scales its loss, if anything does."""

    def __init__(
        self, program: Any, optimizer: Any, pairs: Any, scaler: Any, order: dict[str, int]
    ) -> None:
        self.program, self.optimizer, self.scaler = program, optimizer, scaler
        known_pairs = pairs["params"] if isinstance(pairs, dict) else pairs
        known = [(p, g) for p, g in known_pairs if g is not None]
        # Versions hand them over in other orders.
        self.pairs = sorted(known, key=lambda pair: order.get(pair[0].name, len(order)))
        self.scale: float | None = None
        """The loss scale of the next run, known from the first on."""
        self.began = False

    def begin(self, scope: Any) -> None:
        """Note the first loss scale."""
        self.began = True
        if self.scaler is None:
            return
        first_scale = getattr(self.scaler, "_init_loss_scaling", None)
        if first_scale is None:  # before Paddle 2 only its variable has it
            first_scale = value_of(scope, self.scaler._loss_scaling).reshape(-1)[0]
        self.scale = float(first_scale)

    def of(self, program: Any) -> bool:
        """Whether a program is the one, or a copy of it."""
        if program is self.program:
            return True
        block = getattr(program, "global_block", None)
        if block is None or not hasattr(block(), "has_var"):
            return False
        updated = {
            name
            for op in block().ops
            if {"Param", "Grad"} <= set(op.input_names)
            for name in op.input("Param")
        }
        return bool(self.pairs) and updated.issuperset(p.name for p, _ in self.pairs)

    def draws(self) -> bool:
        """Whether its program draws random numbers at every run."""
        names = [getattr(op, "type", None) or op.name() for op in self.program.global_block().ops]
        return any("dropout" in str(n() if callable(n) else n) for n in names)

    def fetched(self) -> list[Any]:
        """Return the variables to fetch: gradients, then the scale."""
        gradients = [g for _, g in self.pairs if "SELECTED_ROWS" not in str(getattr(g, "type", ""))]
        scale = getattr(self.scaler, "_loss_scaling", None)
        return [*gradients, *([] if scale is None else [scale])]


class StaticWatch:
    """Records the runs of programs that train."""

    def __init__(self, records: Records, perturb: bool, poison: int | None) -> None:
        self._records, self._perturb, self._poison = records, perturb, poison
        self._passes: list[Pass] = []
        self._scaler: Any = None
        self._scope: Any = None
        self._order: dict[str, int] = {}

    def created(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Note the order in which parameters are made."""

        @functools.wraps(original)
        def create(*args: Any, **kwargs: Any) -> Any:
            parameter = original(*args, **kwargs)
            name = getattr(parameter, "name", None)
            if name is not None:
                self._order.setdefault(name, len(self._order))
            return parameter

        return create

    def final(self) -> list[Any]:
        """Return the weights of now."""
        if self._scope is None:
            return []
        return [
            summary(value_of(self._scope, parameter))
            for each in self._passes
            for parameter, _ in each.pairs
        ]

    def scaling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Note what scales the loss of the operators that are added."""

        @functools.wraps(original)
        def apply(scaler: Any, *args: Any, **kwargs: Any) -> Any:
            self._scaler = scaler
            try:
                return original(scaler, *args, **kwargs)
            finally:
                self._scaler = None

        return apply

    def added(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Note the operators that an optimizer adds."""

        @functools.wraps(original)
        def add(optimizer: Any, pairs: Any, *args: Any, **kwargs: Any) -> Any:
            if not dynamic():
                program = main_program()
                added_pass = Pass(program, optimizer, pairs, self._scaler, self._order)
                self._passes.append(added_pass)
            return original(optimizer, pairs, *args, **kwargs)

        return add

    def run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Record a run that trains."""

        @functools.wraps(original)
        def run(
            executor: Any,
            program: Any = None,
            feed: Any = None,
            fetch_list: Any = None,
            *args: Any,
            **kwargs: Any,
        ) -> Any:
            plain = main_program() if program is None else program
            plain = getattr(plain, "_program", None) or plain
            passes = [fetched for fetched in self._passes if fetched.of(plain)]
            if not passes or not self._records.here():
                return original(executor, program, feed, fetch_list, *args, **kwargs)
            fetches = [] if fetch_list is None else fetch_list
            own = list(fetches) if isinstance(fetches, (list, tuple)) else [fetches]
            scope = kwargs.get("scope") or global_scope()

            def call(more: list[Any]) -> Any:
                return original(executor, program, feed, [*own, *more], *args, **kwargs)

            fetched = self._recorded(passes, scope, call, len(own))
            return fetched if own else original_nothing(fetch_list)

        return run

    def _recorded(self, passes: list[Pass], scope: Any, call: Callable[..., Any], own: int) -> Any:
        self._scope = scope
        first = self._records.attempts
        for one_pass in passes:
            if self._perturb and not one_pass.began:
                for parameter, _ in one_pass.pairs:
                    set_value(scope, parameter, moved(value_of(scope, parameter)))
            if not one_pass.began:
                one_pass.begin(scope)
        before = [[value_of(scope, p) for p, _ in one_pass.pairs] for one_pass in passes]
        rates = [rate_of(one_pass.optimizer) for one_pass in passes]
        asked = [one_pass.fetched() for one_pass in passes]
        rate_vars = [None if r is not None else rate_variable(f) for r, f in zip(rates, passes)]  # noqa: B905
        extra = [value for values in asked for value in values]
        extra += [value for value in rate_vars if value is not None]
        poisoned = self._poison is not None and first <= self._poison < first + len(passes)
        if poisoned:
            set_value(scope, passes[0].pairs[0][0], before[0][0] * math.inf)
        results = call(extra)
        if poisoned:
            set_value(scope, passes[0].pairs[0][0], before[0][0])
        rest = [np.asarray(value) for value in results[own:]]
        for place, one_pass in enumerate(passes):
            values, rest = rest[: len(asked[place])], rest[len(asked[place]) :]
            rate = rates[place]
            if rate is None and rate_vars[place] is not None:
                rate = float(rest[-1].reshape(-1)[0])
            self._attempt(
                one_pass, scope, before[place], values, math.nan if rate is None else rate
            )
        return results[:own]

    def _attempt(
        self, one_pass: Pass, scope: Any, before: list[Any], values: list[Any], rate: float
    ) -> None:
        if not self._records.attempts:
            tell(self._records)
        scale = one_pass.scale
        if scale is not None and getattr(one_pass.scaler, "_loss_scaling", None) is not None:
            one_pass.scale = float(values.pop().reshape(-1)[0])
        gradients = iter(values)
        summaries = [
            None if "SELECTED_ROWS" in str(getattr(g, "type", "")) else summary(next(gradients))
            for _, g in one_pass.pairs
        ]
        after = [value_of(scope, parameter) for parameter, _ in one_pass.pairs]
        changes = [now - old for now, old in zip(after, before)]  # noqa: B905
        skipped = scale is not None and not any(np.any(change) for change in changes)
        self._records.attempt(
            {
                "optimizer": self._passes.index(one_pass),
                "class": class_of(one_pass.optimizer),
                "skipped": skipped,
                "backwards": 1,
                "scale": scale,
                "settings": settings_of(one_pass.optimizer, rate, len(one_pass.pairs)),
                "clips": clips_of(one_pass.optimizer),
                "gradients": [] if skipped else summaries,
                "changes": [] if skipped else [summary(change) for change in changes],
                "types": ["float32"],
                "draws": one_pass.draws(),
            }
        )


def original_nothing(fetch_list: Any) -> Any:
    """Return the result of a run that fetches nothing."""
    return [] if fetch_list is not None else None


def fluid() -> Any:
    """Return the module `paddle.fluid`, None where there is none."""
    return getattr(paddle, "fluid", None)


def main_program() -> Any:
    """Return the program of now."""
    place = fluid() if fluid() is not None and not hasattr(paddle, "static") else paddle.static
    return place.default_main_program()


def global_scope() -> Any:
    """Return the scope of executors that are given none."""
    place = fluid() if fluid() is not None and not hasattr(paddle, "static") else paddle.static
    return place.global_scope()


def dynamic() -> bool:
    """Whether the graph is dynamic now."""
    if hasattr(paddle, "in_dynamic_mode"):
        return bool(paddle.in_dynamic_mode())
    return bool(fluid().in_dygraph_mode())


def value_of(scope: Any, parameter: Any) -> Any:
    """Return the values of a parameter."""
    return np.array(scope.find_var(parameter.name).get_tensor()).astype(np.float32)


def set_value(scope: Any, parameter: Any, values: Any) -> None:
    """Set the values of a parameter."""
    place = fluid() if not hasattr(paddle, "CPUPlace") else paddle
    tensor = scope.find_var(parameter.name).get_tensor()
    tensor.set(np.asarray(values, np.float32), place.CPUPlace())


def rate_of(optimizer: Any) -> float | None:
    """Return the learning rate of the next update; None if the program computes it."""
    if not hasattr(optimizer, "get_lr"):
        return None
    try:
        return float(optimizer.get_lr())
    except (TypeError, RuntimeError, ValueError):
        return None


def rate_variable(one_pass: Pass) -> Any:
    """Return the variable with the learning rate."""
    with contextlib.suppress(TypeError):
        return one_pass.optimizer._global_learning_rate(one_pass.program)
    return None


def in_float32() -> None:
    """Have mixed precision of static graphs compute in float32, with its scaling as it is."""
    for place in decorators():
        for name in ("rewrite_program", "cast_model_to_fp16", "cast_parameters_to_fp16"):
            if hasattr(place, name):
                setattr(place, name, lambda *args, **kwargs: set())
    if hasattr(paddle, "amp"):
        for name in ("auto_cast", "amp_guard"):
            original = getattr(paddle.amp, name, None)
            if original is not None:
                setattr(paddle.amp, name, _only_dynamic(original))


def _only_dynamic(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def cast(*args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs) if dynamic() else contextlib.nullcontext()

    return cast


def decorators() -> list[Any]:
    """Return the modules that decorate optimizers of static graphs."""
    modules = []
    if fluid() is not None:
        contrib = getattr(fluid(), "contrib", None)
        modules.append(getattr(getattr(contrib, "mixed_precision", None), "decorator", None))
    static = getattr(getattr(paddle, "static", None), "amp", None)
    modules.append(getattr(static, "decorator", None))
    return [module for module in modules if module is not None]


def seed_programs() -> None:
    """Give every program a seed; before Paddle 2 there is none for all."""
    original = fluid().Program.__init__

    @functools.wraps(original)
    def made(program: Any, *args: Any, **kwargs: Any) -> None:
        original(program, *args, **kwargs)
        program.random_seed = SEED

    fluid().Program.__init__ = made
    for program in (fluid().default_main_program(), fluid().default_startup_program()):
        program.random_seed = SEED


def helpers() -> Any:
    """Return the module of what makes parameters."""
    root = fluid() if fluid() is not None else paddle.base
    return importlib.import_module(f"{root.__name__}.layer_helper_base")


def bases() -> list[type]:
    """Return the classes that optimizers inherit from."""
    classes = []
    if fluid() is not None:
        classes.append(fluid().optimizer.Optimizer)
    modern = getattr(getattr(paddle, "optimizer", None), "Optimizer", None)
    return [*classes, *([] if modern is None or modern in classes else [modern])]


def install(records: Records, *, perturb: bool, poison: int | None) -> Callable[[], list[Any]]:
    """Watch static graphs; return what returns their weights."""
    watch = StaticWatch(records, perturb, poison)
    if not hasattr(paddle, "seed"):
        seed_programs()
    if not on_gpu():
        in_float32()
    for base in bases():
        for name in ("_create_optimization_pass", "_pir_create_optimization_pass"):
            if name in vars(base):
                setattr(base, name, watch.added(vars(base)[name]))
    for place in decorators():
        kind = place.OptimizerWithMixedPrecision
        kind.apply_gradients = watch.scaling(kind.apply_gradients)
    helper = helpers().LayerHelperBase
    helper.create_parameter = watch.created(helper.create_parameter)
    executor = fluid().Executor if not hasattr(paddle, "static") else paddle.static.Executor
    executor.run = watch.run(executor.run)
    return watch.final
