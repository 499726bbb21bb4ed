"""Values without a run."""

from __future__ import annotations

import pytest

from crosscast_reading.pysource.evaluation.conditions import truth
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.combine import settled
from crosscast_reading.pysource.values.value import Choice, Instance, Known, Symbol, Unknown, Value

from .conftest import Build, last_use


def value_of(build: Build, text: str, name: str = "x") -> Value:
    program = build(f"{text}\n({name})\n")
    return evaluate(*last_use(program, name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 3", 3),
        ("x = -2 ** 2", -4),
        ("x = 2. ** 16", 65536.0),
        ("n = 8\nx = n // 3 + 1", 3),
        ("n = 'a'\nx = f'{n}-{1 + 1}'", "a-2"),
        ("x = [1, 2, *(3, 4)]", [1, 2, 3, 4]),
        ("x = {'a': 1, **{'b': 2}}", {"a": 1, "b": 2}),
        ("x = {'a': {'b': [1, 5]}}['a']['b'][-1]", 5),
        ("d = {'a': {'b': 5}}\nx = d['a']['b']", 5),
        ("d = dict(a=dict(b=5))\nx = d['a'].get('b', 1)", 5),
        ("d = dict(a=1)\nx = d.get('b', 7)", 7),
        ("d = {'a': 1}\nd['a'] = 2\nx = d['a']", 2),
        ("k = 'a'\nd = {'a': 1}\nx = d[k]", 1),
        ("from types import SimpleNamespace\nc = SimpleNamespace(lr=0.1)\nx = c.lr", 0.1),
        ("from easydict import EasyDict as E\nc = E({'t': {'lr': 0.1}})\nx = c.t.lr", 0.1),
        (
            "from yacs.config import CfgNode as CN\nc = CN()\nc.T = CN()\nc.T.LR = 3\n"
            "g = c.clone()\nx = g.T.LR",
            3,
        ),
        (
            "import ml_collections as m\ndef get():\n  c = m.ConfigDict()\n"
            "  c.o = o = m.ConfigDict()\n"
            "  o.lr = 0.2\n  return c\ncfg = get()\nx = cfg.o.lr",
            0.2,
        ),
        ("class C:\n  lr = 0.1\nx = C.lr", 0.1),
        ("class C:\n  lr: float = 0.1\nx = C(lr=0.3).lr", 0.3),
        ("class C:\n  def __init__(self, lr=1): self.lr = lr * 2\nc = C(4)\nx = c.lr", 8),
        ("import math\nx = math.ceil(2.5)", 3),
        ("x = int('16') * float('0.5')", 8.0),
        ("x = 'FP16'.lower()", "fp16"),
        ("x = max(1, 5, 3)", 5),
        ("a, (b, x) = 1, (2, 3)", 3),
        ("x = 1\nx = 2", 2),
        ("x = 1\nx += 4", 5),
        ("x = 1 if True else 2", 1),
        ("DEBUG = False\nif DEBUG:\n  x = 1\nelse:\n  x = 2", 2),
        ("def f(n): return n * 2\nx = f(4)", 8),
        ("def f(**k):\n  return k['a'] * 6\nx = f(a=1)", 6),
        ("x = not []", True),
        ("x = 1 < 2 <= 2", True),
        ("x = None or 4", 4),
        ("with open(p) as f:\n  x = 4", 4),
        ("import copy\nd = {'a': 1}\ne = copy.deepcopy(d)\nx = e['a']", 1),
    ],
)
def test_known(build: Build, text: str, expected: object) -> None:
    value = value_of(build, text)
    assert isinstance(value, Known), value
    assert value.value == expected
    assert type(value.value) is type(expected)


@pytest.mark.parametrize(
    "text",
    [
        "x = 9 ** 9 ** 9 ** 9",
        "x = 1 << 10 ** 9",
        "x = 'a' * 10 ** 12",
        "x = [0] * 10 ** 12",
        "x = '%1000000000d' % 1",
        "x = 10.0 ** 400",
        "x = (-8) ** 0.5",
        "x = 1 / 0",
        "x = 1 + 'a'",
        "x = [1][7]",
        "x = {}['a']",
        "x = y\ny = x",
        "x = x",
        "x = int(input())",
        "x = [i for i in y]",
        "x = 0\nfor i in y:\n  x += 1",
        "x = 0\nwhile y:\n  x = x + 1",
        "for x in range(3):\n  pass",
        "x = load()['a']",
        "import config\nx = config.lr",
        "x = lambda: 3",
        "x = f'{y:>10}'",
        "x = undefined",
        "def f():\n  yield 3\nx = f()",
    ],
)
def test_not_known(build: Build, text: str) -> None:
    value = value_of(build, text)
    assert isinstance(value, Unknown | Instance | Symbol), value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 2 ** 4", ("literal", "")),
        ("N = 4\nx = N", ("constant", "")),
        ("N = 4\nx = N * 2", ("derived", "")),
        ("d = {'a': 4}\nx = d['a']", ("config", "d['a']")),
    ],
)
def test_origins(build: Build, text: str, expected: tuple[str, str]) -> None:
    program = build(f"{text}\nprint(x)\n")
    module = program.modules[0]
    node = module.tree.body[-2]
    value = evaluate(node.value, module)  # type: ignore[attr-defined]
    assert isinstance(value, Known)
    assert (value.origin, value.flag) == expected


def test_library_names_and_instances(build: Build) -> None:
    assert value_of(build, "import torch\nx = torch.float16") == Symbol("torch.float16")
    made = value_of(build, "import torch\nx = torch.optim.SGD(p)")
    assert isinstance(made, Instance)
    assert made.made_by == "torch.optim.SGD"
    member = value_of(build, "import torch\no = torch.optim.SGD(p)\nx = o.defaults")
    assert isinstance(member, Unknown)


def test_conditions_give_choices(build: Build) -> None:
    value = value_of(build, "def f(a):\n  return 1\nx = 4 if f(b) > c else 8")
    assert value == Choice((("f(b) > c", Known(4)), ("not (f(b) > c)", Known(8))))
    value = value_of(build, "x = 1\nif a:\n  x = 2\nelif b:\n  x = 3")
    assert isinstance(value, Choice)
    assert [v for _, v in value.options] == [Known(1), Known(2), Known(3)]
    value = value_of(build, "x = 1\nif a:\n  x = 2\nelse:\n  x = 3")
    assert isinstance(value, Choice)
    assert [c for c, _ in value.options] == ["a", "not a"]
    assert value_of(build, "if a:\n  x = 2\nelse:\n  x = 2") == Known(2, "constant")


def test_a_branch_that_leaves_is_no_option(build: Build) -> None:
    text = "def f(a):\n  x = 1\n  if a:\n    x = 2\n    return x\n  return [x]"
    program = build(text)
    returned = program.modules[0].tree.body[0].body[-1].value.elts[0]  # type: ignore[attr-defined]
    assert evaluate(returned, program.modules[0]) == Known(1, "constant")


def test_choices_go_through_arithmetic(build: Build) -> None:
    value = value_of(build, "n = 2 if a else 3\nx = n * n")
    assert isinstance(value, Choice)
    assert [c for c, _ in value.options] == ["a", "not a"]
    assert [v.value for _, v in value.options if isinstance(v, Known)] == [4, 9]


def test_parameters(build: Build) -> None:
    program = build("def f(a, n=4):\n  return n * 2\nf(1)\nf(2, 3)\n")
    value = evaluate(*last_use(program, "n * 2"))
    assert isinstance(value, Unknown)
    assert (value.default, value.has_default, value.names) == (8, True, ("n",))
    program = build("def f(n=4):\n  return n\n")
    value = evaluate(*last_use(program, "n"))
    assert value == Unknown("n", "an argument of f", "function_argument", 4, True, names=("n",))
    assert evaluate(*last_use(build("def f(n):\n  return n\nf(6)\n"), "n")) == Known(6, "constant")
    assert evaluate(*last_use(build("def f(n=4):\n  return n\nf()\n"), "n")) == Known(
        4, "function_argument"
    )
    assert isinstance(evaluate(*last_use(build("def f(n=4):\n  return n\nf(**k)\n"), "n")), Unknown)


def test_the_environment(build: Build) -> None:
    value = value_of(build, "import os\nx = int(os.environ.get('WORLD_SIZE', '1'))")
    assert isinstance(value, Unknown)
    assert (value.origin, value.default, value.names) == ("shell_variable", 1, ("WORLD_SIZE",))
    assert value_of(build, "import os\nos.environ['A'] = '1'\nx = os.environ['A']") == Known(
        "1", "config", "os.environ['A']"
    )


def test_truth(build: Build) -> None:
    program = build(
        "a = 3\nif a > 2 and unknown or not a:\n  pass\nif a == 3 or unknown:\n  pass\n"
    )
    module = program.modules[0]
    tests = [n.test for n in module.tree.body[1:]]  # type: ignore[attr-defined]
    assert [truth(t, module) for t in tests] == [None, True]


def test_doubling_constants_end(build: Build) -> None:
    rows = "\n".join(f"a{n + 1} = a{n} + a{n}" for n in range(300))
    assert isinstance(value_of(build, f"a0 = 1\n{rows}", "a300"), Known | Unknown)


@pytest.mark.parametrize(
    ("factory", "rate"),
    [("Optim", 3e-4), ("lambda: Optim(lr=0.5)", 0.5), ("lambda: Optim()", 3e-4)],
)
def test_a_dataclass_in_a_dataclass(build: Build, factory: str, rate: float) -> None:
    program = build(
        f"""
        from dataclasses import dataclass, field

        @dataclass
        class Optim:
            lr: float = 3e-4

        @dataclass
        class Config:
            optim: Optim = field(default_factory={factory})

        config = Config()
        print(config.optim.lr)
        """
    )
    value = evaluate(*last_use(program, "config.optim.lr"))
    assert isinstance(value, Known)
    assert value.value == rate


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x = 8 if args.long else 4", 4),
        ("x = 2 * (8 if args.long else 4)", 8),
        ("x = 8 if load() else 4", None),
        ("x = (8 if args.long else 4) * (1 if load() else 2)", None),
    ],
)
def test_the_defaults_of_flags_settle_a_choice(build: Build, text: str, wanted: object) -> None:
    parsed = (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--long', action='store_true')\nargs = parser.parse_args()\n"
    )
    value = settled(value_of(build, parsed + text))
    assert (value.value if isinstance(value, Known) else None) == wanted
