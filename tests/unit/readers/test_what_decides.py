"""Facts about what decides: settings that change later, guesses, where rates end."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_reading.facts.fact import Fact
from crosscast_reading.lift.analysis import analyse

STEP = """
for inputs, labels in loader:
    loss = criterion(model(inputs), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
MADE = "import torch\noptimizer = torch.optim.AdamW(model.parameters(), lr=0.1)\n"


def facts(text: str, name: str) -> list[Fact]:
    return [f for f in analyse([Source("train.py", text)]).subject.profile if f.field == name]


def only(text: str, name: str) -> Fact:
    (found,) = facts(text, name)
    return found


def value(text: str, name: str) -> Any:
    found = facts(text, name)
    return found[0].value if found else None


# ---- optimizers


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ("model.parameters()", "no"),
        ("list(model.parameters())", "no"),
        ("[p for p in model.parameters() if p.requires_grad]", "no"),
        ("(p for p in model.parameters())", "no"),
        ("filter(lambda p: p.requires_grad, model.parameters())", "no"),
        ("itertools.chain(a.parameters(), b.parameters())", "no"),
        ("list(a.parameters()) + list(b.parameters())", "no"),
        ("split(model)", None),
        ("model.get_parameters()", None),
        ("[p for p in model.parameters() if p.ndim > 1]", None),
        ("[q for p in model.parameters()]", None),
        ("itertools.chain(a.parameters(), groups)", None),
        ("[{'params': a, 'weight_decay': 0.0}, {'params': b, 'weight_decay': 0.1}]", "yes"),
    ],
)
def test_all_parameters_are_no_groups(given: str, word: str | None) -> None:
    text = MADE.replace("model.parameters()", given)
    assert value(text + STEP, "optimizer.no_decay") == word


def test_parameters_behind_a_name_are_followed() -> None:
    text = MADE.replace("model.parameters()", "weights")
    before = "weights = [p for p in model.parameters() if p.requires_grad]\n"
    assert value(before + text + STEP, "optimizer.no_decay") == "no"
    assert value(text + STEP, "optimizer.no_decay") is None


@pytest.mark.parametrize(
    ("groups", "word"),
    [
        ("[{'params': a, 'lr': 0.1}, {'params': b, 'lr': 0.2}]", "yes"),
        ("[{'params': a, 'lr': 0.1}, {'params': b}]", "yes"),
        ("[{'params': a, 'lr': 0.1}, {'params': b, 'lr': 0.1}]", None),
        ("[{'params': a}, {'params': b}]", None),
    ],
)
def test_groups_with_rates(groups: str, word: str | None) -> None:
    text = MADE.replace("model.parameters()", groups)
    assert value(text + STEP, "optimizer.rate_groups") == word


CHANGES = (
    ("for group in optimizer.param_groups: group['weight_decay'] = 0.1", "weight_decay"),
    ("for pg in optimizer.param_groups: pg['lr'] *= 0.1", "learning_rate"),
    ("optimizer.param_groups[0]['momentum'] = 0.9", "momentum"),
    ("optimizer.add_param_group({'params': more, 'weight_decay': 0.1})", "weight_decay"),
    ("other['weight_decay'] = 0.1", ""),
    ("config['group_size'] = 0.1", ""),
    ("another.add_param_group({'params': more, 'weight_decay': 0.1})", ""),
    ("optimizer.add_param_group({'params': more})", ""),
    ("optimizer.add_param_group(group)", ""),
)


@pytest.mark.parametrize(("change", "field"), CHANGES)
def test_settings_that_change_later(change: str, field: str) -> None:
    text = MADE + STEP + change + "\n"
    names = ("learning_rate", "weight_decay", "momentum", "betas", "eps")
    found = [name for name in names if facts(text, f"optimizer.{name}_changed")]
    assert found == ([field] if field else [])
    if field:
        told = only(text, f"optimizer.{field}_changed")
        assert told.places[0].line == len(text.splitlines())
        assert told.expression == change.rpartition(": ")[2] if "for" in change else told.expression


def test_the_class_of_an_optimizer_is_kept_with_its_module() -> None:
    assert only(MADE + STEP, "optimizer.source_name").expression == "torch.optim.AdamW"
    own = "class AdamW: pass\n" + MADE.replace("torch.optim.AdamW", "AdamW")
    assert only(own + STEP, "optimizer.source_name").expression == "train.py:AdamW"


# ---- loaders, seeds, precision


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ("", "no"),
        (", drop_last=True", "yes"),
        (", drop_last=False", "no"),
        (", drop_last=setting", None),
        (", **more", None),
    ],
)
def test_the_last_batch(given: str, word: str | None) -> None:
    loader = f"loader = torch.utils.data.DataLoader(rows, batch_size=4{given})\n"
    assert value(MADE + loader + STEP, "batch.drop_last") == word


def test_a_seed_that_is_not_set_by_default_is_none() -> None:
    parser = (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--fixed', action='store_true')\nargs = parser.parse_args()\n"
    )
    seed = "if args.fixed:\n    torch.manual_seed(3)\n"
    assert value(parser + MADE + seed + STEP, "seed") is None
    on = parser.replace("store_true", "store_false")
    assert value(on + MADE + seed + STEP, "seed") == 3


@pytest.mark.parametrize(
    ("made", "expression"),
    [
        ("GradScaler()", ""),
        ("GradScaler(enabled=True)", ""),
        ("GradScaler(enabled=dtype == 'float16')", "dtype == 'float16'"),
        ("GradScaler() if half else None", "half"),
    ],
)
def test_a_scaler_says_under_which_condition_it_scales(made: str, expression: str) -> None:
    text = f"from torch.amp import GradScaler\n{MADE}scaler = {made}\n" + STEP.replace(
        "loss.backward()", "scaler.scale(loss).backward()"
    )
    assert only(text, "loss_scaling.mode").expression == expression


@pytest.mark.parametrize(
    ("made", "enabled"),
    [("GradScaler() if DTYPE == torch.float16 else None", "config"), ("GradScaler()", "always")],
)
def test_a_scaler_for_a_type_that_is_found_out_decides_nothing(made: str, enabled: str) -> None:
    text = f"from torch.amp import GradScaler\nfrom mine import DTYPE\n{MADE}scaler = {made}\n"
    text += STEP.replace("loss.backward()", "scaler.scale(loss).backward()")
    assert value(text, "precision.enabled") == enabled


def test_a_level_of_apex_without_a_default_is_not_known() -> None:
    text = (
        "import argparse\nfrom apex import amp\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--opt-level', type=str{default})\nargs = parser.parse_args()\n"
        f"{MADE}model, optimizer = amp.initialize(model, optimizer, opt_level=args.opt_level)\n"
    )
    open_ = only(text.format(default="") + STEP, "precision.level")
    assert (open_.known, open_.expression) == (False, "args.opt_level")
    known = only(text.format(default=", default='O1'") + STEP, "precision.level")
    assert known.value == "O1"


# ---- schedules


def schedule(text: str) -> Fact:
    return next(fact for fact in facts(text, "schedule.name"))


def test_a_formula_is_a_guess_and_a_class_of_a_library_is_not() -> None:
    made = "schedule = torch.optim.lr_scheduler.{}\n"
    stepped = STEP + "    schedule.step()\n"
    formula = schedule(
        MADE + made.format("LambdaLR(optimizer, lambda step: 1 - step / total)") + stepped
    )
    assert (formula.value, formula.confidence) == ("linear", "guess")
    assert formula.reason == "by the spelling of its formula"
    known = schedule(MADE + made.format("CosineAnnealingLR(optimizer, 100)") + stepped)
    assert (known.value, known.confidence, known.reason) == ("cosine", "certain", "")


ENDS = (
    ("torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)", 0.0, None),
    ("torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100, eta_min=1e-5)", 1e-5, None),
    ("torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100, eta_min=least)", None, None),
    ("transformers.get_linear_schedule_with_warmup(optimizer, 10, 100)", 0.0, "warmup_end"),
    (
        "transformers.get_polynomial_decay_schedule_with_warmup(optimizer, 10, 100)",
        1e-7,
        "warmup_end",
    ),
    ("torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 1 - s / total)", None, None),
    ("mine.get_linear_schedule_with_warmup(optimizer, 10, 100)", None, None),
)


@pytest.mark.parametrize(("made", "end", "start"), ENDS)
def test_where_a_schedule_ends(made: str, end: float | None, start: str | None) -> None:
    text = f"import transformers, mine\n{MADE}schedule = {made}\n{STEP}    schedule.step()\n"
    assert value(text, "recipe.schedule.end_lr") == end
    assert value(text, "recipe.schedule.decay_from") == start


@pytest.mark.parametrize(
    ("rate", "end"),
    [
        ("tf.keras.optimizers.schedules.PolynomialDecay(0.1, 100)", 1e-4),
        ("tf.keras.optimizers.schedules.PolynomialDecay(0.1, 100, end_learning_rate=0.0)", 0.0),
        ("tf.keras.optimizers.schedules.CosineDecay(0.1, 100)", 0.0),
        ("tf.keras.optimizers.schedules.CosineDecay(0.1, 100, alpha=0.1)", None),
        ("tf.keras.optimizers.schedules.ExponentialDecay(0.1, 100, 0.9)", None),
    ],
)
def test_where_a_schedule_of_keras_ends(rate: str, end: float | None) -> None:
    text = (
        "import tensorflow as tf\n"
        f"optimizer = tf.keras.optimizers.Adam({rate})\n"
        "model.compile(optimizer=optimizer, loss='mse')\nmodel.fit(rows)\n"
    )
    assert value(text, "recipe.schedule.end_lr") == end


PADDLE = """
import paddle.fluid as fluid

def optimization(loss, warmup_steps, rate):
    if warmup_steps > 0:
        decayed = fluid.layers.polynomial_decay(rate, 100, 0.0)
        optimizer = fluid.optimizer.Adam(learning_rate=decayed)
    else:
        optimizer = fluid.optimizer.Adam(learning_rate={other})
    optimizer.minimize(loss)
"""


def test_a_schedule_in_one_branch_only_has_its_condition() -> None:
    assert schedule(PADDLE.format(other="rate")).under == ("warmup_steps > 0",)
    both = PADDLE.format(other="fluid.layers.polynomial_decay(rate, 50, 0.0)")
    assert schedule(both).under == ()


# ---- clipping by hand


def test_how_a_function_of_the_program_clips_is_not_known() -> None:
    own = "def clip_gradients(net, limit):\n    for p in net.parameters():\n"
    own += "        p.grad.mul_(limit)\n"
    text = (
        own
        + MADE
        + STEP.replace("    optimizer.step", "    clip_gradients(model, 1.0)\n    optimizer.step")
    )
    kind = only(text, "clipping.kind")
    assert (kind.known, kind.reason) == (False, "how it clips was not read")
    library = MADE + STEP.replace(
        "    optimizer.step",
        "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step",
    )
    assert only(library, "clipping.kind").confidence == "certain"


def test_clipping_of_an_unknown_kind_is_there() -> None:
    text = (
        "from mine import clip_grads\n"
        + MADE
        + STEP.replace("    optimizer.step", "    clip_grads(model)\n    optimizer.step")
    )
    kind = only(text, "clipping.kind")
    assert (kind.known, kind.reason) == (False, "how it clips was not read")
