"""Rules about clipping: what they find, and what they leave alone."""

from __future__ import annotations

import pytest

from crosscast_reading.lint.rules import _examples as examples

from .lint_results import codes, repaired, swap

AMP, PLAIN, ACCUMULATION = examples.AMP, examples.PLAIN, examples.ACCUMULATION
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
SCALED = swap(AMP, ("    scaler.unscale_(optimizer)\n", ""))


# ---- CL301, CL302


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ((CLIP, "torch.nn.utils.clip_grad_norm_(model.parameters(), limit)"), {"CL301"}),
        ((CLIP, f"if clip:\n        {CLIP}"), {"CL301"}),
        ((CLIP, "norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"), {"CL301"}),
        ((CLIP, "torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)"), {"CL302"}),
        (
            (CLIP, "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0 * scaler.get_scale())"),
            set(),
        ),
        ((CLIP, "scaler.unscale_(optimizer)\n    " + CLIP), set()),
        ((CLIP, "if clip:\n        scaler.unscale_(optimizer)\n        " + CLIP), set()),
    ],
)
def test_clips_of_scaled_gradients(change: tuple[str, str], expected: set[str]) -> None:
    assert codes(swap(SCALED, change)) == expected


def test_a_clip_without_a_scaler_is_right() -> None:
    assert codes(PLAIN) == set()
    branch = swap(
        SCALED,
        (f"    {CLIP}\n    scaler.step(optimizer)\n    scaler.update()\n", ""),
        (
            "    scaler.scale(loss).backward()\n",
            "    if use_amp:\n        scaler.scale(loss).backward()\n"
            "        scaler.step(optimizer)\n        scaler.update()\n"
            f"    else:\n        loss.backward()\n        {CLIP}\n"
            "        optimizer.step()\n",
        ),
    )
    assert codes(branch) == {"CL206", "CL306"}
    open_ = swap(branch, ("dtype=torch.float16", "dtype=torch.float16, **settings"))
    assert codes(open_) == {"CL306"}
    switched = swap(branch, ("dtype=torch.float16", "dtype=torch.float16, enabled=use_amp"))
    assert codes(switched) == {"CL306"}


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


# ---- CL303


def test_clips_of_partial_sums() -> None:
    each = swap(
        ACCUMULATION, (f"        {CLIP}\n", ""), ("    if (step", f"    {CLIP}\n    if (step")
    )
    assert codes(each) == {"CL303"}
    flagged = swap(each, (f"    {CLIP}\n", f"    if args.clip > 0:\n        {CLIP}\n"))
    assert codes(flagged) == {"CL303"}
    last = swap(each, (f"    {CLIP}\n", f"    if last_of_window:\n        {CLIP}\n"))
    assert codes(last) == set()
    named = swap(each, (f"    {CLIP}\n", f"    if (step + 1) % steps == 0:\n        {CLIP}\n"))
    assert codes(named) == set()


def test_clips_with_accelerate() -> None:
    bare = swap(
        examples.ACCELERATE,
        ("        if accelerator.sync_gradients:\n            acc", "        acc"),
    )
    assert codes(bare) == {"CL303"}
    assert codes(swap(bare, ("gradient_accumulation_steps=4", ""))) == set()


# ---- CL304


TAPE = """\
import tensorflow as tf

for x, y in dataset:
    with tf.GradientTape() as tape:
        loss = loss_function(y, model(x))
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients, norm = tf.clip_by_global_norm(gradients, 1.0)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


def test_results_of_clipping() -> None:
    assert codes(TAPE) == set()
    dropped = swap(TAPE, ("    gradients, norm = tf", "    tf"))
    assert codes(dropped) == {"CL304"}
    other = swap(TAPE, ("    gradients, norm = tf", "    clipped, norm = tf"))
    assert codes(other) == {"CL304"}
    used = swap(other, ("zip(gradients", "zip(clipped"))
    assert codes(used) == set()
    kept = swap(TAPE, ("    gradients, norm = tf", "    self.clipped = tf"))
    assert codes(kept) == set()


# ---- CL305


def test_limits_times_scale() -> None:
    assert codes(swap(AMP, ("1.0)", "1.0 * scaler.get_scale())"))) == {"CL305"}
    assert codes(swap(AMP, ("1.0)", "1.0 * lr_scale_factor)"))) == set()


STATIC = """\
import paddle.fluid as fluid


def optimize(loss, program, startup, loss_scaling, use_fp16):
    optimizer = fluid.optimizer.Adam(learning_rate=1e-4)
    limit = 1.0
    if use_fp16:
        limit *= loss_scaling
    fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(clip_norm=limit))
    gradients = optimizer.backward(loss)
    masters = create_master_grads(gradients, program, startup, loss_scaling)
    optimizer.apply_gradients(masters)
"""


def test_limits_of_static_graphs() -> None:
    assert codes(STATIC) == {"CL305"}
    assert codes(swap(STATIC, ("        limit *= loss_scaling\n", "        limit *= 2\n"))) == set()
    plain = swap(
        STATIC, ("create_master_grads(gradients, program, startup, loss_scaling)", "gradients")
    )
    assert codes(plain) == set()


# ---- CL306


BRANCHES = """\
import torch

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
for inputs, targets in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    if args.fp16:
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        optimizer.step()
"""


def test_clips_on_one_path() -> None:
    assert codes(BRANCHES) == {"CL306"}
    both = swap(BRANCHES, ("        loss.backward()", f"        loss.backward()\n        {CLIP}"))
    assert codes(both) == set()
    assert codes(swap(BRANCHES, ("if args.fp16", "if args.large"))) == set()
    joined = swap(BRANCHES, ("if args.fp16", "if args.fp16 or args.bf16"))
    assert codes(joined) == {"CL306"}


# ---- CL307, CL308, CL309


def test_clips_that_come_too_late() -> None:
    late = swap(
        PLAIN, (f"    {CLIP}\n", ""), ("    optimizer.step()", f"    optimizer.step()\n    {CLIP}")
    )
    assert codes(late) == {"CL307"}
    both = swap(PLAIN, ("    optimizer.step()", f"    optimizer.step()\n    {CLIP}"))
    assert codes(both) == set()
    weights = swap(
        PLAIN,
        (
            "    optimizer.step()",
            "    optimizer.step()\n    for p in model.parameters():\n        p.data.clamp_(-1, 1)",
        ),
    )
    assert codes(weights) == set()


APEX = """\
import torch
from apex import amp

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O2")
for inputs, targets in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("O2", "O2"), {"CL308"}),
        (("O2", "O1"), set()),
        (('"O2"', "args.level"), set()),
        (("_(model.parameters()", "_(amp.master_params(optimizer)"), set()),
    ],
)
def test_apex_masters(change: tuple[str, str], expected: set[str]) -> None:
    assert codes(swap(APEX, change)) == expected


FLAG = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--clip", type=float, default=DEFAULT)
args = parser.parse_args()
"""


@pytest.mark.parametrize(
    ("default", "guard", "expected"),
    [
        ("0.0", "True", {"CL309"}),
        ("0", "args.clip is not None", {"CL309"}),
        ("0.0", "args.clip", set()),
        ("0.0", "args.clip > 0", set()),
        ("0.0", "args.clip and args.clip > 0", set()),
        ("1.0", "args.clip is not None", set()),
        ("None", "args.clip is not None", set()),
    ],
)
def test_limits_of_zero(default: str, guard: str, expected: set[str]) -> None:
    clip = "torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)"
    text = swap(PLAIN, (CLIP, f"if {guard}:\n        {clip}"))
    assert codes(FLAG.replace("DEFAULT", default) + text) == expected


WRAPPED = """\
import torch


def train_one_epoch(model, optimizer, loader, loss_scaler, max_norm: float = 0):
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss_scaler(loss, optimizer, clip_grad=max_norm, parameters=model.parameters())
"""


def test_a_limit_of_zero_for_a_scaler_that_tests_for_none() -> None:
    assert codes(WRAPPED) == {"CL309"}
    assert codes(swap(WRAPPED, ("max_norm: float = 0", "max_norm=None"))) == set()
    assert codes(swap(WRAPPED, ("max_norm: float = 0", "max_norm"))) == set()


SUMMED = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam(1e-3)
accum = [tf.Variable(tf.zeros_like(v)) for v in model.trainable_variables]
for i, (x, y) in enumerate(batches):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y) / 4
    gradients = tape.gradient(loss, model.trainable_variables)
    {before}
    for one, more in zip(accum, {added}):
        one.assign_add(more)
    if (i + 1) % 4 == 0:
        {after}
        optimizer.apply_gradients(zip({applied}, model.trainable_variables))
        for one in accum:
            one.assign(tf.zeros_like(one))
"""


@pytest.mark.parametrize(
    ("before", "added", "after", "applied", "found"),
    [
        (
            "gradients, _ = tf.clip_by_global_norm(gradients, 1.0)",
            "gradients",
            "pass",
            "accum",
            True,
        ),
        ("other, _ = tf.clip_by_global_norm(gradients, 1.0)", "other", "pass", "accum", True),
        (
            "gradients = [tf.clip_by_value(g, -1, 1) for g in gradients]",
            "gradients",
            "pass",
            "accum",
            True,
        ),
        ("other, _ = tf.clip_by_global_norm(gradients, 1.0)", "gradients", "pass", "accum", False),
        ("x = tf.clip_by_value(x, -1, 1)", "gradients", "pass", "accum", False),
        ("pass", "gradients", "total, _ = tf.clip_by_global_norm(accum, 1.0)", "total", False),
    ],
)
def test_clips_of_what_tensorflow_adds_up(
    before: str, added: str, after: str, applied: str, found: bool
) -> None:
    text = SUMMED.format(before=before, added=added, after=after, applied=applied)
    assert ("CL303" in codes(text)) is found


ENGINE = """\
import deepspeed
import torch

engine, optimizer, _, _ = deepspeed.initialize(model=model, config="ds.json")
for batch in loader:
    loss = engine(batch).loss
    engine.backward(loss)
    torch.nn.utils.clip_grad_norm_(engine.parameters(), 1.0)
    engine.step()
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ((), True),
        (("    torch.nn.utils.clip_grad_norm_(engine.parameters(), 1.0)\n", ""), False),
        (("    engine.step()\n", ""), False),
        (("    engine.backward(loss)\n", "    loss.backward()\n"), False),
        (("    engine.backward(loss)\n", "    accelerator.backward(loss)\n"), False),
    ],
)
def test_a_clip_between_the_calls_of_an_engine(change: tuple[str, str], found: bool) -> None:
    assert ("CL301" in codes(swap(ENGINE, change) if change else ENGINE)) is found
