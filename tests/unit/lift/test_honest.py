"""Every value says where it comes from; nothing is said of a loop that was not understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.lift.analysis import analyse
from crosscast.lift.completion import completed
from crosscast.lift.drafting import NAMES, Lifted, fill, lift
from crosscast.lift.effective_fields import meaning
from crosscast.lift.flat_recipe import flat
from crosscast.lift.recipe_draft import KINDS, Filled
from crosscast.messages.source import Source
from crosscast.readers.recipe_yaml import load
from lift_facts import PLAIN, analysis, fact
from lift_round_trip import emitted

EXAMPLES = Path(__file__).parents[3] / "examples"

TORCH = """\
import torch
from torch.utils.data import DataLoader
{imports}
model = torch.nn.Linear(128, 4)
optimizer = {optimizer}
loader = DataLoader(rows, batch_size=8{loader})
{before}
for epoch in range(3):
    for inputs, labels in loader:
        loss = {loss}
        loss.backward()
        {inside}
        optimizer.step()
        optimizer.zero_grad()
        {after}
"""
PARTS = {
    "imports": "",
    "optimizer": "torch.optim.SGD(model.parameters(), lr=0.1)",
    "loader": "",
    "before": "",
    "loss": "torch.nn.functional.cross_entropy(model(inputs), labels)",
    "inside": "",
    "after": "",
}


def program(**parts: str) -> str:
    return TORCH.format(**PARTS | parts)


def lifted(text: str = "", *others: Source, **parts: str) -> Lifted:
    return lift(analyse([Source("train.py", text or program(**parts)), *others]))


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


def field(path: str, **parts: str) -> Filled:
    return lifted(**parts).fields[path]


NOTHING = {
    "clipping.kind": "none",
    "accumulation.steps": 1,
    "schedule.name": "constant",
    "schedule.warmup_steps": 0,
    "ema.decay": None,
    "precision.mode": "none",
    "loss_scaling.mode": "none",
    "distributed.strategy": "none",
    "distributed.processes_per_node": 1,
    "loss.label_smoothing": 0.0,
    "optimizer.no_decay": [],
    "optimizer.groups": [],
}


@pytest.mark.parametrize("path", NOTHING)
def test_what_an_understood_loop_does_not_do_is_read_from_it(path: str) -> None:
    found = lifted()
    filled = found.fields[path]
    assert (filled.value, filled.how) == (NOTHING[path], "read")
    assert filled.places
    assert path not in found.unsaid


def test_a_plain_loop_leaves_to_the_user_only_what_it_does_not_say() -> None:
    assert set(lifted().unsaid) == {
        *("model.kind", "model.factory.torch", "data.source", "data.train", "data.eval"),
        *("data.shuffle", "schedule.total_steps"),
    }


# ---- code that was not understood

SEEN: dict[str, tuple[dict[str, str], str]] = {
    "clip by a function of another file": (
        {"imports": "from mine import tame", "inside": "tame(model)"},
        "clipping.kind",
    ),
    "gradients changed by hand": (
        {"inside": "for p in model.parameters(): p.grad *= 0.5"},
        "clipping.kind",
    ),
    "gradients changed in place": (
        {"inside": "for p in model.parameters(): p.grad.data.mul_(factor)"},
        "clipping.kind",
    ),
    "gradients changed by a function of the program": (
        {"before": "def damp(net):\n    for p in net.parameters():\n        p.grad.mul_(0.5)\n",
         "inside": "damp(model)"},
        "clipping.kind",
    ),
    "the optimizer in the hands of another file": (
        {"imports": "from mine import policy", "after": "policy(optimizer, epoch)"},
        "schedule.name",
    ),
    "an average by hand": (
        {"after": "for a, b in zip(teacher.parameters(), model.parameters()):"
                  " a.data.mul_(0.99).add_(b.data, alpha=0.01)"},
        "ema.decay",
    ),
    "an average of another file": (
        {"imports": "from mine import ModelEma", "before": "ema = ModelEma(model)",
         "after": "ema.update(model)"},
        "ema.decay",
    ),
    "a step under an unknown condition": (
        {"imports": "from mine import ready", "inside": "if not ready(epoch): continue"},
        "accumulation.steps",
    ),
    "groups of another file": (
        {"imports": "from mine import split",
         "optimizer": "torch.optim.SGD(split(model), lr=0.1, weight_decay=0.1)"},
        "optimizer.no_decay",
    ),
    "processes": (
        {"before": "torch.distributed.init_process_group('nccl')"},
        "distributed.processes_per_node",
    ),
    "the variables of launchers": (
        {"imports": "import os", "before": "rank = int(os.environ.get('LOCAL_RANK', -1))"},
        "distributed.processes_per_node",
    ),
    "weight decay that is changed": (
        {"optimizer": "torch.optim.AdamW(model.parameters(), lr=1e-3)",
         "after": "for group in optimizer.param_groups: group['weight_decay'] = decays[epoch]"},
        "optimizer.weight_decay",
    ),
    "weight decay of a group that is added": (
        {"after": "", "before": "optimizer.add_param_group({'params': more, 'weight_decay': 0.1})"},
        "optimizer.weight_decay",
    ),
    "a rate that is set later": (
        {"optimizer": "torch.optim.AdamW(model.parameters())",
         "after": "for group in optimizer.param_groups: group['lr'] = rates[epoch]"},
        "optimizer.learning_rate",
    ),
    "a class of the same name": (
        {"imports": "from transformers import AdamW",
         "optimizer": "AdamW(model.parameters(), lr=1e-3)"},
        "optimizer.weight_decay",
    ),
    "rates of groups": (
        {"optimizer": "torch.optim.SGD([{'params': a, 'lr': 0.1}, {'params': b, 'lr': 0.2}])"},
        "optimizer.groups",
    ),
    "a loss of the program": ({"loss": "criterion(model(inputs), labels)"}, "loss.kind"),
    "the unit of such a loss": (
        {"loss": "criterion(model(inputs), labels)"},
        "accumulation.normalize_by",
    ),
    "a seed of the launch": ({"before": "torch.manual_seed(seed_of(rank))"}, "seed"),
    "a last batch that a setting decides about": ({"loader": ", drop_last=cfg.drop"},
                                                  "accumulation.tail"),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_code_that_was_not_understood_is_left_to_the_user(name: str) -> None:
    parts, path = SEEN[name]
    found = lifted(**parts)
    filled = found.fields[path]
    assert filled.how == "assumed", filled
    assert path in found.unsaid
    assert filled.note
    assert filled.confidence == "guess"
    assert found.recipe is not None, found.diagnostics


LOOK_ALIKES: dict[str, tuple[dict[str, str], str]] = {
    "a call that saves": (
        {"imports": "from mine import save_state", "after": "save_state(model, optimizer)"},
        "schedule.name",
    ),
    "a call that logs": (
        {"imports": "from mine import log_gradients", "inside": "log_gradients(model)"},
        "clipping.kind",
    ),
    "a call of a library that reads": (
        {"inside": "norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()"},
        "clipping.kind",
    ),
    "a function of the program that only reads": (
        {"before": "def norm(net):\n    return sum(p.grad.norm() for p in net.parameters())\n",
         "inside": "norm(model)"},
        "clipping.kind",
    ),
    "gradients that are dropped": (
        {"inside": "for p in frozen.parameters(): p.grad = None"},
        "clipping.kind",
    ),
    "after the step": (
        {"imports": "from mine import tame", "after": "tame(model)"},
        "clipping.kind",
    ),
    "before the loop": (
        {"imports": "from mine import wrap", "before": "model = wrap(model)"},
        "clipping.kind",
    ),
    "a check for finite losses": (
        {"inside": "if not torch.isfinite(loss): continue"},
        "accumulation.steps",
    ),
    "parameters in a list": (
        {"optimizer": "torch.optim.SGD(list(model.parameters()), lr=0.1, weight_decay=0.1)"},
        "optimizer.no_decay",
    ),
    "parameters that are trained": (
        {"optimizer": "torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), "
                      "lr=0.1, weight_decay=0.1)"},
        "optimizer.no_decay",
    ),
    "a rate that starts a schedule": (
        {"after": "for group in optimizer.param_groups: group['lr'] = rates[epoch]"},
        "optimizer.learning_rate",
    ),
    "a dictionary that is no group": (
        {"optimizer": "torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1)",
         "after": "meters['weight_decay'] = 0.1"},
        "optimizer.weight_decay",
    ),
    "a group that is added to another optimizer": (
        {"optimizer": "torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1)",
         "before": "other.add_param_group({'params': more, 'weight_decay': 0.2})"},
        "optimizer.weight_decay",
    ),
    "the variables of a user": (
        {"imports": "import os", "before": "home = os.environ.get('HOME')"},
        "distributed.processes_per_node",
    ),
    "the last batch is dropped": ({"loader": ", drop_last=True"}, "accumulation.tail"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_look_alikes_hide_nothing(name: str) -> None:
    parts, path = LOOK_ALIKES[name]
    filled = field(path, **parts)
    assert filled.how == "read", filled


def test_the_place_of_what_was_seen_is_in_the_comment() -> None:
    parts = {"imports": "from mine import tame", "inside": "tame(model)"}
    found = lifted(**parts)
    line = line_of(program(**parts), "tame(model)")
    assert (
        f"kind: none                        # FILL IN: train.py:{line} (tame is not followed)"
        in (found.text)
    )


def test_tails_of_loaders() -> None:
    assert field("accumulation.tail").value == "flush_renormalized"
    assert field("accumulation.tail", loader=", drop_last=True").value == "drop"


# ---- four kinds, counted


def test_every_value_is_of_one_kind_and_says_where_it_is_from() -> None:
    for parts in ({}, *(parts for parts, _ in SEEN.values())):
        found = lifted(**parts)
        assert sum(found.counts.values()) == len(found.fields) - len(NAMES)
        assert tuple(found.counts) == KINDS
        for path, filled in found.fields.items():
            if path in NAMES:
                continue
            match filled.how:
                case "read" | "derived":
                    assert filled.places, path
                case "default":
                    assert "default of" in filled.note, path
                case "assumed":
                    assert "FILL IN" in found.text


def test_no_value_of_a_recipe_is_without_a_kind() -> None:
    silent = (
        *("version", "name", "launch.", "data.workers", "activation_checkpointing", "loss.target"),
        *("precision.param_dtype", "data.sequence_length", "batch.global_batch_size", "overrides"),
        "schedule.warmup_ratio",
    )
    for parts in ({}, *(parts for parts, _ in SEEN.values())):
        found = lifted(**parts)
        assert found.recipe is not None
        values = meaning(flat(found.recipe))
        covered = {path.partition(".")[0] for path in ("loss.kind",) if path in found.unsaid}
        left = {
            path
            for path in values
            if path not in found.fields
            and not path.startswith(silent)
            and path.partition(".")[0] not in covered
            and not any(filled.startswith(f"{path}.") for filled in found.fields)
        }
        assert left == set()


# ---- facts without a program

VAGUE = {
    "accumulation.steps": 1,
    "clipping.kind": "none",
    "schedule.name": "constant",
    "precision.mode": "none",
    "distributed.processes_per_node": 1,
    "accumulation.tail": "flush_renormalized",
    "accumulation.normalize_by": "sample",
    "ema.decay": None,
}


@pytest.mark.parametrize("path", VAGUE)
def test_without_a_loop_nothing_is_off(path: str) -> None:
    filled = lift(analysis(PLAIN)).fields[path]
    assert (filled.value, filled.how) == (VAGUE[path], "assumed")


def test_a_guess_is_left_to_the_user_with_its_reason() -> None:
    guess = fact("clipping.kind", "global_norm", 4, confidence="guess", reason="by its name")
    filled = lift(analysis((*PLAIN, guess, fact("clipping.value", 2.0, 4)))).fields
    assert (filled["clipping.kind"].value, filled["clipping.kind"].how) == (
        "global_norm",
        "assumed",
    )
    assert "by its name" in filled["clipping.kind"].note
    assert filled["clipping.max_norm"].how == "read"


def test_a_fact_of_the_library_is_its_default() -> None:
    api = fact("api", ("hf_trainer",), 1)
    given = fact("clipping.value", 1.0, 4, origin="library_default")
    filled = lift(analysis((*PLAIN, api, fact("clipping.kind", "global_norm", 4), given))).fields
    assert filled["clipping.max_norm"].how == "default"
    assert filled["clipping.max_norm"].note.startswith("default of transformers")


@pytest.mark.parametrize(
    ("name", "decay", "confidence", "expected"),
    [
        ("adam", "weight_decay", "certain", ("adamw", "derived", "read")),
        ("adam", "weight_decay", "likely", ("adam", "read", "assumed")),
        ("adam", "l2", "certain", ("adam", "read", "read")),
        ("adamw", "l2", "certain", ("adam", "derived", "read")),
        ("adamw", "weight_decay", "likely", ("adamw", "read", "read")),
        ("sgd", "weight_decay", "certain", ("sgd", "read", "assumed")),
    ],
)
def test_decay_of_the_other_kind_is_not_taken_for_it(
    name: str, decay: str, confidence: str, expected: tuple[str, str, str]
) -> None:
    facts = (
        fact("framework", "pytorch"),
        fact("optimizer.name", name, 3, subject="o"),
        fact("optimizer.learning_rate", 0.1, 3, subject="o"),
        fact(f"optimizer.{decay}", 0.01, 4, subject="o", confidence=confidence),
    )
    filled = lift(analysis(facts)).fields
    found = filled["optimizer.name"], filled["optimizer.weight_decay"]
    assert (found[0].value, found[0].how, found[1].how) == expected
    assert found[1].value == 0.01


# ---- defaults of a library


@pytest.mark.parametrize(
    ("made", "how"),
    [
        ("torch.optim.AdamW(model.parameters(), lr=1e-3)", "default"),
        ("mine.AdamW(model.parameters(), lr=1e-3)", "assumed"),
        ("transformers.AdamW(model.parameters(), lr=1e-3)", "assumed"),
        ("AdamW(model.parameters(), lr=1e-3)", "assumed"),
    ],
)
def test_defaults_are_those_of_the_class_and_not_of_its_name(made: str, how: str) -> None:
    own = "import mine, transformers\nclass AdamW(torch.optim.Optimizer): pass\n"
    filled = lifted(imports=own, optimizer=made).fields
    assert filled["optimizer.weight_decay"].how == how
    assert filled["optimizer.bias_correction"].how == how


def test_a_default_is_certain_if_the_version_is_named_or_all_have_it() -> None:
    text = program(
        before="scaler = torch.cuda.amp.GradScaler()",
        loss="torch.nn.functional.cross_entropy(model(inputs), labels)",
    ).replace("loss.backward()", "scaler.scale(loss).backward()")
    text = text.replace("optimizer.step()", "scaler.step(optimizer); scaler.update()")
    unnamed = lift(analyse([Source("train.py", text)])).fields["loss_scaling.init_scale"]
    assert (unnamed.how, unnamed.confidence) == ("default", "likely")
    named = lift(analyse([Source("train.py", text)], {"torch": "2.13.0"}))
    assert named.fields["loss_scaling.init_scale"].confidence == "certain"


# ---- always valid, or why not

NANO = """\
import torch

dtype = "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
ptdtype = {"bfloat16": torch.bfloat16, "float16": torch.float16}[dtype]
scaler = torch.cuda.amp.GradScaler(enabled=(dtype == "float16"))
model = torch.nn.Linear(128, 4)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for inputs, labels in loader:
    with torch.autocast("cuda", dtype=ptdtype):
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""


def test_a_scaler_for_float16_only_gives_a_valid_recipe() -> None:
    found = lifted(NANO)
    assert found.recipe is not None, found.diagnostics
    scaling, half = found.fields["loss_scaling.mode"], found.fields["precision.compute_dtype"]
    assert (scaling.value, scaling.how) == ("none", "assumed")
    assert "on if dtype == 'float16'" in scaling.note.replace('"', "'")
    assert (half.value, half.how) == ("bfloat16", "assumed")
    brain = NANO.replace(
        '"bfloat16" if torch.cuda.is_bf16_supported() else "float16"', '"bfloat16"'
    )
    scaling = lifted(brain).fields["loss_scaling.mode"]
    assert (scaling.value, scaling.how) == ("none", "read")
    half_only = NANO.replace('"bfloat16" if torch.cuda.is_bf16_supported() else ', "")
    assert lifted(half_only).fields["loss_scaling.mode"].value == "dynamic"


def test_a_value_that_no_recipe_can_have_gives_way_and_is_reported() -> None:
    found = lift(analysis((*PLAIN, fact("recipe.optimizer.betas", (0.9, 1.5), 7))))
    assert found.recipe is not None
    betas = found.fields["optimizer.betas"]
    assert (betas.value, betas.how, betas.places[0].line) == ([0.9, 0.999], "assumed", 7)
    assert "[0.9, 1.5] is not possible" in betas.note
    (problem,) = [each for each in found.diagnostics if each.code == "CC914"]
    assert (problem.path, problem.severity) == ("optimizer.betas", "warning")


def test_a_field_without_a_default_makes_no_recipe_and_the_draft_stays_as_it_is() -> None:
    draft = fill(analysis((*PLAIN, fact("recipe.clipping.kind", "global_norm", 4),
                           fact("recipe.clipping.max_norm", -1.0, 5))))  # fmt: skip
    before = dict(draft.fields)
    recipe, problems = completed(draft, ["train.py"])
    assert recipe is None
    assert [problem.severity for problem in problems] == ["error"]
    assert draft.fields == before


# ---- Keras

KERAS = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
model.compile(optimizer=tf.keras.optimizers.Adam(1e-3), loss=loss)
model.fit(data, epochs=3{more})
"""


@pytest.mark.parametrize(
    ("more", "how"),
    [
        ("", "read"),
        (", callbacks=[tf.keras.callbacks.ModelCheckpoint('m')]", "read"),
        (", callbacks=[]", "read"),
        (", callbacks=[Mine()]", "assumed"),
        (", callbacks=callbacks", "assumed"),
    ],
)
def test_a_model_that_keras_trains(more: str, how: str) -> None:
    filled = lifted(KERAS.format(more=more)).fields
    assert filled["schedule.name"].how == how
    assert filled["ema.decay"].how == how
    assert filled["clipping.kind"].how == "read"
    assert filled["accumulation.steps"].how == "read"


def test_a_fit_of_another_library_is_no_training() -> None:
    text = KERAS.format(more="").replace("model.compile", "model.build")
    found = lifted(text)
    assert found.fields["clipping.kind"].how == "assumed"


# ---- emitted scripts


@pytest.mark.parametrize("example", ["bert-small", "gpt", "resnet-cifar"])
@pytest.mark.parametrize("target", ["torch", "tensorflow", "paddle"])
def test_of_an_emitted_script_nothing_is_left_open(example: str, target: str) -> None:
    recipe = load(str(EXAMPLES / example / "recipe.yaml"))
    sources = emitted(recipe, target)
    assert sources is not None
    found = lift(analyse(sources))
    assert found.unsaid == ()
    assert found.counts["read"] == len(found.fields) - len(NAMES)
    assert all(filled.places for path, filled in found.fields.items() if path != "version")
