"""CM106: loops with FP16_Optimizer of apex, its scale, its clips, and the casts that go with it."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from unit.migrate.migrating import changed, migrate, refused, stays

LOOP = """\
import torch
from apex.fp16_utils import FP16_Optimizer

model = torch.nn.Linear(4, 2).cuda()
model.half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer = FP16_Optimizer(optimizer)
for inputs, targets in loader:
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    optimizer.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
"""
WEIGHTS = '[p for group in optimizer.param_groups for p in group["params"]]'
MADE = "optimizer = FP16_Optimizer(optimizer)\n"
NEVER = "growth_interval=2**31 - 1"


def made(arguments: str) -> str:
    return LOOP.replace(MADE, f"optimizer = FP16_Optimizer(optimizer, {arguments})\n")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("static_loss_scale=128", f", init_scale=128.0, {NEVER}"),
        ("128.0, False", f", init_scale=128.0, {NEVER}"),
        ("static_loss_scale=args.scale", f", init_scale=float(args.scale), {NEVER}"),
        ("dynamic_loss_scale=True", ""),
        ("dynamic_loss_scale=True, verbose=False", ""),
        (
            'dynamic_loss_scale=True, dynamic_loss_args={"init_scale": 2**12, "scale_window": 500}',
            ", init_scale=2**12, growth_interval=500",
        ),
        (
            'dynamic_loss_scale=True, dynamic_loss_args={"scale_factor": 4.0}',
            ", growth_factor=4.0, backoff_factor=1 / 4.0",
        ),
    ],
)
def test_the_scale_is_kept(arguments: str, expected: str) -> None:
    text = changed("CM106", made(arguments))
    assert f'scaler = torch.amp.GradScaler("cuda"{expected})\n' in text
    assert "half()" not in text
    assert "apex" not in text


def test_the_variant_for_the_old_fused_adam_is_named() -> None:
    text = made("dynamic_loss_scale=True").replace("fp16_utils", "optimizers")
    [refusal] = migrate("CM106", text).refusals
    assert "the variant for the old FusedAdam" in refusal.message
    assert "import FP16_Optimizer from apex.fp16_utils" in refusal.hint


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("static_loss_scale=2 ** power", "the loss scale is computed"),
        ("dynamic_loss_scale=not args.scale", "whether the loss scale is dynamic is computed"),
        ("dynamic_loss_scale=True, dynamic_loss_args=given", "are not visible"),
        ("**given", "not all arguments"),
    ],
)
def test_scales_that_are_not_certain(arguments: str, message: str) -> None:
    assert message in refused("CM106", made(arguments))


def test_an_optimizer_made_in_the_call_keeps_its_line() -> None:
    text = LOOP.replace("optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n", "").replace(
        "FP16_Optimizer(optimizer)", "FP16_Optimizer(torch.optim.SGD(model.parameters(), lr=0.1))"
    )
    assert "\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nscaler = " in changed(
        "CM106", text
    )


def test_micro_batches_are_unscaled_once() -> None:
    loop = LOOP.replace(
        "    optimizer.backward(loss)\n",
        "    optimizer.backward(loss, update_master_grads=False)\n"
        "    optimizer.backward(loss, update_master_grads=False, retain_graph=True)\n"
        "    optimizer.update_master_grads()\n"
        "    norm = optimizer.clip_master_grads(args.clip)\n",
    )
    text = changed("CM106", loop)
    assert """\
    scaler.scale(loss).backward()
    scaler.scale(loss).backward(retain_graph=True)
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(
        WEIGHTS, args.clip
    )
    scaler.step(optimizer)
    scaler.update()
""" in text.replace(WEIGHTS, "WEIGHTS")


def test_reads_of_the_scale_ask_the_scaler() -> None:
    text = LOOP + "    print(optimizer.loss_scale, optimizer.loss_scaler.cur_scale)\n"
    assert "print(scaler.get_scale(), scaler.get_scale())" in changed("CM106", text)


def test_a_branch_decides() -> None:
    text = LOOP.replace("model.half()\n", "if args.fp16:\n    model = model.half()\n")
    text = text.replace(MADE, f"if args.cuda and args.fp16:\n    {MADE}").replace(
        "    optimizer.backward(loss)\n",
        "    if args.fp16:\n        optimizer.backward(loss)\n    else:\n        loss.backward()\n",
    )
    after = changed("CM106", text)
    assert "enabled=bool(args.fp16)):" in after
    assert "if args.cuda and args.fp16:\n    scaler = " in after
    assert "    if args.fp16:\n        scaler.step(optimizer)\n" in after


def test_a_model_that_is_half_without_the_wrapper_stays() -> None:
    text = LOOP.replace(MADE, f"if args.wrapped:\n    {MADE}")
    assert "under another condition" in refused("CM106", text)


@pytest.mark.parametrize("name", ["network_to_half", "FP16Model"])
def test_wrapped_models_are_unwrapped(name: str) -> None:
    text = LOOP.replace("model.half()", f"model = {name}(model)").replace(
        "import FP16_Optimizer", f"import FP16_Optimizer, {name}"
    )
    assert name not in changed("CM106", text)
    [change] = migrate("CM106", text).changes
    assert "names of saved weights" in change.hint


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("optimizer.step()", "optimizer.step(closure)", "closure"),
        ("optimizer.backward(loss)", "x = optimizer.backward(loss)", "usual form"),
        ("optimizer.backward(loss)", "optimizer.backward(compute(inputs))", "loss is computed"),
        ("optimizer.zero_grad()", "optimizer.zero_grad(set_grads_to_None=True)", "has an argument"),
        ("optimizer.zero_grad()", "print(optimizer.overflow)", "is a part of FP16_Optimizer"),
        ("optimizer.zero_grad()", "optimizer.inspect_master_grad_data()", "has no equivalent"),
        ("    optimizer.backward(loss)\n", "", "no call of FP16_Optimizer.backward"),
        (MADE, f"if first:\n    {MADE}else:\n    {MADE}", "several places"),
        (MADE, "x = [FP16_Optimizer(optimizer)]\n", "one name"),
    ],
)
def test_what_a_person_must_decide(old: str, new: str, message: str) -> None:
    assert message in refused("CM106", LOOP.replace(old, new))


def test_casts_in_the_code_of_a_model_stay() -> None:
    model = """\
class Net(torch.nn.Module):
    def forward(self, x):
        return x.half()
"""
    text = LOOP.replace("\nmodel = ", f"\n{model}\nmodel = ")
    assert "in the code of a model" in refused("CM106", text)
    guarded = text.replace(
        "        return x.half()",
        "        if self.w.dtype == torch.float16:\n            x = x.half()\n        return x",
    )
    assert "x.half()" in changed("CM106", guarded)


@pytest.mark.parametrize("home", ["fp16", "fairseq.optim", "ours.apex.fp16_utils"])
def test_classes_of_others_stay(home: str) -> None:
    stays("CM106", LOOP.replace("apex.fp16_utils", home))


def test_an_own_copy_of_the_class_is_named() -> None:
    text = LOOP.replace(
        "from apex.fp16_utils import FP16_Optimizer\n",
        "class FP16_Optimizer:\n    def __init__(self, optimizer):\n        pass\n",
    )
    assert "FP16_Optimizer of this program" in refused("CM105", text)


def test_notes_say_what_is_different() -> None:
    [change] = migrate("CM106", made("static_loss_scale=args.s, dynamic_loss_scale=args.d")).changes
    for part in ("older checkpoints cannot be loaded", "halves the scale", "stopped at 1"):
        assert part in change.hint


def test_a_wrapper_that_a_star_imports_is_not_overlooked() -> None:
    text = LOOP.replace("import FP16_Optimizer", "import *")
    text = text.replace("model.half()", "model = network_to_half(model)")
    assert "network_to_half is imported by *" in refused("CM106", text)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("dynamic_loss_scale=True", True),
        ("dynamic_loss_scale=True, dynamic_loss_args={'scale_window': 500}", True),
        ("dynamic_loss_scale=args.dynamic", True),
        (
            "dynamic_loss_scale=True, "
            "dynamic_loss_args={'scale_window': 500, 'init_scale': 2.0**16}",
            False,
        ),
        ("static_loss_scale=128.0", False),
    ],
)
def test_a_default_that_apex_changed_is_named(arguments: str, expected: bool) -> None:
    (change,) = migrate("CM106", made(arguments)).changes
    assert ("init_scale=2.0**32, growth_interval=1000" in change.hint) is expected


LATE = """\
import torch

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
if args.fp16:
    model.half()
    try:
        from apex.optimizers import FP16_Optimizer
    except ImportError:
        raise ImportError("Please install apex")
        optimizer = FP16_Optimizer(optimizer, dynamic_loss_scale=True)
for inputs, targets in loader:
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    optimizer.backward(loss) if args.fp16 else loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_wrapper_after_raise_is_not_left_without_a_word() -> None:
    assert "created only by code that never runs" in refused("CM106", LATE)
    made = "        optimizer = FP16_Optimizer(optimizer, dynamic_loss_scale=True)\n"
    assert "certainly created in none of these files" in refused("CM106", LATE.replace(made, ""))


def test_distributed_parts_wait_for_a_wrapper_after_raise() -> None:
    text = LATE.replace(
        "for inputs,",
        "from apex.parallel import DistributedDataParallel\n"
        "model = DistributedDataParallel(model)\nfor inputs,",
    )
    found = migrate_in_place([Source("train.py", text)], codemods_to("torch.amp"))
    assert not found.texts
    assert {refusal.code for refusal in found.refusals} == {"CM104", "CM106"}
