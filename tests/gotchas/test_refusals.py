"""What cannot be made right is refused, and every danger has a probe in the real framework."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.diagnostics import DiagnosticError, Severity
from frameworks.emitted_script import FLOAT16, TINY, tiny_recipe


def refusals(target: str, **sections: Any) -> dict[str, str]:
    """Return code and message of everything for which a recipe is refused."""
    try:
        compile_recipe(tiny_recipe(**sections), [target])
    except DiagnosticError as error:
        found = [
            diagnostic for diagnostic in error.diagnostics if diagnostic.severity is Severity.ERROR
        ]
        return {diagnostic.code: diagnostic.message for diagnostic in found}
    return {}


def errors(target: str, **sections: Any) -> set[str]:
    return set(refusals(target, **sections))


def test_own_models_of_keras_2_in_several_processes_are_refused() -> None:
    parallel = {"strategy": "data_parallel", "processes_per_node": 2}
    own = {"kind": "custom", "factory": {"tensorflow": "models:build"}}
    assert errors("tensorflow@2.15", distributed=parallel, model=own) == {"CC380"}
    assert errors("tensorflow@2.15", distributed=parallel) == set()
    assert errors("tensorflow@2.15", model=own) == set()
    assert errors("tensorflow", distributed=parallel, model=own) == set()


def test_two_optimizers_cannot_be_said() -> None:
    optimizer = TINY["optimizer"]
    assert errors("paddle", optimizer=[optimizer, optimizer]) == {"CC103"}
    assert errors("paddle", optimizers=[optimizer, optimizer]) == {"CC101"}


@pytest.mark.parametrize("form", ["script", "step"])
def test_a_paddle_script_has_one_optimizer_and_one_scaler(form: Any) -> None:
    recipe = tiny_recipe(
        precision=FLOAT16,
        loss_scaling={"mode": "dynamic"},
        optimizer={"name": "adam", "learning_rate": 0.1, "weight_decay": 0.1},
    )
    (compiled,) = compile_recipe(recipe, ["paddle"], form=form)
    text = compiled.files["train.py" if form == "script" else "step.py"].text
    assert text.count("paddle.amp.GradScaler(") == 1
    assert text.count(".unscale_(state.optimizer)") == 1
    assert text.count("scaler.step(state.optimizer)") == 1


def test_lark_has_no_dynamic_scale() -> None:
    told = {
        mode: " ".join(
            refusals("paddle@lark", precision=FLOAT16, loss_scaling={"mode": mode}).values()
        )
        for mode in ("dynamic", "none")
    }
    assert "the scale is constant" in told["dynamic"]
    assert "the scale is constant" not in told["none"]
