"""Amounts of memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscast.fit.memory_sizes import parse_memory, show_bytes
from crosscast.messages.diagnostics import DiagnosticError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("16GiB", 16 * 2**30),
        ("16 GiB", 16 * 2**30),
        ("16GB", 16 * 10**9),
        ("16384MiB", 16 * 2**30),
        ("1.5GiB", 3 * 2**29),
        ("0.1GiB", 107374182),  # rounded down
        ("1000000KB", 10**9),
        ("1KiB", 1024),
        ("1TiB", 2**40),
        ("1B", 1),
        (" 2MB ", 2 * 10**6),
    ],
)
def test_amounts(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize(
    "text",
    [
        *("", "16", "16G", "16g", "16gb", "16 gib", "GiB", "-1GiB", "+1GiB", "1e3GiB", "1_0GiB"),
        *("0GiB", "0.1B", "16GiB16", "16  GiB", ".5GiB", "5.GiB", "1,5GiB", "٣GiB", "inf GiB"),
        *("9" * 21 + "B", "9" * 20 + "GiB", "1" * 10**6, "1PiB", "nanGiB", "16GiB\n16GiB"),
    ],
)
def test_the_rest_is_refused(text: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_memory(text)
    (found,) = caught.value.diagnostics
    assert found.code == "CC461"
    assert len(found.message) < 100


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (1536, "1.50 KiB"),
        (10 * 2**20, "10.0 MiB"),
        (999 * 2**20, "999 MiB"),
        (1000 * 2**20, "0.98 GiB"),
        (16 * 2**30, "16.0 GiB"),
        (5000 * 2**40, "5000 TiB"),
    ],
)
def test_bytes_for_people(size: int, text: str) -> None:
    assert show_bytes(size) == text


@given(st.integers(1, 2**60))
def test_what_is_shown_is_close_and_short(size: int) -> None:
    text = show_bytes(size)
    value, unit = text.split(" ")
    assert len(value) <= 7 if unit == "TiB" else len(value) <= 4
    assert abs(parse_memory(text) - size) <= size * 0.0052 + 1
