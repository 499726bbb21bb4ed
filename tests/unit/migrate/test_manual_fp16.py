"""CM105: half precision by hand."""

from __future__ import annotations

import pytest

from crosscast_torch.migration.experimental.manual.examples import MANUAL
from unit.migrate.migrating import changed, refused, stays

LOOP = MANUAL[0].before


def test_a_scaled_loss_of_its_own_name() -> None:
    text = LOOP.replace(
        "    (loss * SCALE).backward()\n", "    scaled = SCALE * loss\n    scaled.backward()\n"
    )
    after = changed("CM105", text)
    assert "scaled" not in after
    assert "    scaler.scale(loss).backward()\n" in after


def test_the_scale_is_taken_out_in_a_loop_of_its_own() -> None:
    text = LOOP.replace("p.grad.detach().float() / SCALE", "p.grad.detach().float()")
    text = text.replace(
        "    torch.nn.utils.clip",
        "    for m in masters:\n        m.grad.data.mul_(1.0 / SCALE)\n    torch.nn.utils.clip",
    )
    assert "SCALE" in changed("CM105", text).split("init_scale=")[1]


def test_within_a_function_and_with_a_flag() -> None:
    body = LOOP.replace("import torch\n\nSCALE = 1024.0\n", "").replace("SCALE", "args.loss_scale")
    text = "import torch\n\n\ndef train(args, loader):\n" + "".join(
        f"    {line}\n" for line in body.splitlines()
    )
    assert "init_scale=args.loss_scale," in changed("CM105", text)


@pytest.mark.parametrize(
    "line",
    [
        "SCALE, EPOCHS = 1024.0, 3",
        "EPOCHS, (SCALE, OTHER) = 3, (1024, 2)",
        "[SCALE, EPOCHS] = [1024.0, 3]",
        "SCALE: float = 1024.0",
        "SCALE = OTHER = 1024.0",
    ],
)
def test_a_scale_that_is_set_once(line: str) -> None:
    for text in (LOOP, in_main(LOOP)):
        assert "init_scale=SCALE," in changed("CM105", text.replace("SCALE = 1024.0", line))


def in_main(text: str) -> str:
    """The loop as a function, the scale outside of it."""
    head, _, body = text.partition("SCALE = 1024.0\n")
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{head}SCALE = 1024.0\n\n\ndef main(loader):\n{lines}"


@pytest.mark.parametrize(
    "line",
    [
        "SCALE, EPOCHS = sizes",
        "SCALE, EPOCHS = compute(), 3",
        "*FIRST, SCALE = 1, 1024.0",
        "SCALE, EPOCHS = True, 3",
        "SCALE, EPOCHS = [1024.0], 3",
        "SCALE, EPOCHS = 1024.0, 3\nSCALE *= 2",
        "SCALE, EPOCHS = 1024.0, 3\nif small:\n    SCALE = 8.0",
        "SCALE, EPOCHS = 1024.0, 3\n\n\ndef grow():\n    global SCALE\n    SCALE *= 2\n\n",
        "for SCALE in (1.0, 2.0):\n    print(SCALE)",
        "from settings import SCALE",
    ],
)
def test_a_scale_that_may_change(line: str) -> None:
    text = in_main(LOOP).replace("SCALE = 1024.0", line)
    assert "it is not certain that SCALE is a constant" in refused("CM105", text)


def test_a_scale_that_a_parameter_hides() -> None:
    text = in_main(LOOP).replace("main(loader)", "main(loader, SCALE=2.0)")
    assert "it is not certain that SCALE is a constant" in refused("CM105", text)


def test_a_scale_that_is_set_behind_the_optimizer() -> None:
    text = LOOP.replace("SCALE = 1024.0\n", "").replace(
        "for inputs, targets", "SCALE = 1024.0\nfor inputs, targets"
    )
    assert "SCALE is not defined before" in refused("CM105", text)


@pytest.mark.parametrize("line", ["optimizer.zero_grad()", "pass"])
def test_half_gradients_that_are_never_cleared(line: str) -> None:
    text = LOOP.replace("model.zero_grad()", line)
    assert "never cleared" in refused("CM105", text)


@pytest.mark.parametrize("line", ["p.grad = None", "p.grad.data.zero_()"])
def test_half_gradients_that_are_cleared_one_by_one(line: str) -> None:
    text = LOOP.replace("model.zero_grad()", f"for p in model.parameters():\n        {line}")
    assert "scaler.step(optimizer)" in changed("CM105", text)


def test_copies_of_some_weights() -> None:
    text = LOOP.replace(
        "for p in model.parameters()]", "for p in model.parameters() if p.requires_grad]"
    )
    after = changed("CM105", text)
    assert "SGD([p for p in model.parameters() if p.requires_grad], lr=0.1" in after


def test_a_model_that_is_made_half_in_a_line_of_its_own() -> None:
    for line in ("model.half()", "model = model.half()"):
        text = LOOP.replace(".cuda().half()\nmasters", f".cuda()\n{line}\nmasters")
        assert ".half()" not in changed("CM105", text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" / SCALE", ""),
        (" / SCALE", " / SCALE / 2"),
        ("(loss * SCALE).backward()", "loss.backward()"),
        ("(loss * SCALE).backward()", "(loss * SCALE + penalty).backward()"),
        ("SCALE = 1024.0", "SCALE = compute()"),
        ("    optimizer.step()", "    SCALE = SCALE * 2\n    optimizer.step()"),
        (
            "    optimizer.step()",
            "    if masters[0].grad.isnan():\n        break\n    optimizer.step()",
        ),
        ("    optimizer.step()", "    loss.backward()\n    optimizer.step()"),
        ("    optimizer.step()\n", "    optimizer.step(closure)\n"),
        ("            p.copy_(master)\n", "            other(p, master)\n"),
        ("for master in masters:\n", "for master in masters:\n    print(master)\n"),
        ("SGD(masters", "SGD([{'params': masters}]"),
        ("torch.optim.SGD(masters", "Own(masters"),
        ("    torch.nn.utils.clip", "    if late:\n        torch.nn.utils.clip"),
        ("import torch\n", "import torch\n\n\ndef test(x):\n    return x.half()\n\n\n"),
        ("import torch\n", "import torch\nscaler = StandardScaler()\n"),
    ],
)
def test_loops_that_do_something_else(old: str, new: str) -> None:
    text = LOOP.replace(old, new)
    assert text != LOOP
    refused("CM105", text)


@pytest.mark.parametrize(
    "name",
    ["network_to_half", "prep_param_lists", "master_params_to_model_params"],
)
def test_helpers_of_apex(name: str) -> None:
    text = f"from apex.fp16_utils import *\nfrom apex.fp16_utils import {name}\nx = {name}(y)\n"
    assert f"{name} of apex" in refused("CM105", text)


@pytest.mark.parametrize(
    "text",
    [
        "model = model.half()\nwith torch.no_grad():\n    model(x.half())\n",
        "from fairseq.optim import FP16_Optimizer\noptimizer = FP16_Optimizer(args)\n",
        "ema = [p.detach().clone() for p in model.parameters()]\nmodel.half()\n",
        "ema = [p.detach().clone().float() for p in others]\nmodel.half()\n",
        "import math\nhalf = math.floor(3).half()\n",
        "# (loss * scale).backward() of model.half()\n",
        "copies = [p.clone().half() for p in model.parameters()]\nx.half()\n",
        LOOP.replace(".half()", ""),
        MANUAL[0].after,
    ],
)
def test_programs_that_stay(text: str) -> None:
    stays("CM105", text)
