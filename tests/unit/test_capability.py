"""Judging a recipe by rows, and finding backends."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.diagnostics import DiagnosticError, Severity
from crosscast.recipe.document import Recipe
from crosscast.targets import backend
from crosscast.targets.backend import backend_names, load_backend
from crosscast.targets.capability import Evidence, Row, Verdict, diagnose, judge, leaves
from recipe_texts import FLOAT16, recipe_of


def row(path: str, how: str, verdict: Verdict = Verdict.EXACT, code: str = "") -> Row:
    return Row(path=path, how=how, verdict=verdict, code=code)


def test_leaves_are_all_fields_that_have_a_value() -> None:
    paths = dict(leaves(recipe_of()))
    assert paths["seed"] == 0
    assert paths["optimizer.betas"] == (0.9, 0.999)
    assert paths["clipping.kind"] == "none"
    assert paths["model.preset"] == "tiny"
    for absent in ("version", "name", "overrides", "schedule.warmup_ratio", "model"):
        assert absent not in paths


def decided(rows: list[Row], recipe: Recipe | None = None) -> dict[str, str]:
    return {judgement.path: judgement.row.how for judgement in judge(recipe or recipe_of(), rows)}


def test_the_longest_path_decides() -> None:
    how = decided([row("optimizer", "all"), row("optimizer.eps", "eps"), row("opt", "none")])
    assert how["optimizer.eps"] == "eps"
    assert how["optimizer.betas"] == "all"


def test_a_path_is_no_prefix_of_a_longer_name() -> None:
    how = decided([row("model.max", "wrong"), row("model", "right")])
    assert how["model.max_positions"] == "right"


def test_the_first_of_equal_rows_whose_condition_holds_decides() -> None:
    rows = [
        Row(path="seed", how="never", when=lambda recipe: recipe.seed > 5),
        row("seed", "first"),
        row("seed", "second"),
    ]
    assert decided(rows)["seed"] == "first"
    assert decided(rows, recipe_of(seed="6"))["seed"] == "never"


def test_a_longer_path_counts_only_where_its_condition_holds() -> None:
    rows = [row("data", "all"), Row(path="data.shuffle", how="never", when=lambda recipe: False)]
    assert decided(rows)["data.shuffle"] == "all"


def test_a_field_without_a_row_is_unsupported() -> None:
    (judgement,) = [judgement for judgement in judge(recipe_of(), []) if judgement.path == "seed"]
    assert (judgement.row.verdict, judgement.row.code) == (Verdict.UNSUPPORTED, "CC300")


def test_one_diagnostic_per_row_names_what_it_decides() -> None:
    rows = [
        *(row(name, "fine") for name in Recipe.SECTIONS if name != "loss_scaling"),
        row("activation_checkpointing", "fine"),
        row("seed", "as it is", Verdict.ADAPTED, "CC310"),
        row("loss_scaling", "roughly", Verdict.APPROXIMATE, "CC311"),
        row("precision.tf32", "not at all", Verdict.UNSUPPORTED, "CC312"),
    ]
    found = diagnose("here", judge(recipe_of(precision=FLOAT16), rows))
    assert [
        (diagnostic.code, diagnostic.severity, diagnostic.path, diagnostic.message)
        for diagnostic in found
    ] == [
        ("CC310", Severity.NOTE, "seed", "here: adapted: as it is"),
        ("CC312", Severity.ERROR, "precision.tf32", "here: unsupported: not at all"),
        ("CC311", Severity.WARNING, "loss_scaling", "here: approximate: roughly"),
    ]


def test_words_of_tables() -> None:
    assert [str(verdict) for verdict in Verdict] == [
        "exact",
        "adapted",
        "approximate",
        "unsupported",
    ]
    assert str(Evidence.MEASURED_GPU) == "measured-gpu"


@pytest.mark.parametrize("name", ["torch", "tensorflow", "paddle"])
def test_a_model_without_a_factory_is_refused(name: str) -> None:
    own = "{kind: custom, factory: {%s: 'a:b'}}"
    found = {}
    for named in ("torch", "tensorflow", "paddle"):
        recipe = recipe_of(model=own % named, data="{source: npz, train: a, eval: b}")
        diagnostics = diagnose(name, judge(recipe, load_backend(name).rows))
        found[named] = "CC305" in {d.code for d in diagnostics if d.severity is Severity.ERROR}
    assert found == {named: named != name for named in found}


@pytest.mark.parametrize("name", ["torch", "tensorflow", "paddle"])
def test_a_loss_without_a_function_is_refused(name: str) -> None:
    own = "{kind: custom, factory: {torch: 'a:b', tensorflow: 'a:b', paddle: 'a:b'}}"
    found = {}
    for named in ("torch", "tensorflow", "paddle"):
        recipe = recipe_of(
            model=own,
            data="{source: npz, train: a, eval: b}",
            loss=f"{{kind: custom, function: {{{named}: 'a:b'}}}}",
        )
        diagnostics = diagnose(name, judge(recipe, load_backend(name).rows))
        assert "CC308" in {d.code for d in diagnostics}
        found[named] = "CC307" in {d.code for d in diagnostics if d.severity is Severity.ERROR}
    assert found == {named: named != name for named in found}


@pytest.mark.parametrize("name", ["torch", "tensorflow", "paddle"])
def test_a_metric_without_a_function_is_refused(name: str) -> None:
    found = {}
    for named in ("torch", "tensorflow", "paddle"):
        recipe = recipe_of(metrics=f"{{custom: {{f1: {{{named}: 'a:b'}}}}}}")
        codes = {d.code for d in diagnose(name, judge(recipe, load_backend(name).rows))}
        found[named] = "CC307" in codes
        assert ("CC308" in codes) != found[named]
    assert found == {named: named != name for named in found}


# backends


def test_backend_names_are_sorted() -> None:
    assert backend_names() == sorted(backend_names())
    assert {"torch", "tensorflow", "paddle"} <= set(backend_names())


def refused(name: str) -> tuple[str, str, str]:
    with pytest.raises(DiagnosticError) as caught:
        load_backend(name)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, diagnostic.message, diagnostic.hint


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("trch", "did you mean 'torch'?"),
        ("Paddle", "did you mean 'paddle'?"),
        ("pytorch", "did you mean 'torch'?"),
        ("TF", "did you mean 'tensorflow'?"),
        ("keras", "did you mean 'tensorflow'?"),
        ("paddlepaddle", "did you mean 'paddle'?"),
        ("hugging-face", "did you mean 'transformers'?"),
        ("tvm", ""),
        ("mxnet", ""),
        ("flax", "did you mean 'jax'?"),
        ("", ""),
    ],
)
def test_unknown_backends(name: str, hint: str) -> None:
    code, message, found = refused(name)
    assert (code, found) == ("CC106", hint)
    assert f"installed: {', '.join(backend_names())}" in message


@pytest.mark.parametrize(
    "value", ["no_such_package:BACKEND", "crosscast_torch:NO_SUCH_NAME", "broken_backend:BACKEND"]
)
def test_backends_that_do_not_load(
    value: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "broken_backend.py").write_text("raise RuntimeError('boom')")
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint(name="mine", value=value, group=backend.GROUP)
    monkeypatch.setattr(backend, "_entry_points", lambda: {"mine": entry})
    code, message, _ = refused("mine")
    assert code == "CC107"
    assert "'mine' does not load" in message


@pytest.mark.parametrize("name", ["torch", "tensorflow", "paddle"])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("activation_checkpointing", "true"),
        ("loss", "{label_smoothing: 0.1}"),
        ("loss", "{class_weights: [1, 2, 3]}"),
        ("precision", "{mode: mixed, compute_dtype: bfloat16, ops: {pointwise: compute}}"),
    ],
)
def test_a_step_refuses_what_is_about_model_and_loss(name: str, field: str, value: str) -> None:
    recipe = recipe_of(**{field: value})
    compile_recipe(recipe, [name])
    with pytest.raises(DiagnosticError) as caught:
        compile_recipe(recipe, [name], form="step")
    errors = [d.code for d in caught.value.diagnostics if d.severity is Severity.ERROR]
    assert errors == ["CC212"]


@pytest.mark.parametrize("name", ["torch", "tensorflow", "paddle"])
@pytest.mark.parametrize(("mode", "expected"), [("mixed", True), ("full", True), ("none", False)])
def test_types_of_an_own_model_are_never_called_exact(name: str, mode: str, expected: bool) -> None:
    dtype = "float32" if mode == "none" else "bfloat16"
    recipe = recipe_of(
        model="{kind: custom, factory: {torch: 'a:b', tensorflow: 'a:b', paddle: 'a:b'}}",
        data="{source: npz, train: a, eval: b}",
        precision=f"{{mode: {mode}, compute_dtype: {dtype}}}",
    )
    found = diagnose(name, judge(recipe, backend.find_target(name).rows))
    assert ("CC303" in {diagnostic.code for diagnostic in found}) == expected
