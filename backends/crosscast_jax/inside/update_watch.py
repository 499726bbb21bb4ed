"""Wraps the functions of JAX and optax that tell of updates."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

from crosscast_jax.inside.forward_rows import ForwardRows
from crosscast_jax.inside.transformations import CLIP, factory_of, hands_on, term_of
from crosscast_jax.inside.trees import anchor, arrays_of, by_name, plain, size_of, structure
from crosscast_jax.inside.update_records import Update, Updates
from crosscast_jax.inside.update_settings import ToldTerm
from crosscast_jax.inside.update_twins import Twins

IN_PLACE = "the program updates arrays in place (jax.new_ref), so nothing can be run twice"


class Watch:
    """Wraps what tells of updates."""

    def __init__(self, updates: Updates) -> None:
        self._updates = updates
        self.twins = Twins(updates)
        self.rows = ForwardRows()
        self._optimizers: list[tuple[Any, Any]] = []
        self._updating = False
        self._differentiating = False

    def update(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the function of a transformation that makes its updates."""
        made_in_trace = self.twins.watching or self.twins.covered

        @functools.wraps(original)
        def update(*args: Any, **kwargs: Any) -> Any:
            self.twins.compiled_unseen()
            if not self.twins.watching:
                name = f"the update of {factory_of(original)}"
                return self.twins.doubled(name, original, update)(*args, **kwargs)
            if self._updating:
                return self._term(original, args, kwargs)
            gradients, code = _given(args, kwargs, "updates"), getattr(original, "__code__", None)
            key = (code, structure(gradients)) if made_in_trace else id(original)
            self._updating = True
            try:
                number = self._number(key, original)
                self._begin(number, gradients, _given(args, kwargs, "params"))
                result = self._term(original, args, kwargs)
                self.twins.tell(lambda _: self._updates.end(), anchor(gradients))
                return result
            finally:
                self._updating = False

        return update

    def accumulate(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the method of MultiSteps: what it calls is the update, not what calls it."""

        @functools.wraps(original)
        def update(steps: Any, *args: Any, **kwargs: Any) -> Any:
            self.twins.compiled_unseen()
            if not self.twins.watching:
                doubled = self.twins.doubled("the update of MultiSteps", original, update)
                return doubled(steps, *args, **kwargs)
            state = _given(args, kwargs, "state")
            many = steps._every_k_schedule(state.gradient_step)
            self.twins.tell(self._updates.micro, state.mini_step == many - 1)
            outer, self._updating = self._updating, False
            try:
                return original(steps, *args, **kwargs)
            finally:
                self._updating = outer

        return update

    def _number(self, key: Any, original: Any) -> int:
        """Return the number of an optimizer; one that is made in every trace is one."""
        for number, (known, _) in enumerate(self._optimizers):
            if known == key:
                return number
        self._optimizers.append((key, original))  # kept, so that no other gets its identity
        return len(self._optimizers) - 1

    def _begin(self, number: int, gradients: Any, params: Any) -> None:
        handed, given = by_name(gradients), by_name(params)
        if not self._updates.wants(size_of(handed)):
            handed, given = dict.fromkeys(handed), {}
        names = tuple(handed)
        kinds = [str(leaf.dtype) for leaf in jax.tree.leaves(params if given else gradients)]
        told = [] if None in handed.values() else list(handed.values())
        before = [given[name] for name in names] if given.keys() == handed.keys() else []

        def begin(_: Any, *arrays: Any) -> None:
            update = Update(number, names)
            update.kinds = kinds
            update.handed = arrays_of(names, arrays[: len(told)])
            update.before = arrays_of(names, arrays[len(told) :])
            self._updates.begin(update)

        self.twins.tell(begin, anchor(gradients), *told, *before)

    def _term(self, original: Any, args: Any, kwargs: Any) -> Any:
        if hands_on(original):
            return original(*args, **kwargs)
        gradients = _given(args, kwargs, "updates")
        term = term_of(original, _given(args, kwargs, "state"))
        names = frozenset(by_name(gradients))
        numbers = {k: v for k, v in term.settings.items() if isinstance(v, jax.Array)}
        fixed = {k: plain(v) for k, v in term.settings.items() if k not in numbers}
        result = original(*args, **kwargs)
        clipped = by_name(result[0]) if term.kind.startswith(CLIP) else {}
        clipped = clipped if self._updates.wants(size_of(clipped)) else {}

        def note(_: Any, *arrays: Any) -> None:
            told = zip(numbers, map(float, arrays[: len(numbers)]), strict=True)
            output = arrays_of(tuple(clipped), arrays[len(numbers) :]) or None
            settings = {**fixed, **dict(told)}
            self._updates.term(ToldTerm(term.kind, settings, names), output)

        self.twins.tell(note, anchor(gradients), *numbers.values(), *clipped.values())
        return result

    def apply(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap `optax.apply_updates`."""

        @functools.wraps(original)
        def apply(params: Any, updates: Any) -> Any:
            result = original(params, updates)
            if self.twins.watching or not self._in_program(result):
                before, after = by_name(params), by_name(result)
                names = tuple(after)
                wanted = self._updates.wants(size_of(after)) and before.keys() == after.keys()
                arrays = [*before.values(), *after.values()] if wanted else []

                def note(_: Any, *told: Any) -> None:
                    half = len(told) // 2
                    values = arrays_of(names, told[:half]), arrays_of(names, told[half:])
                    self._updates.applied(names, *(values if told else (None, None)))

                self.twins.tell(note, anchor(result), *arrays)
            return result

        return apply

    def differentiate(self, original: Callable[..., Any], place: int | None) -> Callable[..., Any]:
        """Wrap a function that makes a function of gradients.

        `place`: of the gradients in what that returns; None if they are all of it, unless there is
        something besides.
        """

        @functools.wraps(original)
        def differentiate(*args: Any, **options: Any) -> Any:
            if not args and not {"f", "fun"} & options.keys():
                return functools.partial(differentiate, **options)
            inner = original(*args, **options)
            aux = bool(options.get("has_aux", len(args) > 2 and args[2]))
            number = options.get("argnums", args[1] if len(args) > 1 else 0)

            @functools.wraps(inner)
            def gradients(*given: Any, **named: Any) -> Any:
                if self._differentiating:
                    return inner(*given, **named)
                self._differentiating = True
                try:
                    with self.rows.of(given, named, number) as rows:
                        result = inner(*given, **named)
                finally:
                    self._differentiating = False
                where = place if place is not None or not aux else 0
                self._passed(result if where is None else result[where], rows.count)
                return result

            return gradients

        return differentiate

    def _passed(self, gradients: Any, rows: int | None) -> None:
        if not jax.tree.leaves(gradients):
            return
        if not self.twins.watching and self._in_program(gradients):
            return
        named = by_name(gradients)
        told = named if self._updates.wants(size_of(named)) else {}

        def note(_: Any, *arrays: Any) -> None:
            values = dict(zip(told, arrays, strict=True)) if told else None
            self._updates.passed(rows, values)

        self.twins.tell(note, anchor(gradients), *told.values())

    def _in_program(self, tree: Any) -> bool:
        """Whether this is traced for the program itself, whose twin tells the same."""
        traced = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree))
        return traced or self.twins.covered

    def seed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Note with what random numbers begin."""

        @functools.wraps(original)
        def key(seed: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(seed, int):
                self._updates.seeds.add(seed)
            return original(seed, *args, **kwargs)

        return key

    def reference(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Stop where arrays are kept that are changed in place."""

        @functools.wraps(original)
        def new_ref(*args: Any, **kwargs: Any) -> Any:
            if not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(args)):
                self._updates.stop(IN_PLACE)
            return original(*args, **kwargs)

        return new_ref


def _given(args: Any, kwargs: Any, name: str) -> Any:
    """Return an argument of an update; None if it is not given."""
    place = ("updates", "state", "params").index(name)
    return args[place] if place < len(args) else kwargs.get(name)
