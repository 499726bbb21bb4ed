"""CL901: names of torch.cuda.amp that are decorators, values, types, or come from another file."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.fix import repair
from crosscast_reading.lint.options import Options

ONLY = Options(codes=frozenset({"CL901"}))
LOOP = """
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs in loader:
    loss = step(model, inputs)
    loss.backward()
    optimizer.step()
"""


def repaired(text: str, **others: str) -> str:
    sources = [
        Source("a.py", text + LOOP),
        *(Source(f"{name}.py", other) for name, other in others.items()),
    ]
    texts = repair(sources, lambda found: lint_sources(found, ONLY)).texts
    return texts.get("a.py", "").removesuffix(LOOP)


def found(text: str, **others: str) -> list[str]:
    sources = [
        Source("a.py", text + LOOP),
        *(Source(f"{name}.py", other) for name, other in others.items()),
    ]
    return [result.hint for result in lint_sources(sources, ONLY)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("@custom_fwd\n", '@custom_fwd(device_type="cuda")\n'),
        ("@custom_bwd\n", '@custom_bwd(device_type="cuda")\n'),
        ("@custom_fwd()\n", '@custom_fwd(device_type="cuda")\n'),
        (
            "@custom_fwd(cast_inputs=torch.half)\n",
            '@custom_fwd(device_type="cuda", cast_inputs=torch.half)\n',
        ),
        (
            "@staticmethod\n@custom_fwd  # in half\n",
            '@staticmethod\n@custom_fwd(device_type="cuda")  # in half\n',
        ),
    ],
)
def test_decorators(before: str, after: str) -> None:
    head = "import torch\nfrom torch.cuda.amp import custom_bwd, custom_fwd\n"
    body = "def forward(ctx, x):\n    return x\n"
    assert (
        repaired(f"{head}{before}{body}") == f"{head.replace('torch.cuda', 'torch')}{after}{body}"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f = torch.cuda.amp.custom_fwd(f)", 'f = torch.amp.custom_fwd(f, device_type="cuda")'),
        (
            "f = torch.cuda.amp.custom_fwd(f, cast_inputs=half)",
            'f = torch.amp.custom_fwd(f, device_type="cuda", cast_inputs=half)',
        ),
        ("s = torch.cuda.amp.GradScaler(*a, **b)", 's = torch.amp.GradScaler("cuda", *a, **b)'),
        ("c = torch.cuda.amp.autocast(**b)", 'c = torch.amp.autocast("cuda", **b)'),
        (
            "ok = isinstance(s, torch.cuda.amp.GradScaler)",
            "ok = isinstance(s, torch.amp.GradScaler)",
        ),
        (
            "ok = isinstance(s, (A, torch.cuda.amp.GradScaler))",
            "ok = isinstance(s, (A, torch.amp.GradScaler))",
        ),
        (
            "def f(s: torch.cuda.amp.GradScaler | None) -> torch.cuda.amp.GradScaler: ...",
            "def f(s: torch.amp.GradScaler | None) -> torch.amp.GradScaler: ...",
        ),
        ("s: Optional[torch.cuda.amp.GradScaler] = 0", "s: Optional[torch.amp.GradScaler] = 0"),
        (
            "from functools import partial\nf = partial(torch.cuda.amp.autocast, enabled=x)",
            'from functools import partial\nf = partial(torch.amp.autocast, "cuda", enabled=x)',
        ),
        (
            "import functools\nf = functools.partial(torch.cuda.amp.autocast, x)",
            'import functools\nf = functools.partial(torch.amp.autocast, "cuda", enabled=x)',
        ),
        (
            "cast = torch.cuda.amp.autocast\nwith cast(enabled=x):\n    f()",
            'cast = lambda **options: torch.amp.autocast("cuda", **options)\n'
            "with cast(enabled=x):\n    f()",
        ),
        (
            "cast = torch.cuda.amp.autocast if x else nothing\nwith cast():\n    f()",
            'cast = (lambda: torch.amp.autocast("cuda")) if x else nothing\nwith cast():\n    f()',
        ),
        (
            "import torch as T\nwith T.cuda.amp.autocast(x):\n    f()",
            'import torch as T\nwith T.amp.autocast("cuda", enabled=x):\n    f()',
        ),
        (
            "from torch import cuda\nwith cuda.amp.autocast():\n    f()",
            'from torch import cuda\nwith torch.amp.autocast("cuda"):\n    f()',
        ),
        (
            "from torch.cuda.amp.grad_scaler import GradScaler\ns = GradScaler(2.0)",
            'from torch.amp.grad_scaler import GradScaler\ns = GradScaler("cuda", 2.0)',
        ),
        (
            "try:\n    from torch.cuda.amp import GradScaler\nexcept ImportError:\n    pass\n"
            "s = GradScaler()",
            "try:\n    from torch.amp import GradScaler\nexcept ImportError:\n    pass\n"
            's = GradScaler("cuda")',
        ),
        (
            "from torch.cuda.amp import autocast\nwith autocast():\n    f()\n"
            "def nested(autocast):\n    return autocast(3)",
            'from torch.amp import autocast\nwith autocast("cuda"):\n    f()\n'
            "def nested(autocast):\n    return autocast(3)",
        ),
    ],
)
def test_values_and_types(before: str, after: str) -> None:
    assert repaired(f"import torch\n{before}\n") == f"import torch\n{after}\n"
    assert repaired(f"import torch\n{after}\n") == ""
    assert found(f"import torch\n{after}\n") == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cast = torch.cuda.amp.autocast\nwith cast(False):\n    f()", "used as a value"),
        ("cast = torch.cuda.amp.autocast\nuse(cast)", "used as a value"),
        ("self.cast = torch.cuda.amp.autocast", "used as a value"),
        ("class Mine(torch.cuda.amp.GradScaler):\n    pass", "used as a value"),
        ("same = type(s) is torch.cuda.amp.GradScaler", "used as a value"),
        ("@torch.cuda.amp.autocast\ndef f():\n    pass", "used as a value"),
        ("amp = torch.cuda.amp\nwith amp.autocast():\n    f()", "torch.cuda.amp is used as a"),
        ("f = torch.cuda.amp.custom_fwd(device_type=x)", "not all arguments"),
        ("import functools\nf = functools.partial(torch.cuda.amp.autocast)", "used as a value"),
        ("x = torch.cuda.amp.common.amp_definitely_not_available()", "torch.amp has no"),
        ("from torch.cuda.amp import *\nuse(GradScaler)", "used as a value"),
        (
            "try:\n    from torch.cuda.amp import autocast\n    has = True\n"
            "except ImportError:\n    has = False\nif has:\n    cast = autocast()",
            "has a substitute",
        ),
        (
            "try:\n    s = torch.cuda.amp.GradScaler()\nexcept AttributeError:\n    s = 0",
            "goes on without it",
        ),
    ],
)
def test_what_stays_says_why(text: str, why: str) -> None:
    assert repaired(f"import torch\n{text}\n") == ""
    hints = found(f"import torch\n{text}\n")
    assert hints
    assert all(why in hint for hint in hints)


@pytest.mark.parametrize(
    "text",
    [
        "def f(new):\n    if version(torch) >= '2.4':\n        return torch.amp.autocast('cuda')\n"
        "    return torch.cuda.amp.autocast()",
        "c = torch.amp.autocast('cuda') if NEW else torch.cuda.amp.autocast()",
        "try:\n    c = torch.amp.GradScaler('cuda')\nexcept TypeError:\n"
        "    c = torch.cuda.amp.GradScaler()",
        "has = hasattr(torch.cuda.amp, 'autocast')",
        "has = getattr(torch.cuda.amp, 'autocast', None) is not None",
    ],
)
def test_a_choice_between_old_and_new_is_left_alone(text: str) -> None:
    assert found(f"import torch\n{text}\n") == []


def test_new_and_old_calls_in_one_file() -> None:
    before = "import torch\na = torch.amp.autocast('cpu')\nb = torch.cuda.amp.autocast()\n"
    assert repaired(before) == before.replace("cuda.amp.autocast()", 'amp.autocast("cuda")')


def test_names_that_come_from_another_file() -> None:
    common = "from torch.cuda.amp import autocast\n"
    text = "import torch\nfrom common import autocast\nwith autocast(False):\n    f()\n"
    new = text.replace("(False)", '("cuda", enabled=False)')
    assert repaired(text, common=common) == new
    star = text.replace("import autocast", "import *")
    assert repaired(star, common=common) == new.replace("import autocast", "import *")
    stays = "from common import autocast\nuse(autocast)\n"
    assert repaired(text, common=common, other=f"import a\n{stays}") == ""
    assert repaired(text + "use(autocast)\n", common=common) == ""
