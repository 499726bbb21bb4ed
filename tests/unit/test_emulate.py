"""The policy of emulated half precision, on NumPy arrays that stand for tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from crosscast_parity.inside import emulate
from crosscast_parity.inside.emulate import call

F32, F16 = np.float32, np.float16


class Arrays:
    """NumPy for the policy; `casts` counts what was rounded to half."""

    def __init__(self, autocast: str | None = None) -> None:
        self.inside = autocast
        self.casts = 0

    def kind(self, value: Any) -> str | None:
        known = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        return value.dtype.name if known else None

    def cast(self, value: Any, kind: str) -> Any:
        self.casts += kind != "float32"
        with np.errstate(over="ignore"):
            return value.astype(kind)

    def casts_to(self, name: str) -> str | None:
        return self.inside if name in emulate.MATMUL else None

    def compute(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            assert not isinstance(value, np.ndarray) or value.dtype != F16, "computed in half"
        return function(*args, **kwargs)


def array(*values: float, dtype: Any = F32) -> np.ndarray:
    return np.array(values, dtype)


def test_the_classes_do_not_overlap() -> None:
    classes = (
        emulate.MATMUL,
        emulate.POINTWISE,
        emulate.REDUCTIONS,
        emulate.EMBEDDINGS,
        emulate.LOSSES,
    )
    assert len(frozenset().union(*classes)) == sum(map(len, classes))


@pytest.mark.parametrize("name", ["linear", "add", "softmax", "embedding", "reshape"])
def test_float32_is_left_alone(name: str) -> None:
    tensors, x, y = Arrays(), array(1.0, 1e-8), array(70000.0, 3.0)
    seen: list[Any] = []

    def function(*args: Any, **kwargs: Any) -> Any:
        seen.extend((*args, *kwargs.values()))
        return y

    assert call(tensors, name, function, (x, 2), {"other": y}) is y
    assert [value is given for value, given in zip(seen, (x, 2, y), strict=True)] == [True] * 3
    assert tensors.casts == 0


def test_autocast_rounds_what_goes_into_a_matmul_and_what_comes_out() -> None:
    tensors = Arrays("float16")
    x, y = array(1 + 2**-12, 70000.0, 1e-8, 2049.0), array(1.0, 1.0, 1.0, 1.0)
    found = call(tensors, "matmul", np.multiply, (x, y), {})
    assert found.dtype == F16
    assert found.tolist() == [1.0, np.inf, 0.0, 2048.0]


def test_without_autocast_a_matmul_rounds_nothing() -> None:
    tensors, x, y = Arrays("float16"), array(1 + 2**-12, 70000.0), array(1.0, 1.0)
    with emulate.without_autocast(True):
        found = call(tensors, "matmul", np.multiply, (x, y), {})
        assert not emulate.autocasts()
        halves = call(tensors, "add", np.add, (y.astype(F16), y.astype(F16)), {})
    assert found.dtype == F32
    assert found.tolist() == [1 + 2**-12, 70000.0]
    assert halves.dtype == F16  # a cast of the script's own stays
    assert emulate.autocasts()
    assert call(tensors, "matmul", np.multiply, (x, y), {}).dtype == F16


def test_the_sum_inside_is_float32() -> None:
    ones = np.ones(4096, F32)
    found = call(
        Arrays("float16"), "matmul", lambda x, y: (x * y).sum(keepdims=True), (ones, ones), {}
    )
    assert found.tolist() == [4096.0]
    # 2048 + 1 is 2048 in float16: summed in half it would have stayed there.
    rounded = call(Arrays("float16"), "matmul", np.add, (array(2048.0), array(1.0)), {})
    assert rounded.tolist() == [2048.0]


@pytest.mark.parametrize("name", ["add", "softmax", "layer_norm", "cross_entropy", "embedding"])
def test_autocast_rounds_nothing_else(name: str) -> None:
    tensors, x = Arrays("float16"), array(1 + 2**-12)
    found = call(tensors, name, lambda value: value, (x,), {})
    assert found is x
    assert tensors.casts == 0


def test_an_operation_on_halves_is_rounded_once() -> None:
    tensors = Arrays()
    x, y = array(1.0, dtype=F16), array(2**-11, dtype=F16)
    # (1 + u) + u rounds to 1 + 2u in one go; rounded after each sum, it stays 1.
    found = call(tensors, "add", lambda a, b: a + b + b, (x, y), {})
    assert found.dtype == F16
    assert found.tolist() == [1 + 2**-10]


def test_one_float32_input_makes_a_pointwise_result_float32() -> None:
    found = call(Arrays(), "add", np.add, (array(1.0, dtype=F16), array(2**-12)), {})
    assert found.dtype == F32
    assert found.tolist() == [1 + 2**-12]


def test_the_first_input_decides_for_a_reduction() -> None:
    def scaled(x: Any, weight: Any) -> Any:
        return x * weight

    weight = array(1 + 2**-12)
    found = call(Arrays(), "layer_norm", scaled, (array(1.0, dtype=F16),), {"weight": weight})
    assert found.dtype == F16
    assert found.tolist() == [1.0]
    mixed = call(Arrays(), "layer_norm", scaled, (array(1.0), array(1.0, dtype=F16)), {})
    assert mixed.dtype == F32


def test_a_normalization_may_get_its_input_by_name() -> None:
    def scaled(weight: Any, x: Any) -> Any:
        return x * weight

    class OfGpu(Arrays):
        def casts_to(self, name: str) -> str | None:
            return "float32"

    given = {"weight": array(1 + 2**-12), "x": array(1.0, dtype=F16)}
    assert call(OfGpu(), "layer_norm", scaled, (), given).tolist() == [1 + 2**-12]


def test_what_is_in_no_class_is_left_to_the_framework() -> None:
    x = array(1.0, dtype=F16)
    assert call(Arrays("float16"), "reshape", lambda value: value, (x,), {}) is x


def test_a_dtype_asked_for_is_kept() -> None:
    x = array(1.0, dtype=F16)
    found = call(Arrays(), "softmax", lambda v, dtype: v.astype(dtype), (x,), {"dtype": "float32"})
    assert found.dtype == F32


def test_tensors_in_lists_and_several_results() -> None:
    operands = [array(3.0), array(1 + 2**-12)]
    first, rest = call(
        Arrays("float16"),
        "einsum",
        lambda text, xs: (xs[0] * xs[1], [xs[0], 7]),
        ("i,i", operands),
        {},
    )
    assert (first.dtype, rest[0].dtype, rest[1]) == (F16, F16, 7)
    assert first.tolist() == [3.0]
    assert operands[1].tolist() == [1 + 2**-12]


def test_bfloat16_is_asked_for_by_its_name() -> None:
    dtypes = []

    class Bfloat(Arrays):
        def cast(self, value: Any, kind: str) -> Any:
            dtypes.append(kind)
            return value

    call(Bfloat("bfloat16"), "linear", np.multiply, (array(1.0), array(2.0)), {})
    assert dtypes == ["bfloat16", "float32"] * 2 + ["bfloat16"]
