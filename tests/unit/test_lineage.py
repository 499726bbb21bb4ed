"""Casts of a script, followed through a forward pass of stand-ins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from crosscast_parity.inside.lineage import move_of
from crosscast_parity.inside.manifest import Recorder

H, F = "float16", "float32"


@dataclass(eq=False)
class Tensor:
    """A tensor in words."""

    kind: str
    shape: tuple[int, ...] = (4, 8)
    learned: bool | None = True


def kind(value: Any) -> str | None:
    return value.kind if isinstance(value, Tensor) and value.kind in (H, F) else None


class Script:
    """Calls operations as a script does, under an autocast with `layer_norm` on its list."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.recorder.autocast = H
        self.recorder.lineage.learned = lambda value: value.learned
        self.recorder.lineage.listed = frozenset({"layer_norm", "softmax"})
        self.usual = True
        self.recorder.is_usual = lambda: self.usual

    def call(self, name: str, output: str, *args: Tensor, **kwargs: Any) -> Tensor:
        shape = max((arg.shape for arg in args), key=len)
        result = Tensor(output, shape)

        def operation(*args: Any, **kwargs: Any) -> Tensor:
            return result

        self.recorder.call(kind, name, operation, args, kwargs)
        return result

    def cast(self, value: Tensor, to: str) -> Tensor:
        result = Tensor(to, value.shape, value.learned)

        def operation(value: Tensor) -> Tensor:
            return result

        self.recorder.call(kind, "cast", operation, (value,), {})
        return result

    def move(self, value: Tensor, *others: Tensor) -> Tensor:
        result = Tensor(value.kind, (8, 4), value.learned)

        def operation(*args: Any) -> Tensor:
            return result

        self.recorder.move(kind, operation, (value, *others), {})
        return result

    def last(self) -> tuple[str, str, bool]:
        """Return type, type without casts, and whether its inputs were rounded."""
        call = self.recorder.sequence()["order"][-1]
        return call["out"], call["plain"], call["rounded"]


def half_stream(script: Script) -> None:
    stream = script.cast(Tensor(F), H)
    script.call("add", H, stream, Tensor(H))


def kept_in_half(script: Script) -> None:
    stream = script.call("add", H, script.cast(Tensor(F), H), Tensor(H))
    script.call("add", H, script.call("dropout", H, stream), Tensor(H))


def rounded(script: Script) -> None:
    stream = script.cast(script.cast(Tensor(F), H), F)
    script.call("layer_norm", F, stream)


def moved(script: Script) -> None:
    stream = script.move(Tensor(H), script.cast(Tensor(F), H))
    script.call("add", H, stream, Tensor(H))


def looked_up(script: Script) -> None:
    table = script.cast(Tensor(F), H)
    first = script.call("embedding", F, Tensor("int64"), table)  # as on the list of Paddle
    script.call("add", F, first, script.call("embedding", F, Tensor("int64"), Tensor(F)))


def statistics(script: Script) -> None:
    script.call("mean", H, script.cast(Tensor(F), H))


def normalized_without_autocast(script: Script) -> None:
    script.usual = False
    normed = script.call("layer_norm", H, Tensor(H))
    script.usual = True
    script.call("add", H, normed, Tensor(H))


def softmax_of_another_type(script: Script) -> None:
    weights = script.call("softmax", H, Tensor(F), dtype=H)
    script.call("sum", F, weights)


WRONG: dict[str, tuple[Callable[[Script], None], tuple[str, str, bool]]] = {
    "a stream that is cast to half": (half_stream, (H, F, True)),
    "a stream that stays in half": (kept_in_half, (H, F, True)),
    "a stream that is rounded": (rounded, (F, F, True)),
    "a stream that is moved in between": (moved, (H, F, True)),
    "lookups in a rounded table": (looked_up, (F, F, True)),
    "statistics of rounded numbers": (statistics, (H, F, True)),
    "a LayerNorm in half where autocast is off": (normalized_without_autocast, (H, F, True)),
    "a softmax that is asked for half": (softmax_of_another_type, (F, F, True)),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_cast_takes_is_told(name: str) -> None:
    run, told = WRONG[name]
    script = Script()
    run(script)
    assert script.last() == told


def before_a_product(script: Script) -> None:
    product = script.call("linear", H, script.cast(Tensor(F), H), script.cast(Tensor(F), H))
    script.call("add", H, product, Tensor(H))


def there_and_back(script: Script) -> None:
    wide = script.call("layer_norm", F, script.cast(Tensor(H), F))
    script.call("add", H, script.cast(wide, H), Tensor(H))


def a_mask(script: Script) -> None:
    mask = script.cast(Tensor(F, learned=False), H)
    script.call("add", H, Tensor(H), mask)


def not_known(script: Script) -> None:
    script.call("add", H, Tensor(H), script.cast(Tensor(F, learned=None), H))


def a_wide_mask(script: Script) -> None:
    scores = script.call("add", F, Tensor(H), Tensor(F, learned=False))
    script.call("softmax", F, script.cast(scores, H))


def a_bias(script: Script) -> None:
    dense = script.call("add", H, Tensor(H), script.cast(Tensor(F, (8,)), H))
    script.call("add", H, dense, Tensor(H))


def by_policy(script: Script) -> None:
    script.recorder.by_policy = lambda: True
    script.call("add", H, script.cast(Tensor(F), H), Tensor(H))


def by_autocast(script: Script) -> None:
    normed = script.call("layer_norm", F, Tensor(H))
    script.call("add", F, normed, Tensor(H))


def changed_in_place(script: Script) -> None:
    stream = script.cast(Tensor(F), H)
    product = Tensor(H)
    script.recorder.call(kind, "linear", lambda *args: stream, (product, Tensor(F)), {})
    script.call("add", H, stream, Tensor(H))


RIGHT: dict[str, tuple[Callable[[Script], None], str]] = {
    "casts before a product": (before_a_product, H),
    "float32 in between": (there_and_back, H),
    "a mask": (a_mask, H),
    "numbers of which nothing is known": (not_known, H),
    "scores that a float32 mask made float32": (a_wide_mask, F),
    "a bias": (a_bias, H),
    "a cast of the policy": (by_policy, H),
    "autocast alone": (by_autocast, F),
    "a tensor that something else was written to": (changed_in_place, H),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_a_script_may_cast_is_not(name: str) -> None:
    run, dtype = RIGHT[name]
    script = Script()
    run(script)
    assert script.last() == (dtype, dtype, False)


def test_a_stream_that_positions_make_float32_may_not_be_rounded_later() -> None:
    script = Script()
    stream = script.call("add", F, Tensor(H), Tensor(F, (8,)))
    script.call("add", H, script.cast(stream, H), Tensor(H))
    assert script.last() == (H, F, True)


def test_sums_of_lookups_are_told_apart() -> None:
    script = Script()
    ids = Tensor("int64")
    tables = [script.call("embedding", F, ids, Tensor(F, (9, 8))) for _ in range(2)]
    script.call("add", F, *tables)
    assert script.recorder.sequence()["order"][-1]["lookups"]
    script.call("add", F, tables[0], Tensor(F))
    assert not script.recorder.sequence()["order"][-1]["lookups"]


@pytest.mark.parametrize("name", ["__getitem__", "reshape", "view_", "masked_fill"])
def test_functions_that_move_are_known_by_their_names(name: str) -> None:
    assert move_of(name)
    assert not move_of("cumsum")
