"""Programs bound to a release of a made-up library, and the places in which they do not fit it."""

from __future__ import annotations

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
    "tried with other arguments": """
        import lib
        try:
            lib.log(1, new=2)
        except TypeError:
            lib.log(1)
        try:
            lib.log(1, new=2)
        except ValueError:
            lib.log(1)
    """,
    "suppressed": """
        from contextlib import suppress
        with suppress(ImportError):
            import lib.gone
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
        [(2, "lib 3.1 has no lib.log.more")],
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
    "attribute of a class with nothing but what it sets": (
        "from lib.layers import plain\nplain(3).kind\nplain(3).gone\nplain.more",
        [
            (3, "lib.layers.plain has no gone in lib 3.1"),
            (4, "lib 3.1 has no lib.layers.plain.more"),
        ],
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
    "in a handler of something else": (
        "import lib\ntry:\n    run()\nexcept KeyboardInterrupt:\n    lib.gone()",
        [(5, "lib 3.1 has no lib.gone")],
    ),
    "tried, and raised again": (
        "import lib\ntry:\n    lib.gone()\nexcept Exception as error:\n    log(error)\n    raise",
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
