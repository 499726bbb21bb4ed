"""Repairs of rules: what they change, and what they leave to a person."""

from __future__ import annotations

import pytest

from crosscast_reading.lint.registry import find_rule
from reading_helpers.lint_results import codes, repaired, swap

ACCUMULATION, AMP, DDP = (find_rule(code).right for code in ("CL101", "CL202", "CL604"))
Changes = tuple[tuple[str, str], ...]


# ---- CL101

UNDIVIDED = swap(ACCUMULATION, (" / steps", ""))


def test_repairs_divide_where_the_loss_is_differentiated() -> None:
    assert "(loss / steps).backward()" in repaired(UNDIVIDED, "CL101")
    assert codes(repaired(UNDIVIDED, "CL101")) == set()
    scaled = swap(find_rule("CL201").right, (" / steps", ""))
    assert "scaler.scale(loss / steps).backward()" in repaired(scaled, "CL101")
    assert codes(repaired(scaled, "CL101")) == set()
    flag = swap(UNDIVIDED, ("steps = 4\n", ""), ("% steps", "% options.steps"))
    assert codes(flag) == {"CL101"}
    assert repaired(flag, "CL101") == flag  # an attribute may need another name there


LOOP = """\
import torch
import torch.nn.functional as F

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
steps = 4
optimizer.zero_grad()
for step, (inputs, targets) in enumerate(loader):
    {loss}
    loss.backward()
    if (step + 1) % steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
MEAN = "loss = F.mse_loss(model(inputs), targets)"


def loop(*lines: str) -> str:
    return LOOP.replace("{loss}", "\n    ".join(lines))


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ((), "(loss / steps).backward()"),
        (
            (("loss.backward()", "model(inputs).mean().backward()"),),
            "model(inputs).mean().backward()",
        ),
        ((("steps = 4\n", ""), ("% steps", "% (2 * rounds)")), "    loss.backward()"),
    ],
)
def test_only_a_variable_is_divided(changes: tuple[tuple[str, str], ...], line: str) -> None:
    text = swap(loop(MEAN), *changes)
    assert codes(text) == {"CL101"}
    assert line in repaired(text, "CL101")


def test_two_backward_passes_are_not_repaired() -> None:
    text = loop(MEAN, "loss.backward(retain_graph=True)")
    assert codes(text) == {"CL101"}
    assert repaired(text, "CL101") == text


# ---- CL104


def test_a_count_from_one() -> None:
    text = swap(ACCUMULATION, ("enumerate(loader)", "enumerate(loader, 1)"), ("(step + 1)", "step"))
    assert codes(text) == set()
    wrong = swap(text, ("if step %", "if (step + 1) %"))
    assert codes(wrong) == {"CL104"}
    assert repaired(wrong, "CL104") == wrong  # nothing to add that would be right


def test_only_the_simple_form_is_repaired() -> None:
    wrong = swap(ACCUMULATION, ("(step + 1) % steps == 0", "step % steps == 0"))
    assert repaired(wrong, "CL104") == ACCUMULATION
    negated = swap(wrong, ("if step % steps == 0", "if not step % steps"))
    assert repaired(negated, "CL104") == negated


# ---- CL301

CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
SCALED = swap(AMP, ("    scaler.unscale_(optimizer)\n", ""))


def test_the_repair_stands_under_the_same_condition() -> None:
    text = swap(SCALED, (CLIP, f"if clip:\n        {CLIP}"))
    fixed = repaired(text, "CL301")
    assert f"    if clip:\n        scaler.unscale_(optimizer)\n        {CLIP}\n" in fixed
    assert codes(fixed) == set()
    one_line = swap(SCALED, (CLIP, f"if clip: {CLIP}"))
    assert codes(one_line) == {"CL301"}
    assert repaired(one_line, "CL301") == one_line


def test_no_repair_across_functions() -> None:
    text = swap(
        SCALED,
        ("import torch\n", f"import torch\n\n\ndef limit(model):\n    {CLIP}\n\n\n"),
        (f"    {CLIP}\n    scaler.step", "    limit(model)\n    scaler.step"),
    )
    assert codes(text) == {"CL301"}
    assert repaired(text, "CL301") == text


def test_windows_line_ends_are_kept() -> None:
    text = SCALED.replace("\n", "\r\n")
    assert repaired(text, "CL301") == AMP.replace("\n", "\r\n")


# ---- CL604

UNSET = swap(DDP, ("    sampler.set_epoch(epoch)\n", ""))
LOADER = "loader = DataLoader(dataset, batch_size=8, sampler=sampler)\n"
KEPT: dict[str, Changes] = {
    "not a variable": (
        ("sampler = D", "self.sampler = D"),
        ("sampler=sampler", "sampler=self.sampler"),
    ),
    "made again": ((LOADER, "sampler = DistributedSampler(dataset)\n" + LOADER),),
    "not a counter": (("for epoch in range(3):", "for epoch, rate in plan:"),),
    "made in a function": (
        (
            "sampler = DistributedSampler(dataset)\n",
            "def make():\n    sampler = DistributedSampler(dataset)\n    return sampler\n\n\n",
        ),
        ("sampler=sampler", "sampler=make()"),
    ),
    "made in a condition": (("sampler = D", "if many:\n    sampler = D"),),
}


@pytest.mark.parametrize("name", KEPT)
def test_the_epoch_is_set_by_hand(name: str) -> None:
    text = swap(UNSET, *KEPT[name])
    assert codes(text) == {"CL604"}
    assert repaired(text, "CL604") == text


def test_epochs_that_are_all_alike() -> None:
    assert codes(UNSET) == {"CL604"}
    assert repaired(UNSET, "CL604") == DDP
    still = swap(
        UNSET, ("DistributedSampler(dataset)", "DistributedSampler(dataset, shuffle=False)")
    )
    assert codes(still) == set()
    checking = swap(UNSET, ("DistributedSampler(dataset)", "DistributedSampler(validation)"))
    assert codes(checking) == set()
    once = swap(UNSET, ("for epoch in range(3):\n    for inputs", "if True:\n    for inputs"))
    assert codes(once) == set()


def test_samplers_under_a_condition_are_not_repaired() -> None:
    text = swap(
        DDP,
        ("    sampler.set_epoch(epoch)\n", ""),
        (
            "sampler = DistributedSampler(dataset)\n",
            "sampler = DistributedSampler(dataset) if many else None\n",
        ),
    )
    assert codes(text) == {"CL604"}
    assert repaired(text, "CL604") == text
