"""CM102: what records that apex is installed moves with the loop, or the loop stays."""

from __future__ import annotations

import pytest

from unit.migrate.migrating import changed, migrate, refused

LOOP = """\
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if half:
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
{more}for inputs in loader:
    loss = model(inputs).mean()
    optimizer.zero_grad()
    if half:
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
    else:
        loss.backward()
    optimizer.step()
"""


def program(imports: str, record: str, more: str = "", half: str = "half = has_apex\n") -> str:
    head = "import torch\n\ntry:\n" + "".join(f"    {row}\n" for row in imports.splitlines())
    head += f"    {record} = True\nexcept ImportError:\n    {record} = False\n"
    return f"{head}{half}{LOOP.format(more=more)}"


def test_the_flag_is_true_without_apex() -> None:
    text = changed("CM102", program("from apex import amp", "has_apex"))
    assert text.startswith("import torch\n\nhas_apex = True\nhalf = has_apex\n")
    assert "apex" not in text.replace("has_apex", "")


def test_two_imports_of_amp_go_with_one_record() -> None:
    text = changed("CM102", program("import apex\nfrom apex import amp", "has_apex"))
    assert text.startswith("import torch\n\nhas_apex = True\nhalf = has_apex\n")


def test_a_function_that_asks_in_the_file_of_the_loop_says_yes() -> None:
    asks = "def is_there():\n    try:\n        import apex\n        return True\n"
    asks += "    except ImportError:\n        return False\n\n\n"
    text = f"import torch\n{asks}half = is_there()\nif half:\n    from apex import amp\n"
    new = changed("CM102", text + LOOP.format(more=""))
    assert "def is_there():\n    try:\n        return True\n" in new
    assert "apex" not in new


def test_a_record_of_the_whole_package_whose_parts_are_used_keeps_the_loop() -> None:
    more = "model = apex.parallel.convert_syncbn_model(model)\n"
    text = program("import apex\nfrom apex import amp", "has_apex", more)
    assert "records whether apex is installed" in refused("CM102", text)


@pytest.mark.parametrize(
    "imports",
    [
        "from apex.parallel import DistributedDataParallel as DDP",
        "from apex.optimizers import FusedLAMB",
        "import apex.contrib.x",
    ],
)
def test_a_record_beside_other_imports_of_apex_keeps_the_loop(imports: str) -> None:
    text = program(f"from apex import amp\n{imports}", "has_apex", "use(x)\n")
    [refusal] = migrate("CM102", text).refusals
    assert refusal.message.startswith("`has_apex = True` records whether apex is installed")
    assert "write here what is recorded if apex is installed" in refusal.hint
    assert refusal.span is not None
    assert refusal.span.line == 3


def test_a_function_that_asks_beside_the_loop_keeps_it() -> None:
    asks = "def is_there():\n    try:\n        import apex\n        return True\n"
    asks += "    except ImportError:\n        return False\n"
    text = "import torch\nfrom asks import is_there\nhalf = is_there()\nif half:\n"
    text += f"    from apex import amp\n{LOOP.format(more='')}"
    assert "`return True` records whether apex" in refused("CM102", text, asks=asks)


def test_a_name_that_another_file_takes_keeps_the_loop() -> None:
    loop = LOOP.format(more="")
    common = "try:\n    from apex import amp\nexcept ImportError:\n    amp = None\n"
    text = f"import torch\nfrom common import amp\nhalf = True\n{loop}"
    assert "`amp = None` records whether apex" in refused("CM102", text, common=common)


def test_other_things_that_a_try_does_stay() -> None:
    text = program("from apex import amp\nimport numpy", "has_apex")
    new = migrate("CM102", text).texts["train.py"]
    assert "try:\n    import numpy\n    has_apex = True\nexcept" in new


def test_an_import_in_a_function_that_returns_without_apex() -> None:
    text = """\
import torch


def main(model):
    try:
        from apex.parallel import DistributedDataParallel as DDP
        model = DDP(model)
    except Exception as error:
        print(error)
        return
"""
    new = changed("CM104", text)
    assert "model = torch.nn.parallel.DistributedDataParallel(model, broadcast_buffers" in new
    assert "apex" not in new


@pytest.mark.parametrize(
    "question", ["importlib.util.find_spec('apex') is not None", "transformers.is_apex_available()"]
)
def test_a_question_to_a_library_keeps_the_loop(question: str) -> None:
    head = f"import importlib.util\nimport torch\nimport transformers\nhalf = {question}\n"
    text = f"{head}if half:\n    from apex import amp\n{LOOP.format(more='')}"
    assert "asks whether apex is installed" in refused("CM102", text)


def test_a_question_that_only_decides_about_the_import_goes() -> None:
    head = "import torch\nfrom transformers import is_apex_available\n"
    text = f"{head}if is_apex_available():\n    from apex import amp\nhalf = args.half\n"
    assert "from apex" not in changed("CM102", text + LOOP.format(more=""))
