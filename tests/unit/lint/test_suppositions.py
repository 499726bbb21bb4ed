"""What follows from suppositions holds in every case, whatever the other settings are."""

from __future__ import annotations

import ast
import warnings
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.messages.source import Source
from crosscast_reading.lint.answers.supposed import UNSURE, can_be_met, truth, worth
from crosscast_reading.pysource.project import read_program
from property_settings import examples

SETTINGS = ("p", "q", "r")
VALUES: tuple[object, ...] = (True, False, None, "a", "b")


class _Arguments:
    def __init__(self, values: dict[str, object]) -> None:
        self.__dict__.update(values)


def answers(text: str, supposed: dict[str, object]) -> tuple[bool | None, object]:
    """Return the truth and the value of `x` after `x = text`, under suppositions."""
    source = f"import torch\ny = args.q\nx = {text}\n"
    program, problems = read_program([Source("main.py", source)])
    assert problems == ()
    module = program.modules[0]
    node = module.tree.body[-1].value  # type: ignore[attr-defined]
    named = {f"args.{name}": value for name, value in supposed.items()}
    return truth((node, module), named), worth((node, module), named)


@pytest.mark.parametrize(
    ("text", "supposed", "expected"),
    [
        ("args.p or 'a'", {"p": False}, "a"),
        ("(args.p or 'a') == 'a'", {"p": None}, True),
        ("args.p and args.r", {"p": False}, False),
        ("'b' if y == 'a' else None", {"q": "a"}, "b"),
        ("args.p in ('a', args.r)", {"p": "a"}, True),
        ("args.p in ('a', args.r)", {"p": "b"}, UNSURE),
        ("args.p not in ['a', 'b']", {"p": None}, True),
        ("args.p == args.q == 'a'", {"p": "a", "q": "b"}, False),
        ("args.p == args.q == 'a'", {"p": "a", "q": "a"}, True),
        ("args.p == args.r == 'a'", {"p": "a"}, UNSURE),
        ("{'a': 1, 'b': args.r}[args.p]", {"p": "a"}, 1),
        ("not (args.p and args.r)", {"p": None}, True),
        ("1 is True", {}, False),
        ("torch.GradScaler() is None", {}, False),
        ("torch.GradScaler() == args.p", {"p": "a"}, UNSURE),
        ("args.p + 1", {"p": True}, UNSURE),
        ("args.p > 1", {"p": True}, UNSURE),
        ("[args.r] == [args.p]", {"p": 1}, UNSURE),
        ("args.p == 1", {"p": True}, UNSURE),
        ("args.p != 1", {"p": True}, UNSURE),
        ("2 == args.p", {"p": True}, UNSURE),
        ("args.p == 0", {"p": True}, False),
        ("args.p == 0", {"p": False}, UNSURE),
        ("args.p != 1", {"p": False}, True),
        ("args.p == 1", {"p": 1}, True),
        ("args.p == 1", {"p": 2}, False),
        ("args.p in (1, 2)", {"p": True}, UNSURE),
        ("args.p not in (1, 2)", {"p": False}, True),
        ("args.p in (0, 'a')", {"p": True}, False),
        ("args.p in (1, 2)", {"p": 2}, True),
        ("{1: 'a', 2: 'b'}[args.p]", {"p": True}, UNSURE),
        ("{1: 'a', 2: 'b'}[args.p]", {"p": 2}, "b"),
    ],
)
def test_what_an_expression_is_worth(
    text: str, supposed: dict[str, object], expected: object
) -> None:
    assert answers(text, supposed)[1] is expected or answers(text, supposed)[1] == expected
    assert (expected is UNSURE) == (answers(text, supposed)[1] is UNSURE)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (["args.p == 1"], True),
        (["args.p == 1", "args.p"], True),
        (["args.p == 1", "not args.p"], False),
        (["args.p == 1", "args.p == 2"], False),
        (["args.p == 0", "not args.p"], True),
        (["args.p == 0", "args.p"], False),
        (["args.p in (1, 2)", "args.p != 1"], True),
        (["args.p == 1", "args.q == 1"], True),
    ],
)
def test_numbers_that_meet_several_conditions(conditions: list[str], expected: bool) -> None:
    program, _ = read_program([Source("main.py", "".join(f"x = {each}\n" for each in conditions))])
    module = program.modules[0]
    wanted = [((node.value, module), True) for node in module.every(ast.Assign)]
    assert can_be_met(wanted) is expected


_LEAVES = st.sampled_from(["args.p", "args.q", "args.r", "y", "True", "None", "'a'", "'b'", "'c'"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def made(pattern: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.tuples(*parts).map(lambda found: pattern.format(*found))

    sign = st.sampled_from(["==", "!=", "is", "is not"])  # texts of one program are one object
    word = st.sampled_from(["and", "or"])
    return st.one_of(
        made("({} {} {})", inner, sign, inner),
        made("({} {} {} {} {})", inner, sign, inner, sign, inner),
        made("({} {} {})", inner, word, inner),
        made("({} {} {} {} {})", inner, word, inner, word, inner),
        made("({} in [{}, {}])", inner, inner, inner),
        made("({} not in ({}, {}))", inner, inner, inner),
        made("(not {})", inner),
        made("({} if {} else {})", inner, inner, inner),
        made("bool({})", inner),
    )


@settings(max_examples=examples(100, 2000))
@given(
    text=st.recursive(_LEAVES, _larger, max_leaves=6),
    supposed=st.dictionaries(st.sampled_from(SETTINGS), st.sampled_from(VALUES), max_size=2),
)
def test_an_answer_holds_for_all_values_of_what_is_not_supposed(
    text: str, supposed: dict[str, object]
) -> None:
    is_true, value = answers(text, supposed)
    others = [name for name in SETTINGS if name not in supposed]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        compiled = compile(text, "<test>", "eval")
    for chosen in product(VALUES, repeat=len(others)):
        arguments = _Arguments(supposed | dict(zip(others, chosen, strict=True)))
        found = eval(compiled, {"args": arguments, "y": arguments.__dict__["q"]})
        assert is_true is None or is_true is bool(found), text
        assert value is UNSURE or (type(value) is type(found) and value == found), text
