from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crosscast.plan.operations import Dtype
from crosscast.reference.rounding import round_to

any_float32 = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    elements=st.floats(width=32),
)


def rounded(value: float, dtype: Dtype) -> float:
    return float(round_to(np.array(value, dtype=np.float32), dtype))


def from_bits(bits: int) -> float:
    return float(np.array(bits, dtype=np.uint32).view(np.float32))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0x3F800000, 0x3F800000),  # 1 is kept
        (0x3F808000, 0x3F800000),  # tie, the lower neighbour is even
        (0x3F818000, 0x3F820000),  # tie, the upper neighbour is even
        (0x3F808001, 0x3F810000),  # just above a tie
        (0x3F807FFF, 0x3F800000),  # just below a tie
        (0x3FFF8000, 0x40000000),  # carry into the exponent
        (0xBF808001, 0xBF810000),  # the same with a sign
        (0x7F7F0000, 0x7F7F0000),  # largest bfloat16
        (0x7F7F7FFF, 0x7F7F0000),  # rounds down to it
        (0x7F7F8000, 0x7F800000),  # rounds up to infinity
        (0x7F7FFFFF, 0x7F800000),  # largest float32
        (0x7F800000, 0x7F800000),  # infinity
        (0xFF800000, 0xFF800000),
        (0x00000000, 0x00000000),
        (0x80000000, 0x80000000),  # minus zero keeps its sign
        (0x00010000, 0x00010000),  # smallest subnormal
        (0x00008000, 0x00000000),  # tie to zero
        (0x00008001, 0x00010000),
        (0x00000001, 0x00000000),  # smallest float32
        (0x007FFFFF, 0x00800000),  # largest subnormal float32 becomes normal
    ],
)
def test_bfloat16_bit_patterns(value: int, expected: int) -> None:
    rounded = round_to(np.array([value], dtype=np.uint32).view(np.float32), "bfloat16")
    assert rounded.view(np.uint32)[0] == expected


@pytest.mark.parametrize("bits", [0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_nan_stays_nan_with_its_sign(bits: int, dtype: Dtype) -> None:
    rounded = round_to(np.array([bits], dtype=np.uint32).view(np.float32), dtype)
    assert np.isnan(rounded[0])
    assert bool(np.signbit(rounded[0])) == bool(bits >> 31)


def test_every_bfloat16_value_is_kept() -> None:
    values = (np.arange(2**16, dtype=np.uint32) << 16).view(np.float32)
    numbers = values[~np.isnan(values)]
    assert np.array_equal(round_to(numbers, "bfloat16").view(np.uint32), numbers.view(np.uint32))


def test_every_neighbouring_pair_of_bfloat16_rounds_to_the_nearer_one_and_ties_to_even() -> None:
    low = np.arange(0, 0x7F7F, dtype=np.uint32)
    for offset, up in ((0x7FFF, 0), (0x8001, 1), (0x8000, low & 1)):
        rounded = round_to(((low << 16) + np.uint32(offset)).view(np.float32), "bfloat16")
        assert np.array_equal(rounded.view(np.uint32) >> 16, low + up)


@given(any_float32)
def test_float16_is_that_of_numpy(array: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        expected = array.astype(np.float16).astype(np.float32)
    rounded = round_to(array, "float16")
    assert rounded.shape == array.shape
    assert np.array_equal(rounded, expected, equal_nan=True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (65504.0, 65504.0),
        (65519.0, 65504.0),
        (65520.0, np.inf),
        (-70000.0, -np.inf),
        (2.0**-24, 2.0**-24),
        (2.0**-25, 0.0),
        (1e-8, 0.0),
        (2049.0, 2048.0),
        (2051.0, 2052.0),
    ],
)
def test_float16_edges(value: float, expected: float) -> None:
    assert rounded(value, "float16") == expected


@given(any_float32, st.sampled_from(("float16", "bfloat16", "float32")))
def test_rounding_twice_is_rounding_once_and_leaves_the_input(
    array: np.ndarray, dtype: Dtype
) -> None:
    before = array.copy()
    once = round_to(array, dtype)
    assert once.dtype == np.float32
    assert np.array_equal(round_to(once, dtype), once, equal_nan=True)
    assert np.array_equal(array, before, equal_nan=True)
    assert not np.shares_memory(once, array)


@given(st.floats(2.0**-126, 2.0**127, width=32))
def test_bfloat16_is_within_half_a_unit_in_the_last_place(value: float) -> None:
    assert abs(rounded(value, "bfloat16") - value) <= value * 2.0**-8


@given(any_float32)
def test_float32_keeps_every_bit_of_a_number(array: np.ndarray) -> None:
    assert np.array_equal(round_to(array, "float32"), array, equal_nan=True)


def test_other_dtypes_go_through_float32() -> None:
    assert round_to(np.array([1.0 + 2.0**-40, 1e300]), "bfloat16").tolist() == [1.0, np.inf]


def test_strided_input() -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4).T
    assert np.array_equal(round_to(array, "bfloat16"), array)


def test_bfloat16_of_a_known_number() -> None:
    assert rounded(np.pi, "bfloat16") == from_bits(0x40490000) == 3.140625
