"""Read, derived, default, assumed: what makes a value one of them; recipes are always valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.messages.source import Source
from crosscast.recipe.load import load
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.completion import completed
from crosscast_reading.lift.drafting import NAMES, fill, lift
from lift_round_trip import emitted
from reading_helpers.lift_facts import PLAIN, analysis, fact
from reading_helpers.torch_loops import lifted, program

EXAMPLES = Path(__file__).parents[3] / "examples"

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
    text = text.replace("loss = ", "with torch.cuda.amp.autocast(): loss = ", 1)
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


def test_keras_trains_on_the_last_rows_unless_they_are_cut() -> None:
    kept = lifted(KERAS.format(more="")).fields
    assert (kept["accumulation.tail"].value, kept["accumulation.tail"].how) == (
        "flush_renormalized",
        "read",
    )
    assert kept["optimizer.groups"].how == "read"
    cut = "data = data.batch(8, drop_remainder=True)\n"
    text = KERAS.format(more="").replace("model.compile", cut + "model.compile")
    assert lifted(text).fields["accumulation.tail"].how == "assumed"


PADDLE = """\
import paddle

optimizer = paddle.optimizer.{made}
for rows, labels in loader:
    loss = paddle.nn.functional.cross_entropy(model(rows), labels)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("made", "groups", "decay"),
    [
        ("AdamW(0.1, parameters=model.parameters())", "read", "read"),
        ("AdamW(0.1, parameters=split(model))", "assumed", "assumed"),
        (
            "AdamW(0.1, parameters=model.parameters(), apply_decay_param_fun=lambda n: True)",
            "read",
            "read",
        ),
    ],
)
def test_groups_of_paddle(made: str, groups: str, decay: str) -> None:
    filled = lifted(PADDLE.format(made=made)).fields
    assert filled["optimizer.groups"].how == groups
    assert filled["optimizer.no_decay"].how == decay


def test_a_scaler_that_minimizes_in_a_static_graph_computes_the_gradients() -> None:
    text = (
        "import paddle\npaddle.enable_static()\nloss = paddle.mean(x)\n"
        "optimizer = paddle.optimizer.Momentum(0.05)\nscaler = paddle.amp.GradScaler()\n"
        "scaler.minimize(optimizer, scaler.scale(loss))\n"
    )
    assert lifted(text).fields["clipping.kind"].how == "read"
