"""Functions that are drawn at random: every domain of the machine and Python give the same."""

from __future__ import annotations

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from machines import DOMAINS, NO_ANSWER, computed_by_python, function, is_same
from property_settings import examples


def _made(pattern: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda found: pattern.format(*found))


def _one_of(*texts: str) -> st.SearchStrategy[str]:
    return st.sampled_from(texts)


_DEPTH = 3


@cache
def _any(depth: int = _DEPTH) -> st.SearchStrategy[str]:
    """Return expressions of any type."""
    others = _one_of("None", "(1, 2)", "{'k': 1}", "1.5", "z", "d", "not_there")
    return st.one_of(_number(depth), _list(depth), _text(depth), _condition(depth), others)


@cache
def _number(depth: int = _DEPTH) -> st.SearchStrategy[str]:
    """Return expressions of numbers."""
    leaves = _one_of("x", "x", "a", "(-2)", "0", "1", "3", "0.5", "True")
    if not depth:
        return leaves
    inner, items = _number(depth - 1), _list(depth - 1)
    condition = _condition(depth - 1)
    return st.one_of(
        leaves,
        _made("({} {} {})", inner, _one_of("+", "-", "//", "%", "/"), inner),
        _made("({} * {})", inner, _one_of("2", "(-1)", "0.5")),
        _made("(-{})", inner),
        _made("({} if {} else {})", inner, condition, inner),
        _made("({} and {} or {})", inner, inner, inner),
        _made("{}({})", _one_of("len", "sum", "max", "min"), items),
        _made("len({})", _text(depth - 1)),
        _made("{}({})", _one_of("int", "float", "abs", "round", "bool"), inner),
        _made("max({}, {})", inner, inner),
        _made("{}[{}]", items, _one_of("0", "-1", "x")),
        _made("d.get({}, {})", _any(0), inner),
        _made("(lambda a, b={}: {})({})", inner, inner, inner),
    )


@cache
def _condition(depth: int = _DEPTH) -> st.SearchStrategy[str]:
    """Return conditions."""
    leaves = _one_of("x", "y", "z", "True", "(x is None)", "('k' in d)")
    if not depth:
        return leaves
    inner, number, sign = (
        _condition(depth - 1),
        _number(depth - 1),
        _one_of(*["<", "<=", ">", "==", "!="]),
    )
    return st.one_of(
        leaves,
        _made("({} {} {})", number, sign, number),
        _made("({} {} {} {} {})", number, sign, number, sign, number),
        _made("({} {} {})", number, _one_of("in", "not in"), _list(depth - 1)),
        _made("({} {} {})", inner, _one_of("and", "or", "=="), inner),
        _made("(not {})", inner),
        _made("({} is not None)", _any(0)),
        _made("{}({})", _one_of("any", "all"), _list(depth - 1)),
    )


@cache
def _list(depth: int = _DEPTH) -> st.SearchStrategy[str]:
    """Return expressions of lists, mostly of numbers."""
    leaves = _one_of("y", "y", "b", "[]", "[3, 1, 2]")
    if not depth:
        return leaves
    inner, number = _list(depth - 1), _number(depth - 1)
    return st.one_of(
        leaves,
        _made("[{}, {}]", number, number),
        _made("[{}, *{}]", _any(depth - 1), inner),
        _made("({} + {})", inner, inner),
        _made("{}[{}:{}]", inner, _one_of("0", "1", "-2"), _one_of("2", "-1", "x")),
        _made("sorted({}, reverse={})", inner, _condition(0)),
        _made("list({})", st.one_of(_text(depth - 1), inner)),
        _made("[i for i in {} if {}]", inner, _condition(depth - 1)),
        _made("[{} for x in {}]", number, inner),
        _made("[j for i, j in enumerate({}, {})]", inner, number),
        _made("[i for pair in zip({}, {}) for i in pair]", inner, inner),
        _made("{}.copy()", inner),
    )


@cache
def _text(depth: int = _DEPTH) -> st.SearchStrategy[str]:
    """Return expressions of texts."""
    leaves = _one_of("z", "z", "'ab'", "''", "'x,y'")
    if not depth:
        return leaves
    inner = _text(depth - 1)
    return st.one_of(
        leaves,
        _made("({} + {})", inner, inner),
        _made("({} * 2)", inner),
        _made("str({})", _any(depth - 1)),
        _made("f'{{x}}{{{}}}'", _one_of("z", "a")),
        _made("{}.{}", inner, _one_of("upper()", "strip()", "title()", "replace('a', 'bb')")),
        _made("','.join([{}, {}])", inner, inner),
        _made("{}[{}:]", inner, _one_of("0", "1", "-1")),
        _made("({} or {})", inner, inner),
    )


_NAMES = _one_of(*"abxyz")


def _statement(depth: int) -> st.SearchStrategy[list[str]]:
    """Return the lines of statements."""
    plain = st.one_of(
        _made("x = {}", _number()),
        _made("x {}= {}", _one_of("+", "-"), _number()),
        _made("y = {}", _list()),
        _made("y += {}", _list()),
        _made("y.{}({})", _one_of("append", "remove"), _number()),
        _made("y.{}({})", _one_of("extend", "extend"), _list()),
        _made("y[{}] = {}", _one_of("0", "-1", "x"), _any()),
        _made("x = y.pop({})", _one_of("", "0")),
        _made("z = {}", _text()),
        _made("z += {}", _text()),
        _made("d[{}] = {}", _one_of("'k'", "x", "z"), _any()),
        _made("{}, *{} = {}", _NAMES, _NAMES, _list()),
        _made("{} = {}", _NAMES, _any()),
        _made("return {}", _any()),
    ).map(lambda line: [line])
    if not depth:
        return plain
    inner = st.lists(_statement(depth - 1), min_size=1, max_size=3).map(
        lambda found: [f"    {line}" for block in found for line in block]
    )
    leaving = st.tuples(_condition(), _one_of("break", "continue")).map(
        lambda drawn: [f"    if {drawn[0]}:", f"        {drawn[1]}"]
    )
    return st.one_of(
        plain,
        st.tuples(_condition(), inner, inner).map(
            lambda drawn: [f"if {drawn[0]}:", *drawn[1], "else:", *drawn[2]]
        ),
        st.tuples(_one_of("x", "i"), _list(), leaving, inner, inner).map(
            lambda drawn: [
                f"for {drawn[0]} in list({drawn[1]}):",
                *drawn[2],
                *drawn[3],
                "else:",
                *drawn[4],
            ]
        ),
        st.tuples(leaving, inner).map(
            lambda drawn: [
                f"n{depth} = 3",
                f"while n{depth}:",
                f"    n{depth} -= 1",
                *drawn[0],
                *drawn[1],
            ]
        ),
        inner.map(lambda lines: ["def g(x):", *lines, "d['g'] = g(x)"]),
    )


_PROGRAMS = st.tuples(st.lists(_statement(2), min_size=1, max_size=5), _any())


@settings(max_examples=examples(80, 1000))
@given(drawn=_PROGRAMS)
def test_drawn_functions(drawn: tuple[list[list[str]], str]) -> None:
    blocks, result = drawn
    start = "a, b, x, y, z, d = 2, [5, 1], 1, [4, 2], 'q', {'k': 7}"
    lines = [start, *(line for block in blocks for line in block), f"return {result}, x, y, z, d"]
    program = function("\n".join(lines))
    try:
        expected = computed_by_python(program)
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, NameError):
        return  # an error, or too large to go on
    for compute in DOMAINS.values():
        found = compute(program)
        assert found is NO_ANSWER or is_same(found, expected), program
