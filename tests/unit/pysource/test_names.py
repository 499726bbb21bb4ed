"""What names mean: imports, instances, classes, functions of the program."""

from __future__ import annotations

import ast

import pytest

from .conftest import Build, last_use


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch\ntorch.optim.SGD(p)", "torch.optim.SGD"),
        ("import torch.optim as o\no.SGD(p)", "torch.optim.SGD"),
        ("from torch import optim\noptim.SGD(p)", "torch.optim.SGD"),
        ("from torch.optim.sgd import SGD as S\nS(p)", "torch.optim.SGD"),
        ("from torch.optim import *\nSGD(p)", "torch.optim.SGD"),
        (
            "from torch.cuda.amp.grad_scaler import GradScaler\nGradScaler()",
            _GS := "torch.cuda.amp.GradScaler",
        ),
        ("import torch\namp = torch.cuda.amp\namp.GradScaler()", _GS),
        (
            "try:\n  from torch.cuda import amp\nexcept ImportError:\n  amp = None\n"
            "amp.GradScaler()",
            _GS,
        ),
        ("if new:\n  from torch.cuda.amp import GradScaler\nGradScaler()", _GS),
        (
            "import functools, torch\nG = functools.partial(torch.cuda.amp.GradScaler, 4.0)\nG()",
            _GS,
        ),
        ("import torch\ngetattr(torch.cuda.amp, 'GradScaler')()", _GS),
        ("import torch\ntorch.autocast('cuda')", "torch.amp.autocast"),
        ("def SGD(p): pass\nSGD(p)", "main.py:SGD"),
        ("from torch.optim import SGD\ndef SGD(p): pass\nSGD(p)", "main.py:SGD"),
        ("from torch.optim import SGD\ndef f(SGD):\n  SGD(p)", ""),
        ("from torch.optim import *\nUnheardOf(p)", ""),
        ("from utils import *\ntf.keras.optimizers.SGD(p)", "tensorflow.keras.optimizers.SGD"),
        ("from .utils import *\ntorch.optim.SGD(p)", "torch.optim.SGD"),
        ("from numpy import *\ntorch.optim.SGD(p)", ""),
        ("from utils import *\nnn.SGD(p)", ""),
        ("torch.optim.SGD(p)", ""),
        ("float(x)", "float"),
        ("def float(x): pass\nfloat(x)", "main.py:float"),
        ("for SGD in things:\n  SGD(p)", ""),
    ],
)
def test_the_last_call_is_called(build: Build, text: str, expected: str) -> None:
    module = build(text).modules[0]
    outermost = [c for c in module.calls if isinstance(module.parent(c.node), ast.Expr)]
    assert outermost[-1].name == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from torch.cuda.amp import GradScaler\ns = GradScaler()\ns.step(o)", f"{_GS}.step"),
        (
            "from torch.cuda.amp import GradScaler\ns = GradScaler()\ns.scale(l).backward()",
            f"{_GS}.scale.backward",
        ),
        (
            "import torch\nm = torch.nn.Linear(2, 2).cuda().train()\nm.step()",
            "torch.nn.Linear.step",
        ),
        (
            "import torch\nfrom apex import amp\nm = torch.nn.Linear(2, 2)\n"
            "o = torch.optim.SGD(m.parameters())\nm, o = amp.initialize(m, o)\no.step()",
            "torch.optim.SGD.step",
        ),
        (
            "import torch\nfrom apex import amp\na, b = torch.optim.SGD(p), torch.optim.Adam(q)\n"
            "[m, n], [a, b] = amp.initialize([m, n], [a, b])\nb.step()",
            "torch.optim.Adam.step",
        ),
        (
            "import torch, accelerate\nacc = accelerate.Accelerator()\no = torch.optim.SGD(p)\n"
            "m, o, d = acc.prepare(m, o, d)\no.step()",
            "torch.optim.SGD.step",
        ),
        (
            "import deepspeed\ne, *_ = deepspeed.initialize(model=m)\ne.step()",
            "deepspeed.DeepSpeedEngine.step",
        ),
        (
            "import torch\ndef make(): return torch.optim.SGD(p)\no = make()\no.step()",
            "torch.optim.SGD.step",
        ),
        (
            "import torch\ndef make(): return 1, torch.optim.SGD(p)\n_, o = make()\no.step()",
            "torch.optim.SGD.step",
        ),
        ("import torch\ndef f(o):\n  o.step()\nf(torch.optim.SGD(p))", "torch.optim.SGD.step"),
        (
            "import torch\ndef f(x):\n  a, o = x\n  o.step()\nf([1, torch.optim.SGD(p)])",
            "torch.optim.SGD.step",
        ),
        ("import torch\ndef f(o: torch.optim.SGD):\n  o.step()", "torch.optim.SGD.step"),
        ("import torch\nfor o in (torch.optim.SGD(p),):\n  o.step()", "torch.optim.SGD.step"),
        (
            "import torch\nos = [torch.optim.SGD(p)]\nfor i, o in enumerate(os):\n  o.step()",
            "torch.optim.SGD.step",
        ),
        (
            "import torch\nos = [torch.optim.SGD(p) for p in q]\nfor a, o in zip(x, os):\n"
            "  o.step()",
            "torch.optim.SGD.step",
        ),
        ("def f(o):\n  o.step()", ""),
        (
            "import torch\ndef f(o):\n  o.step()\nf(torch.optim.SGD(p))\nf(torch.nn.Linear(1, 1))",
            "",
        ),
        ("import torch\no = torch.optim.SGD(p)\no = other\no.step()", ""),
        ("import torch\no = torch.optim.SGD(p)\ndef f():\n  o = None\n  o.step()", ""),
        ("import torch\no = torch.optim.SGD(p)\n[o.step() for o in os]", ""),
        ("'''o = torch.optim.SGD(p)'''\n# o = torch.optim.SGD(p)\no.step()", ""),
        ("import torch\nif False:\n  o = torch.optim.SGD(p)\no.step()", ""),
        (
            "def f():\n  global o\n  import torch\n  o = torch.optim.SGD(p)\no.step()",
            "torch.optim.SGD.step",
        ),
    ],
)
def test_instances(build: Build, text: str, expected: str) -> None:
    calls = build(text).calls()
    assert next(c for c in calls if c.method in ("step", "backward")).name == expected


CLASSES = """
import torch
from torch.cuda.amp import GradScaler

class Base:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.scaler = None

    def move(self):
        self.scaler.step(self.optimizer)

class Trainer(Base):
    def __init__(self, model):
        super().__init__(torch.optim.SGD(model.parameters()))
        self.scaler = GradScaler()

    def run(self):
        self.move()
        self.optimizer.zero_grad()
        self.missing()

trainer = Trainer(torch.nn.Linear(2, 2))
trainer.run()
"""


def test_attributes_across_methods_and_bases(build: Build) -> None:
    program = build(CLASSES)
    named = {c.method: c.name for c in program.calls()}
    assert named["move"] == "main.py:Base.move"
    assert named["zero_grad"] == "torch.optim.SGD.zero_grad"
    assert named["run"] == "main.py:Trainer.run"
    assert named["missing"] == "main.py:Trainer.missing"
    found = program.function(next(program.calls("main.py:Trainer.run")))
    assert found is not None
    assert found[1].name == "run"


def test_a_model_of_the_program_is_called(build: Build) -> None:
    program = build(
        """
        import torch
        class Net(torch.nn.Module):
            def forward(self, x): return x
        net = Net().to("cuda")
        out = net(1)
        net.parameters()
        """
    )
    call = next(program.calls("main.py:Net.__call__"))
    found = program.function(call)
    assert found is not None
    assert found[1].name == "forward"
    assert call.parameters() == ("x",)
    assert [c.name for c in program.calls("*.parameters")] == ["torch.nn.Module.parameters"]


def test_several_possible_names(build: Build) -> None:
    program = build(
        """
        import torch
        if args.adam:
            o = torch.optim.Adam(p)
        else:
            o = torch.optim.SGD(p)
        o.step()
        """
    )
    node, module = last_use(program, "o")
    assert module.resolve_all(node) == ("torch.optim.Adam", "torch.optim.SGD")
    assert len(list(program.calls("torch.optim.SGD.step"))) == 1


def test_imports_across_files(build: Build) -> None:
    program = build(
        files={
            "run/pkg/__init__.py": "from .tools import make as build\n",
            "run/pkg/tools.py": "import torch\nfrom . import conf\n"
            "def make(p):\n  return torch.optim.SGD(p, lr=conf.LR)\n",
            "run/pkg/conf.py": "LR = 0.5\nfrom .tools import make\n",
            "run/main.py": "from pkg import build\nimport pkg.conf as c\no = build(p)\n"
            "o.step()\nc.LR\n",
        }
    )
    assert len(list(program.calls("torch.optim.SGD.step"))) == 1
    assert next(program.calls("run/pkg/tools.py:make")).node.lineno == 3


def test_circular_programs_end(build: Build) -> None:
    program = build(
        files={
            "a.py": "from b import x\ny = x\nclass A(B): pass\nclass B(A):\n"
            "  def f(self):\n    self.x = self.y\n    self.y = self.x\n    return self.f()\n"
            "A().f().f()\nx.step()\n",
            "b.py": "from a import y\nx = y\ndef g(n): return g(n) + h(n)\ndef h(n): return g(n)\n"
            "g(h(1)).step()\n",
        }
    )
    assert all(isinstance(c.names, tuple) for c in program.calls())


def test_a_library_is_not_a_file_of_its_name(build: Build) -> None:
    program = build(
        files={"models/torch.py": "optim = 1\n", "main.py": "import torch\ntorch.optim.SGD(p)\n"}
    )
    assert next(program.calls("torch.optim.SGD")).node.lineno == 2


def test_lightning_has_one_name_in_searches(build: Build) -> None:
    program = build("import lightning.pytorch as pl\npl.Trainer(precision=16)\n")
    assert len(list(program.calls("pytorch_lightning.Trainer"))) == 1


def test_searches(build: Build) -> None:
    program = build("import torch\ns = torch.amp.GradScaler()\ns.scale(s.scale(a)).backward()\n")
    assert [c.method for c in program.calls("*.scale", "torch.amp.GradScaler")] == [
        "GradScaler",
        "scale",
        "scale",
    ]
    assert [c.name for c in program.calls("torch.amp.")] == [c.name for c in program.calls()]
    assert list(program.calls("scale")) == []
