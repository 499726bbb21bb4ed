"""Binding programs to the names of a release, here of a library that is made up."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from bound_programs import FITS, REFUSED
from crosscast.messages.source import Source
from crosscast_migrate.binding.binder import Bound, bind
from crosscast_migrate.binding.index import Index, Past, PublicNames
from crosscast_reading.sources.subject_builder import subject_of

DOCUMENT: dict[str, Any] = {
    "releases": {"lib": "3.1"},
    "modules": {
        "lib": {
            "layers": "lib.layers",
            "open": None,
            "log": 3,
            "sqrt": 4,
            "log2": 4,
            "again": "lib",
            "math": 3,
        },
        "lib.layers": {"Dense": 0, "Base": 1, "Free": 2, "log": 3, "plain": 5},
        "lib.math": {"log": 3},
    },
    "objects": [
        {"call": "units activation= * name=", "members": {"call": "x"}, "bases": [1]},
        {"call": "", "members": {"build": "shape training=", "kind": None}, "set": ["losses"]},
        {"call": None, "members": {"run": None}, "open": True},
        {"call": "x / base="},
        {"call": None},
        {"call": "kind=", "set": ["kind"]},
    ],
    "unread": {"lib.broken": "ImportError"},
}
PAST: dict[str, Any] = {
    "lib": {
        "releases": ["1.0", "2.0", "3.1"],
        "names": {
            "lib": {"Thick": [0, "lib.layers.Dense"], "gone": [1, ""], "core": [0, ""]},
            "lib.core": {"Dense": [0, "lib.layers.Dense"]},
        },
    }
}
NAMES: Any = PublicNames(
    file=Path("not read"),
    added=frozenset({"lib.plugged", "lib.layers.Dense.inputs"}),
    members={"lib.layers.Base": frozenset({"to"})},
    signatures={
        "lib.sqrt": ("x",),
        "lib.log2": ("x y **kwargs", "* name="),
        "lib.again.sqrt": ("x y= z",),
    },
)


def bound(text: str, **more: str) -> Bound:
    """Bind a program: `p.py` and other files by their names."""
    texts = {"p": text, **more}
    subject, failures = subject_of(
        [Source(f"{name}.py", inspect.cleandoc(f"\n{each}") + "\n") for name, each in texts.items()]
    )
    assert not failures
    assert subject.program is not None
    return bind(subject.program, Index(DOCUMENT, NAMES, PAST))


def cleaned_line(text: str, line: int) -> int:
    """The line of a place in a text whose first line may be empty."""
    return line - text.startswith("\n")


@pytest.mark.parametrize("name", FITS)
def test_what_fits_or_is_not_certain_is_no_place(name: str) -> None:
    assert bound(FITS[name]).unbound == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_release_refuses_is_a_place(name: str) -> None:
    text, expected = REFUSED[name]
    places = sorted((place.span.line, place.why) for place in bound(text).unbound)
    assert places == [(cleaned_line(text, line), why) for line, why in expected]


def test_objects_are_followed_across_files() -> None:
    made = bound(
        """
        from parts import Own, make
        class Net(Own):
            def __init__(self):
                super().__init__(kind=1)
                self.head = make()
            def use(self):
                self.head.gone()
                self.build(1, mode=2)
        def train(net):
            net.more_gone()
        train(Net())
        """,
        parts="""
        from lib.layers import Base, Dense
        class Own(Base): ...
        def make():
            return Dense(3)
        """,
    )
    assert sorted((place.span.line, place.why) for place in made.unbound) == [
        (4, "lib.layers.Base.__init__ of lib 3.1: it has no argument kind"),
        (7, "lib.layers.Dense has no gone in lib 3.1"),
        (8, "lib.layers.Base.build of lib 3.1: it has no argument mode"),
        (10, "lib.layers.Base has no more_gone in lib 3.1"),
    ]


def test_calls_of_super_that_cannot_be_told_are_counted() -> None:
    made = bound(FITS["constructor where several bases meet"])
    assert made.unknown == 2
    assert bound(FITS["constructor of a class of another library"]).unknown == 1


def test_names_that_exist_elsewhere_are_offered() -> None:
    assert bound("import lib\nlib.open2.log(3)").unbound[0].existing == ()
    assert bound("from lib import Dense").unbound[0].existing == ("lib.layers.Dense",)


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("import lib\nlib.Thick(3)", ("lib.Thick", "1.0", "2.0", "lib.layers.Dense")),
        ("import lib\nlib.gone", ("lib.gone", "2.0", "3.1", "")),
        ("import lib\nlib.gone.more(3)", ("lib.gone", "2.0", "3.1", "")),
        (
            "import lib\nlib.core.Dense.add()",
            ("lib.core.Dense", "1.0", "2.0", "lib.layers.Dense.add"),
        ),
        ("from lib.core import Dense", ("lib.core.Dense", "1.0", "2.0", "lib.layers.Dense")),
        ("from lib.core import Dense, Thin", ("lib.core", "1.0", "2.0", "")),
        ("import lib\nlib.never", None),
        ("import lib\nlib.corex.Dense", None),
    ],
)
def test_what_became_of_a_name_is_told(text: str, past: tuple[str, ...] | None) -> None:
    told = bound(text).unbound[0].past
    assert told == (None if past is None else Past(*past))


def test_what_a_refused_call_takes_is_told() -> None:
    (place,) = bound("from lib.layers import Dense\nDense(act=1)").unbound
    assert place.accepted == "units, activation, name"
    assert place.is_call


def test_an_import_is_counted_once() -> None:
    made = bound("import lib.layers\nfrom lib.sqrt import x\nimport lib.layers.Dense")
    assert (made.bound, len(made.unbound)) == (1, 2)


def test_what_was_bound_is_counted() -> None:
    text = "import lib\nlib.log(3)\nlib.gone()\nx.method()\nif hasattr(lib, 'a'):\n    lib.a"
    words = bound(text).words
    assert words == (
        "3 of 4 names and calls bound, 1 left to the program's own conditions, "
        "1 call of objects of unknown class"
    )
