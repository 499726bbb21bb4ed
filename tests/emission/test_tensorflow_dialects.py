"""The generations of Keras: what is chosen, what is said, and whole files as they are emitted."""

from __future__ import annotations

import re
from typing import Any

import pytest

from crosscast.emit.compiler import Compiled, compile_recipe
from crosscast.messages.diagnostics import DiagnosticError, Severity
from crosscast.targets.backend import Form, find_target
from crosscast.targets.capability import Evidence, Verdict, judge
from emission import goldens
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, tiny_recipe

DROPOUT: dict[str, Any] = TINY["model"] | {"dropout": 0.1}
SCALED: dict[str, Any] = {
    "precision": FLOAT16,
    "loss_scaling": {"mode": "dynamic"},
    "clipping": {"kind": "global_norm", "max_norm": 1.0},
}
TWO = {"distributed": {"strategy": "data_parallel", "processes_per_node": 2}}
FULL = {"mode": "full", "compute_dtype": "float16"}
OWN = {"kind": "custom", "factory": {"tensorflow": "models:build"}}


def compiled(target: str, **sections: Any) -> Compiled:
    (found,) = compile_recipe(tiny_recipe(**sections), [target])
    return found


@pytest.mark.parametrize(
    ("target", "dialect"),
    [
        ("tensorflow", "keras3"),
        ("tensorflow@2.21", "keras3"),
        ("tensorflow@2.16", "keras3"),
        ("tensorflow@2.15", "keras2"),
        ("tensorflow@2.5", "keras2"),
        ("tensorflow@keras2", "keras2"),
        ("tensorflow@graph-rewrite", "graph-rewrite"),
    ],
)
def test_a_version_chooses_the_dialect(target: str, dialect: str) -> None:
    assert find_target(target).dialect.name == dialect


def test_the_graph_rewrite_was_never_run_in_half() -> None:
    assert find_target("tensorflow@graph-rewrite").dialect.evidence is Evidence.DOCUMENTED


def test_golden_keras_2() -> None:
    goldens.check(compiled("tensorflow@2.15", model=DROPOUT, **SCALED), "tensorflow-2.15-float16")


def test_golden_recomputed_dropout() -> None:
    recomputed = compiled("tensorflow", model=DROPOUT, activation_checkpointing=True, **SCALED)
    goldens.check(recomputed, "tensorflow-recomputed-dropout")


def test_golden_graph_rewrite() -> None:
    goldens.check(compiled("tensorflow@graph-rewrite", **SCALED), "tensorflow-graph-rewrite")


def test_golden_two_processes() -> None:
    found = compiled("tensorflow", model=DROPOUT, **SCALED, **TWO)
    goldens.check(found, "tensorflow-two-processes")


def test_golden_half_weights() -> None:
    groups = [{"parameters": ["bert.embeddings.*"], "rate_factor": 0.5}]
    optimizer = {"name": "lamb", "learning_rate": 1e-3, "groups": groups}
    sections = SCALED | {"precision": FULL, "optimizer": optimizer, "ema": {"decay": 0.99}}
    goldens.check(compiled("tensorflow", **sections), "tensorflow-full-lamb-groups")


def codes(target: str, **sections: Any) -> set[str]:
    return {found.code for found in compiled(target, **sections).diagnostics}


def test_what_is_said_about_keras_2() -> None:
    sgd = {"name": "sgd", "learning_rate": 0.1}
    assert codes("tensorflow@2.15", optimizer=sgd) == set()
    assert codes("tensorflow@2.15", optimizer=sgd, **SCALED) == {"CC325", "CC370"}
    assert codes("tensorflow@2.15", optimizer=sgd, model=OWN) == {"CC302", "CC372"}
    assert codes("tensorflow@graph-rewrite", optimizer=sgd, **SCALED) == {
        *("CC325", "CC370", "CC371")
    }


@pytest.mark.parametrize("precision", [BFLOAT16, FULL])
def test_what_the_graph_rewrite_cannot_do(precision: dict[str, Any]) -> None:
    with pytest.raises(DiagnosticError) as error:
        compiled("tensorflow@graph-rewrite", precision=precision)
    assert {found.code for found in error.value.diagnostics} >= {"CC371"}


def test_the_plan_is_the_same_for_all_dialects() -> None:
    plans = {compiled(f"tensorflow@{name}", **SCALED).plan for name in ("keras3", "keras2")}
    assert len(plans) == 1


@pytest.mark.parametrize("name", ["matmul", "pointwise", "reductions", "embeddings", "losses"])
def test_the_graph_rewrite_takes_no_types_of_operations(name: str) -> None:
    other = "float32" if name == "matmul" else "compute"
    sections = SCALED | {"precision": FLOAT16 | {"ops": {name: other}}}
    with pytest.raises(DiagnosticError) as error:
        compiled("tensorflow@graph-rewrite", **sections)
    refused = [d for d in error.value.diagnostics if d.severity is Severity.ERROR]
    assert [(d.code, d.path) for d in refused] == [("CC371", "precision.ops")]
    for target in ("tensorflow", "tensorflow@2.15"):
        assert "CC371" not in codes(target, **sections)


def test_operations_of_the_graph_rewrite_are_not_called_exact() -> None:
    rows = find_target("tensorflow@graph-rewrite").rows
    verdicts = {
        judgement.path: judgement.row.verdict
        for judgement in judge(tiny_recipe(**SCALED), rows)
        if judgement.path.startswith("precision.ops.")
    }
    assert len(verdicts) == 6
    assert set(verdicts.values()) == {Verdict.APPROXIMATE}


@pytest.mark.parametrize(
    ("precision", "expected"),
    [
        (FLOAT16, "-1e9"),
        (FLOAT16 | {"ops": {"reductions": "compute"}}, "-1e4"),
        (BFLOAT16, "-1e9"),
        (BFLOAT16 | {"ops": {"reductions": "compute"}}, "-1e9"),
    ],
)
def test_only_float16_has_a_small_mask(precision: dict[str, Any], expected: str) -> None:
    model = compiled("tensorflow", precision=precision).files["model.py"].text
    assert f"[:, None, None, :]) * {expected}\n" in model


@pytest.mark.parametrize("target", ["tensorflow", "tensorflow@2.15"])
@pytest.mark.parametrize("form", ["script", "step"])
def test_the_mean_over_processes_is_taken_once_and_before_the_window_is_judged(
    target: str, form: Form
) -> None:
    sections = SCALED | TWO | {"overrides": {"tensorflow": {"jit_compile": True}}}
    (found,) = compile_recipe(tiny_recipe(**sections), [target], form=form)
    text = found.files["train.py" if form == "script" else "step.py"].text
    names = "micro_step|mean_over_processes|window_step|full_window"
    compiled_ones = re.findall(rf"@tf\.function(.*)\ndef ({names})\(", text)
    with_xla = {name: "jit" in options for options, name in compiled_ones}
    # XLA has no collectives on CPUs.
    assert [name for name in names.split("|") if with_xla[name]] == ["micro_step", "window_step"]
    assert text.count(".all_reduce(") == 1
    reduced = text.index("gradients, window_loss = state.strategy.run(mean_over_processes")
    assert text.index("def reduced_step(") < reduced < text.index("return window_step(", reduced)
    for looped in ("def full_window", "def train_window"):
        window = text[text.index(looped) :]
        stepped = window.index("reduced_step(state, window_loss, scale")
        assert window.index("state.strategy.run(micro_step") < stepped
    assert text.count("window_step(") == 2  # its head, and the call behind the mean
    for api in ("LossScaleOptimizer(", "keras.optimizers.SGD(", "apply_gradients("):
        assert api not in text  # they would reduce again


def test_a_stock_optimizer_would_sum_the_gradients_again() -> None:
    sgd = {"name": "sgd", "learning_rate": 0.1}
    alone = compiled("tensorflow", optimizer=sgd).files["train.py"].text
    several = compiled("tensorflow", optimizer=sgd, **TWO).files["train.py"].text
    assert ("keras.optimizers.SGD(" in alone, "class SGD:" in alone) == (True, False)
    assert ("keras.optimizers.SGD(" in several, "class SGD:" in several) == (False, True)


def test_the_step_without_a_tape_is_one_compiled_function() -> None:
    for sections in ({}, SCALED, {"ema": {"decay": 0.9}}):
        (found,) = compile_recipe(tiny_recipe(**sections), ["tensorflow"], form="step")
        text = found.files["step.py"].text
        compiled_ones = re.findall(r"@tf\.function.*\ndef (\w+)", text)
        assert compiled_ones == ["micro_step", "window_step", "full_window"]
        zeroing = text.index("total.assign(tf.zeros_like(total))")
        assert text.index("def window_step") < zeroing < text.index("def train_window")


@pytest.mark.parametrize(
    ("target", "precision", "policy"),
    [
        ("tensorflow", {}, "float32"),
        ("tensorflow", BFLOAT16, "mixed_bfloat16"),
        ("tensorflow", FULL, "float16"),
        ("tensorflow@2.15", FLOAT16, "mixed_float16"),
        ("tensorflow@graph-rewrite", FLOAT16, "float32"),
    ],
)
def test_the_step_names_the_policy_and_asks_for_it(
    target: str, precision: dict[str, Any], policy: str
) -> None:
    recipe = tiny_recipe(precision=precision)
    (found,) = compile_recipe(recipe, [target], form="step")
    text = found.files["step.py"].text
    assert f'("{policy}") before you build the model.' in text
    assert f'DTYPE_POLICY = "{policy}"' in text
    assert "raise ValueError" in text
    assert ("enable_mixed_precision_graph_rewrite" in text) == target.endswith("rewrite")


@pytest.mark.parametrize("unit", ["sample", "token"])
@pytest.mark.parametrize("precision", [FLOAT16, BFLOAT16])
def test_losses_in_half_are_rounded_once(precision: dict[str, Any], unit: str) -> None:
    sections = {
        "precision": precision | {"ops": {"losses": "compute"}},
        "accumulation": {"normalize_by": unit},
    }
    text = compiled("tensorflow", **sections).files["train.py"].text
    body = text[text.index("def row_losses") : text.index("def micro_batch_loss")]
    half = precision["compute_dtype"]
    casts = re.findall(r"tf\.cast\(\S.*, tf\.(b?float\d+)\)", body)
    inner = ["float32", "bfloat16"] if half == "bfloat16" else []  # float16: TensorFlow does it
    assert casts == [half, *inner, "float32"]
