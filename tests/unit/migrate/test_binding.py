"""Binding programs to the names of a release, here of a library that is made up."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.binding.binder import Bound, bind
from crosscast_migrate.binding.index import Index, Past, PublicNames
from crosscast_migrate.binding.make_index import constructor, signature
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
FITS = {
    "import": "import lib.layers\nimport lib.layers as l\nfrom lib.layers import Dense as D",
    "module that a function hides": "from lib.math import log\nimport lib\nlib.math(3)",
    "attribute that functools adds": "import lib\nlib.sqrt.cache_clear()\nlib.sqrt.__name__",
    "alias": "import lib\nlib.again.layers.Dense(3)",
    "what is not known": "import lib\nlib.open.anything.at_all(1)\nfrom lib.open import x",
    "what could not be read": "from lib.broken import x\nimport lib.broken.more",
    "what another package adds": "import lib\nlib.plugged.device_count()",
    "what a class makes of another": "from lib.layers import Dense\nDense(3).inputs",
    "private": "import lib\nlib._private.thing",
    "star": "from lib.layers import *\nDense(3)",
    "arguments": "from lib.layers import Dense\nDense(3, 'relu', name='a')\nDense(units=3)",
    "starred arguments": "from lib.layers import Dense\nDense(*a)\nDense(**a)\nDense(3, **a)",
    "method": "from lib.layers import Dense\nd = Dense(3)\nd.call(1)\nd.build(shape=2)\nd.losses",
    "member with another backend": "from lib.layers import Dense\nDense(3).to('x')",
    "attribute of what is not known": "import lib\nlib.log2.more",
    "hidden module of a function": "import lib\nlib.math.log",
    "open class": "from lib.layers import Free\nFree(1, 2, a=3).anything(4)",
    "method of a derived class": """
        from lib.layers import Base
        class Own(Base):
            def more(self): ...
        Own().more()
        Own().build(3, training=True)
    """,
    "constructor of a base": """
        from lib.layers import Dense
        class Own(Dense):
            def __init__(self, units):
                super().__init__(units, "relu", name="own")
        class Old(Dense):
            def __init__(self, *given, **more):
                super(Old, self).__init__(*given, **more)
                Dense.__init__(self, 3, activation=None)
    """,
    "constructor of an own class between": """
        from lib.layers import Dense
        class Middle(Dense):
            def __init__(self, kind): ...
        class Own(Middle):
            def __init__(self):
                super().__init__(kind=3)
        Own()
    """,
    "constructor where several bases meet": """
        from lib.layers import Dense
        class Other:
            def __init__(self, kind): ...
        class Own(Other, Dense):
            def __init__(self):
                super().__init__(kind=3)
        class Single(Dense):
            def __init__(self):
                super().__init__(kind=3)
        class Both(Single, Other): ...
    """,
    "constructor of a class of another library": """
        from lib.layers import Dense
        import other
        class Own(other.Thing):
            def __init__(self):
                super().__init__(kind=3)
        class Either(Dense if flag else other.Thing):
            def __init__(self):
                super().__init__(kind=3)
    """,
    "super of another class": """
        from lib.layers import Dense
        class Own(Dense):
            def __init__(self):
                super(Dense, self).__init__(kind=3)
                def inner():
                    super(self, Own).__init__(kind=3)
    """,
    "what a derived class defines": """
        from lib.layers import Base
        class Template(Base):
            def use(self):
                return self.part(1) + self.field
        class Own(Template):
            field: int = 3
            def part(self, x): ...
        Own().use()
    """,
    "what a mixin defines": """
        from lib.layers import Base
        class Part:
            def part(self, x): ...
        class Template(Base):
            def use(self):
                return self.part(1)
        class Own(Part, Template): ...
        Own().use()
        Template()
    """,
    "a class that others may derive from": """
        from lib.layers import Base
        class Template(Base):
            def use(self):
                return self.part(1)
    """,
    "attributes that cannot be listed": """
        from lib.layers import Base
        class Own(Base):
            def __getattr__(self, name): ...
        Own().anything()
        @made_here
        class Decorated(Base): ...
        Decorated().anything()
    """,
    "attributes that are set by name": """
        from lib.layers import Base
        class Own(Base): ...
        own = Own()
        for name in names:
            setattr(own, name, 3)
        own.anything()
    """,
    "a class that is written twice": """
        from lib.layers import Base
        if flag:
            class Own(Base): ...
        else:
            class Own:
                def more(self): ...
        Own().more()
    """,
    "own constructor": """
        from lib.layers import Dense
        class Own(Dense):
            def __init__(self, kind): ...
        class More(Own): ...
        Own(kind=3), More(kind=4)
        @dataclass
        class Fields(Dense):
            kind: int
        Fields(kind=3)
    """,
    "overridden method": """
        from lib.layers import Base
        class Own(Base):
            def build(self, anything, at, all): ...
        Own().build(1, 2, 3)
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
    "a default that looks like none": "import lib\nlib.again.sqrt(1)\nlib.again.sqrt(1, 2, 3)",
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
        "import lib\nlib.log.more(3)",
        [(2, "lib.log is a function in lib 3.1 and has no more")],
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
    "constructor of a base": (
        """
        from lib.layers import Dense
        class Own(Dense):
            def __init__(self):
                super().__init__(3, act=1)
        class Old(Dense):
            def __init__(self):
                super(Old, self).__init__()
                Dense.__init__(self, 3, "relu", "name")
        """,
        [
            (5, "lib.layers.Dense.__init__ of lib 3.1: it has no argument act"),
            (8, "lib.layers.Dense.__init__ of lib 3.1: it needs units"),
            (
                9,
                "lib.layers.Dense.__init__ of lib 3.1: it takes 2 arguments by position, not 3",
            ),
        ],
    ),
    "constructor behind an own class": (
        """
        from lib.layers import Dense
        class Middle(Dense):
            def more(self): ...
        class Own(Middle):
            def __init__(self):
                super().__init__(3, act=1)
        """,
        [(7, "lib.layers.Dense.__init__ of lib 3.1: it has no argument act")],
    ),
    "constructor that is not changed": (
        """
        from lib.layers import Dense
        class Own(Dense):
            def more(self): ...
        Own(3, act=1)
        """,
        [(5, "lib.layers.Dense of lib 3.1: it has no argument act")],
    ),
    "method of super": (
        """
        from lib.layers import Base
        class Own(Base):
            def build(self, shape):
                super().build(shape, mode=3)
                super().gone()
        """,
        [
            (5, "lib.layers.Base.build of lib 3.1: it has no argument mode"),
            (6, "lib.layers.Base has no gone in lib 3.1"),
        ],
    ),
    "method of an own class": (
        """
        from lib.layers import Base
        class Own(Base):
            def use(self):
                self.build(1, mode=2)
                return self.gone
        own = Own()
        own.unknown()
        """,
        [
            (5, "lib.layers.Base.build of lib 3.1: it has no argument mode"),
            (6, "lib.layers.Base has no gone in lib 3.1"),
            (8, "lib.layers.Base has no unknown in lib 3.1"),
        ],
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


Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def aliased(names: list[str]) -> Decorator:
    """A decorator that takes another keyword for one of the function."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if names[1] in kwargs:
                kwargs[names[0]] = kwargs.pop(names[1])
            return function(*args, **kwargs)

        return wrapper

    return decorate


def logged(names: list[str]) -> Decorator:
    """A decorator that changes no argument."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            names.append(str(kwargs.get("axis")))
            return function(*args, **kwargs)

        return wrapper

    return decorate


def dispatched(function: Any) -> Any:
    """A decorator that binds the arguments to the parameters before it calls."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(function).bind(*args, **kwargs)
        return function(*bound.args, **bound.kwargs) if "axis" in kwargs else None

    return wrapper


@dispatched
def added(rows: object, more: object, axis: int = 0) -> None:
    """Has no alias."""


@logged(["tensors"])
@aliased(["axis", "dim"])
def joined(rows: object, axis: int = 0) -> None:
    """Has an alias for one parameter."""


@logged(["axis", "dim"])
def stacked(rows: object, axis: int = 0, fill: object = inspect.Signature.empty) -> None:
    """Has none, and a default that looks like none."""


def test_keywords_that_decorators_take_are_known() -> None:
    assert signature(joined) == "rows= axis= * dim="
    assert signature(added) == "rows more axis="
    assert signature(stacked) == "rows axis= fill="
