"""Binding programs to the names of a release, here of a library that is made up."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.binding.binder import Bound, bind
from crosscast_migrate.binding.index import Index, PublicNames
from crosscast_migrate.binding.make_index import constructor
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
        "lib.layers": {"Dense": 0, "Base": 1, "Free": 2, "log": 3},
        "lib.math": {"log": 3},
    },
    "objects": [
        {"call": "units activation= * name=", "members": {"call": "x"}, "bases": [1]},
        {"call": "", "members": {"build": "shape training=", "kind": None}, "set": ["losses"]},
        {"call": None, "members": {"run": None}, "open": True},
        {"call": "x / base="},
        {"call": None},
    ],
    "unread": {"lib.broken": "ImportError"},
}
NAMES: Any = PublicNames(
    file=Path("not read"),
    added=frozenset({"lib.plugged"}),
    signatures={"lib.sqrt": ("x",), "lib.log2": ("x y **kwargs", "* name=")},
)
FITS = {
    "import": "import lib.layers\nimport lib.layers as l\nfrom lib.layers import Dense as D",
    "module that a function hides": "from lib.math import log\nimport lib\nlib.math(3)",
    "attribute that functools adds": "import lib\nlib.sqrt.cache_clear()\nlib.sqrt.__name__",
    "alias": "import lib\nlib.again.layers.Dense(3)",
    "what is not known": "import lib\nlib.open.anything.at_all(1)\nfrom lib.open import x",
    "what could not be read": "from lib.broken import x\nimport lib.broken.more",
    "what another package adds": "import lib\nlib.plugged.device_count()",
    "private": "import lib\nlib._private.thing",
    "star": "from lib.layers import *\nDense(3)",
    "arguments": "from lib.layers import Dense\nDense(3, 'relu', name='a')\nDense(units=3)",
    "starred arguments": "from lib.layers import Dense\nDense(*a)\nDense(**a)\nDense(3, **a)",
    "method": "from lib.layers import Dense\nd = Dense(3)\nd.call(1)\nd.build(shape=2)\nd.losses",
    "open class": "from lib.layers import Free\nFree(1, 2, a=3).anything(4)",
    "method of a derived class": """
        from lib.layers import Base
        class Own(Base):
            def more(self): ...
        Own().more()
        Own().unknown()
    """,
    "annotated": """
        from lib.layers import Base
        def use(layer: Base):
            layer.more(1)
    """,
    "one of two": """
        import other
        from lib.layers import Dense
        d = Dense(3) if flag else other.Thing()
        d.more()
    """,
    "tried": """
        try:
            from lib.gone import x
        except ImportError:
            x = None
    """,
    "instead": """
        try:
            import other
        except ImportError:
            import lib.gone as other
    """,
    "asked": """
        import lib
        if hasattr(lib, "gone"):
            lib.gone()
        y = lib.old(1) if lib.__version__ < "3" else lib.log(1)
        if device == "npu":
            lib.npu.set()
        if is_mlu_available():
            lib.mlu.set()
    """,
    "another library": "import librarian\nlibrarian.gone(1)\nfrom lib2.x import y",
    "relative": "from .lib import gone\nfrom . import lib\nlib.gone()",
    "a name that is set again": "import lib\nlib = make()\nlib.gone()",
    "one of two signatures": "import lib\nlib.log2(1, y=2, more=3)\nlib.log2(name='a')",
    "stored": "import lib\nlib.gone = 3",
    "stored in an object": """
        from lib.layers import Dense
        d = Dense(3)
        d.note = 4
        print(d.note)
    """,
    "never run": "import lib\nif False:\n    lib.gone()",
}
REFUSED = {
    "import": ("import lib.gone", [(1, "lib 3.1 has no lib.gone")]),
    "import of a module": ("from lib.gone import x, y", [(1, "lib 3.1 has no lib.gone")]),
    "import of a name": ("from lib.layers import Gone", [(1, "lib 3.1 has no lib.layers.Gone")]),
    "import from a function": ("from lib.sqrt import x", [(1, "lib.sqrt is no module in lib 3.1")]),
    "import below a function": (
        "from lib.sqrt.more import x",
        [(1, "lib.sqrt.more is no module in lib 3.1")],
    ),
    "attribute of a function": (
        "import lib\nlib.sqrt.more(3)",
        [(2, "lib.sqrt is a function in lib 3.1 and has no more")],
    ),
    "import of a class": (
        "import lib.layers.Dense",
        [(1, "lib.layers.Dense is no module in lib 3.1")],
    ),
    "import of a hidden module": ("from lib.math import x", [(1, "lib 3.1 has no lib.math.x")]),
    "name": ("import lib as l\nl.layers.Gone", [(2, "lib 3.1 has no lib.layers.Gone")]),
    "once for a chain": ("import lib\nlib.gone.more.still()", [(2, "lib 3.1 has no lib.gone")]),
    "keyword": (
        "from lib.layers import Dense\nDense(3, act=1)",
        [(2, "lib.layers.Dense of lib 3.1: it has no argument act")],
    ),
    "positional": (
        "from lib.layers import Dense\nDense(3, 'relu', 'a')",
        [(2, "lib.layers.Dense of lib 3.1: it takes 2 arguments by position, not 3")],
    ),
    "missing": (
        "from lib.layers import Dense\nDense()",
        [(2, "lib.layers.Dense of lib 3.1: it needs units")],
    ),
    "twice": (
        "from lib.layers import Dense\nDense(3, units=4)",
        [(2, "lib.layers.Dense of lib 3.1: units is given twice")],
    ),
    "only by position": (
        "import lib\nlib.log(x=3)",
        [(2, "lib.log of lib 3.1: it has no argument x")],
    ),
    "a signature that is given": (
        "import lib\nlib.sqrt(1, 2)",
        [(2, "lib.sqrt of lib 3.1: it takes 1 argument by position, not 2")],
    ),
    "none of two signatures": (
        "import lib\nlib.log2(more=3)",
        [(2, "lib.log2 of lib 3.1: it needs x, y")],
    ),
    "starred": (
        "from lib.layers import Dense\nDense(*a, act=1)",
        [(2, "lib.layers.Dense of lib 3.1: it has no argument act")],
    ),
    "method": (
        "from lib.layers import Dense\nd = Dense(3)\nd.run()",
        [(3, "lib.layers.Dense has no run in lib 3.1")],
    ),
    "method of a base": (
        "from lib.layers import Dense\nDense(3).build(1, mode=2)",
        [(2, "lib.layers.Dense.build of lib 3.1: it has no argument mode")],
    ),
    "attribute of self": (
        """
        from lib.layers import Dense
        class Net:
            def __init__(self):
                self.head = Dense(3)
            def use(self):
                return self.head.gone
        """,
        [(7, "lib.layers.Dense has no gone in lib 3.1")],
    ),
    "tried for another reason": (
        "import lib\ntry:\n    lib.gone()\nexcept ValueError:\n    pass",
        [(3, "lib 3.1 has no lib.gone")],
    ),
    "in a condition that has a word of it": (
        "import lib\nif args.gone_dir or gone:\n    lib.gone()",
        [(3, "lib 3.1 has no lib.gone")],
    ),
    "in a condition about something else": (
        "import lib\nif ready:\n    lib.gone()",
        [(3, "lib 3.1 has no lib.gone")],
    ),
}


def bound(text: str) -> Bound:
    """Bind a program of one file."""
    subject, failures = subject_of([Source("p.py", inspect.cleandoc(f"\n{text}") + "\n")])
    assert not failures
    assert subject.program is not None
    return bind(subject.program, Index(DOCUMENT, NAMES))


def cleaned_line(text: str, line: int) -> int:
    """The line of a place in a text whose first line may be empty."""
    return line - text.startswith("\n")


@pytest.mark.parametrize("name", FITS)
def test_what_fits_or_is_not_certain_is_no_place(name: str) -> None:
    assert bound(FITS[name]).unbound == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_release_refuses_is_a_place(name: str) -> None:
    text, expected = REFUSED[name]
    places = [(place.span.line, place.why) for place in bound(text).unbound]
    assert places == [(cleaned_line(text, line), why) for line, why in expected]


def test_names_that_exist_elsewhere_are_offered() -> None:
    assert bound("import lib\nlib.open2.log(3)").unbound[0].existing == ()
    assert bound("from lib import Dense").unbound[0].existing == ("lib.layers.Dense",)


def test_what_a_refused_call_takes_is_told() -> None:
    (place,) = bound("from lib.layers import Dense\nDense(act=1)").unbound
    assert place.accepted == "units, activation, name"
    assert place.is_call


class Cell:
    """Refuses keywords but one of a loop over them."""

    def __init__(self, cell: object, size: int = 1, **kwargs: object) -> None:
        for name in kwargs:
            if name not in {"seed"}:
                raise TypeError(name)
        self.cell = cell


class Wide(Cell):
    """Hands over a cell, and has a choice of words that are no keywords."""

    def __init__(self, units: int, mode: str = "one", **kwargs: object) -> None:
        if mode not in {"one", "other"}:
            raise ValueError(mode)
        super().__init__(units, **kwargs)  # type: ignore[arg-type]


def test_the_keywords_of_a_constructor_are_those_that_it_hands_on() -> None:
    assert constructor(Wide) == "units mode= * seed= size="


def test_what_was_bound_is_counted() -> None:
    text = "import lib\nlib.log(3)\nlib.gone()\nx.method()\nif hasattr(lib, 'a'):\n    lib.a"
    words = bound(text).words
    assert words == (
        "3 of 4 names and calls bound, 1 left to the program's own conditions, "
        "1 call of objects of unknown class"
    )
