"""CL901: where torch.cuda.amp is found, and that repairs bind arguments as the old class does."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.fix import repair
from crosscast_reading.lint.options import Options

ONLY = Options(codes=frozenset({"CL901"}))
LOOP = """\
for inputs, targets in loader:
    optimizer.zero_grad()
    with {autocast}:
        loss = model(inputs, targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
HEAD = "import torch\nmodel = torch.nn.Linear(4, 2)\n"
HEAD += "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"


def program(imports: str, scaler: str, autocast: str) -> str:
    return f"{imports}{HEAD}scaler = {scaler}\n{LOOP.format(autocast=autocast)}"


def look(text: str, versions: dict[str, str] | None = None) -> list[str]:
    options = Options(codes=ONLY.codes, versions=versions or {})
    results = lint_sources([Source("a.py", text)], options)
    assert all(result.is_finding for result in results)
    return [result.message.split()[0] for result in results]


def repaired(text: str) -> str:
    return repair([Source("a.py", text)], lambda s: lint_sources(s, ONLY)).texts.get("a.py", "")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("autocast()", 'autocast("cuda")'),
        ("autocast(False)", 'autocast("cuda", enabled=False)'),
        ("autocast(enabled=fp16)", 'autocast("cuda", enabled=fp16)'),
        (
            "autocast(True, torch.bfloat16, False)",
            'autocast("cuda", enabled=True, dtype=torch.bfloat16, cache_enabled=False)',
        ),
        (
            "autocast(\n        fp16,  # a switch\n        dtype=torch.bfloat16,\n    )",
            'autocast("cuda",\n        enabled=fp16,  # a switch\n        dtype=torch.bfloat16,\n'
            "    )",
        ),
        ("autocast('é' == x)", "autocast(\"cuda\", enabled='é' == x)"),
    ],
)
def test_arguments_are_bound_by_name(before: str, after: str) -> None:
    imports = "from torch.cuda.amp import GradScaler, autocast\n"
    text = program(imports, "GradScaler(2.0**10, growth_interval=100)", before)
    wanted = program(
        "from torch.amp import GradScaler, autocast\n",
        'GradScaler("cuda", 2.0**10, growth_interval=100)',
        after,
    )
    assert repaired(text) == wanted
    assert look(wanted) == []
    assert repaired(wanted) == ""


@pytest.mark.parametrize(
    ("imports", "prefix", "new_imports", "new_prefix"),
    [
        ("", "torch.cuda.amp.", "", "torch.amp."),
        ("from torch.cuda import amp\n", "amp.", "from torch import amp\n", "amp."),
        ("from torch.cuda import amp as a\n", "a.", "from torch import amp as a\n", "a."),
        ("import torch.cuda.amp as amp\n", "amp.", "import torch.amp as amp\n", "amp."),
        ("from torch.cuda.amp import *\n", "", "from torch.amp import *\n", ""),
        (
            "from torch.cuda.amp import (\n    autocast,\n    GradScaler,\n)\n",
            "",
            "from torch.amp import (\n    autocast,\n    GradScaler,\n)\n",
            "",
        ),
    ],
)
def test_imports_are_changed_with_the_calls(
    imports: str, prefix: str, new_imports: str, new_prefix: str
) -> None:
    text = program(imports, f"{prefix}GradScaler()", f"{prefix}autocast()")
    wanted = program(
        new_imports, f'{new_prefix}GradScaler("cuda")', f'{new_prefix}autocast("cuda")'
    )
    assert repaired(text) == wanted


def test_unused_names_of_the_module_move_with_it() -> None:
    imports = "from torch.cuda.amp import custom_bwd, custom_fwd\n"
    text = program(imports, "torch.cuda.amp.GradScaler()", "torch.cuda.amp.autocast()")
    new = imports.replace("torch.cuda", "torch")
    assert repaired(text) == program(
        new, 'torch.amp.GradScaler("cuda")', 'torch.amp.autocast("cuda")'
    )


def test_classes_of_two_libraries_stay() -> None:
    imports = f"if native:\n    {BOTH}\nelse:\n    from ours import GradScaler, autocast\n"
    assert repaired(program(imports, "GradScaler()", "autocast()")) == ""


@pytest.mark.parametrize("head", ["def train():", "if args.fp16:"])
def test_imports_that_are_not_at_the_top(head: str) -> None:
    text = f"{head}\n    from torch.cuda import amp\n    scaler = amp.GradScaler()\n"
    text += "    with amp.autocast():\n        loss = model(inputs)\n    scaler.scale(loss)\n"
    wanted = text.replace("torch.cuda", "torch").replace("()\n", '("cuda")\n', 1)
    assert repaired(text) == wanted.replace("autocast()", 'autocast("cuda")')


BOTH = "from torch.cuda.amp import GradScaler, autocast"


@pytest.mark.parametrize(
    ("imports", "scaler", "autocast"),
    [
        (f"{BOTH}, Reducer\n", "GradScaler()", "autocast()"),
        (f"{BOTH}\nkinds = [autocast]\n", "GradScaler()", "autocast()"),
        (f"{BOTH}\n", "GradScaler()", "autocast(*options)"),
        (f"{BOTH}\n", "GradScaler(device=x)", "autocast()"),
        ("import torch\namp = torch.cuda.amp\n", "amp.GradScaler()", "amp.autocast()"),
        (f"if version('torch') >= '1.6':\n    {BOTH}\n", "GradScaler()", "autocast()"),
        (f"if is_native_available():\n    {BOTH}\n", "GradScaler()", "autocast()"),
        (f"try:\n    {BOTH}\nexcept ImportError:\n    x = 0\n", "GradScaler()", "autocast()"),
    ],
)
def test_what_is_not_certain_is_found_and_left_to_a_person(
    imports: str, scaler: str, autocast: str
) -> None:
    text = program(imports, scaler, autocast)
    assert repaired(text) == ""
    assert look(text)


def test_the_device_is_kept() -> None:
    text = program("", "torch.cuda.amp.GradScaler()", "torch.cpu.amp.autocast()")
    assert repaired(text) == program(
        "", 'torch.amp.GradScaler("cuda")', 'torch.amp.autocast("cpu")'
    )


@pytest.mark.parametrize(
    "imports",
    [
        "try:\n    from torch.amp import GradScaler, autocast\n"
        "except ImportError:\n    from torch.cuda.amp import GradScaler, autocast\n",
        "from torch.amp import GradScaler, autocast\n",
        "from mine import GradScaler, autocast  # torch.cuda.amp\n",
    ],
)
def test_other_sources_of_the_names(imports: str) -> None:
    assert look(program(imports, "GradScaler()", "autocast('cuda')")) == []


def test_versions_decide() -> None:
    text = program("", "torch.cuda.amp.GradScaler()", "torch.cuda.amp.autocast()")
    assert len(look(text)) == 2
    assert look(text, {"torch": "2.3.1"}) == []
    assert len(look(text, {"torch": "2.4.0"})) == 2


def test_programs_that_only_infer_are_left_alone() -> None:
    text = (
        HEAD.splitlines()[0] + "\n# no optimizer here\nwith torch.cuda.amp.autocast():\n    f()\n"
    )
    assert look(text) == []
