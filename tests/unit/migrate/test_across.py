"""Migration to another framework: what is written, what is asked, what is told."""

from __future__ import annotations

import ast

import pytest

import migration_sources
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import CrossMigration, migrate_across
from crosscast_migrate.own_model import FILE


def moved(text: str, target: str, *, name: str = "train.py", **more: object) -> CrossMigration:
    return migrate_across([Source(name, text)], [target], **more)  # type: ignore[arg-type]


def value(across: CrossMigration, path: str) -> object:
    place: object = across.recipe
    for part in path.split("."):
        place = getattr(place, part)
    return place


PAIRS = [
    pytest.param(
        migration_sources.TORCH,
        "paddle",
        {
            "optimizer.name": "adamw",
            "optimizer.learning_rate": 3e-4,
            "optimizer.weight_decay": 0.05,
            "accumulation.steps": 4,
            "clipping.max_norm": 0.5,
            "loss_scaling.init_scale": 1024.0,
            "precision.compute_dtype": "float16",
        },
        id="torch-paddle",
    ),
    pytest.param(
        migration_sources.APEX,
        "torch",
        {"optimizer.momentum": 0.9, "loss_scaling.max_scale": 2.0**24, "precision.mode": "mixed"},
        id="apex-torch",
    ),
    pytest.param(
        migration_sources.KERAS,
        "torch",
        {
            "optimizer.name": "adam",
            "optimizer.eps": 1e-6,
            "loss_scaling.mode": "dynamic",
            "precision.compute_dtype": "float16",
        },
        id="keras-torch",
    ),
    pytest.param(
        migration_sources.PADDLE,
        "tensorflow",
        {
            "optimizer.name": "adamw",
            "optimizer.weight_decay": 0.02,
            "clipping.max_norm": 1.0,
            "loss_scaling.init_scale": 2048.0,
        },
        id="paddle-tensorflow",
    ),
]


@pytest.mark.parametrize(("text", "target", "values"), PAIRS)
def test_what_a_source_says_arrives(text: str, target: str, values: dict[str, object]) -> None:
    across = moved(text, target)
    assert {path: value(across, path) for path in values} == values
    assert {f"{target}/train.py", f"{target}/launch.sh", "recipe.yaml"} <= set(across.files)
    ast.parse(across.files[f"{target}/train.py"].text)


@pytest.mark.parametrize(("text", "target", "values"), PAIRS)
def test_what_no_source_says_is_asked_for(
    text: str, target: str, values: dict[str, object]
) -> None:
    across = moved(text, target)
    assert "schedule.total_steps" in across.fill_in
    missing = {diagnostic.path for diagnostic in across.diagnostics if diagnostic.code == "CC972"}
    assert {"schedule.total_steps", "data"} <= missing
    assert not missing & values.keys()


def test_a_setting_whose_value_cannot_be_read_is_no_silent_default() -> None:
    text = migration_sources.TORCH.replace("weight_decay=0.05", "weight_decay=decay_of(model)")
    across = moved(text, "paddle")
    assert "optimizer.weight_decay" in across.fill_in
    diagnostic = next(
        diagnostic
        for diagnostic in across.diagnostics
        if diagnostic.path == "optimizer.weight_decay"
    )
    assert diagnostic.code == "CC972"
    assert diagnostic.span is not None
    assert diagnostic.span.line == 7


def test_a_launch_script_alone_is_carried_as_far_as_it_goes() -> None:
    across = moved(migration_sources.LAUNCH, "torch", name="run.sh")
    assert value(across, "precision.compute_dtype") == "float16"
    assert value(across, "optimizer.learning_rate") == 2e-5
    assert "accumulation.steps" in across.fill_in  # the program was not given
    assert "FILL IN" in across.text
    assert "run.sh:5" in across.text


def test_the_model_stays_with_its_user_and_says_so_when_it_runs() -> None:
    across = moved(migration_sources.OWN_MODEL, "paddle")
    text = across.files[f"paddle/{FILE}"].text
    assert "model_of(16) is not known" in text
    assert "train.py:14: loss = nn.functional.cross_entropy(model(inputs), labels)" in text
    tree = ast.parse(text.replace("from paddle import nn", "class nn:\n    Layer = object"))
    scope: dict[str, object] = {}
    exec(compile(tree, FILE, "exec"), scope)  # our own text
    with pytest.raises(NotImplementedError, match="write build_model"):
        scope["build_model"]()  # type: ignore[operator]
    assert "from own_model import build_model" in across.files["paddle/train.py"].text


@pytest.mark.parametrize("target", ["torch", "tensorflow", "paddle"])
def test_a_model_to_fill_in_has_a_test_that_fails_until_then(target: str) -> None:
    across = moved(migration_sources.OWN_MODEL, target)
    tree = ast.parse(across.files[f"{target}/test_{FILE}"].text)
    tests = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert len(tests) == 2
    assert f"{target}/test_{FILE}" not in moved(migration_sources.TORCH, target).files


def test_every_target_gets_its_own_factory() -> None:
    both = [Source("train.py", migration_sources.TORCH)]
    across = migrate_across(both, ["paddle", "tensorflow"])
    assert {f"paddle/{FILE}", f"tensorflow/{FILE}"} <= set(across.files)
    assert "model.factory.torch" not in across.fields


def test_what_a_user_says_counts_and_is_no_longer_asked_for() -> None:
    across = moved(
        migration_sources.TORCH,
        "torch",
        settings={
            "schedule.total_steps": 300,
            "batch.micro_batch_size": 4,
            "accumulation.tail": "drop",
        },
    )
    assert value(across, "schedule.total_steps") == 300
    assert not any(not path.startswith(("model.", "data.")) for path in across.fill_in)


def test_a_kind_that_a_user_says_brings_no_fields_of_the_former_one() -> None:
    settings = {
        "precision.mode": "none",
        "precision.compute_dtype": "float32",
        "loss_scaling.mode": "none",
    }
    across = moved(migration_sources.TORCH, "torch", settings=settings)
    assert value(across, "loss_scaling.mode") == "none"
    assert "loss_scaling.init_scale" not in across.fields
    assert value(across, "clipping.max_norm") == 0.5


WARM_UP = """
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, {} / WARMUP))
"""


def test_a_warm_up_that_begins_at_an_unknown_rate_is_no_silent_loss() -> None:
    settings = {"schedule.warmup_steps": 10, "schedule.total_steps": 300}
    moves = (
        "            scaler.update()\n",
        "            scaler.update()\n            scheduler.step()\n",
    )
    source, before, after = migration_sources.TORCH.replace(*moves).partition("\n\ndef train")
    for formula, is_open in (("(step + 1)", True), ("step", False)):
        text = source + WARM_UP.format(formula) + before + after
        across = moved(text, "paddle", settings=settings)
        said = [
            (diagnostic.code, diagnostic.path)
            for diagnostic in across.diagnostics
            if (diagnostic.path or "").startswith("schedule")
        ]
        assert said == [("CC972", "schedule.warmup_start_lr")] * is_open
        assert ("schedule.warmup_start_lr" in across.fill_in) is is_open


def test_a_user_can_say_that_the_model_is_a_bert() -> None:
    across = moved(
        migration_sources.TORCH,
        "torch",
        settings={"model.kind": "bert", "model.preset": "tiny", "model.labels": 3},
    )
    assert value(across, "model.hidden_size") == 128
    assert f"torch/{FILE}" not in across.files
    assert "torch/model.py" in across.files


def test_a_setting_that_is_no_field_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="CC101"):
        moved(migration_sources.TORCH, "torch", settings={"optimizer.speed": 3})


@pytest.mark.parametrize("text", [migration_sources.NOTHING, "", "def broken(:\n"])
def test_what_does_not_train_is_not_migrated(text: str) -> None:
    with pytest.raises(DiagnosticError, match="CC971"):
        moved(text, "torch")


def test_a_recipe_is_compiled_not_migrated() -> None:
    text = moved(migration_sources.APEX, "torch").text
    with pytest.raises(DiagnosticError, match="CC971"):
        moved(text, "paddle", name="recipe.yaml")


def test_a_target_that_cannot_say_it_is_refused() -> None:
    with pytest.raises(DiagnosticError) as refused:
        moved(migration_sources.TORCH, "paddle@fleet")
    assert any(diagnostic.severity == "error" for diagnostic in refused.value.diagnostics)


def test_the_comments_of_a_hostile_source_stay_comments() -> None:
    name = "a\nmodel: {kind: bert}\n#.py"
    across = moved(migration_sources.APEX, "torch", name=name)
    assert value(across, "model.kind") == "custom"
    ast.parse(across.files["torch/train.py"].text)
    ast.parse(across.files[f"torch/{FILE}"].text)


def test_a_hostile_line_does_not_leave_the_docstring_of_the_stub() -> None:
    hostile = 'model(inputs) + len("""\\N{BULLET}""")'
    text = migration_sources.OWN_MODEL.replace("model(inputs)", hostile)
    stub = moved(text, "torch").files[f"torch/{FILE}"].text
    assert len(ast.parse(stub).body) == 3
