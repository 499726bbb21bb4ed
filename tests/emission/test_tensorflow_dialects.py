"""The generations of Keras: what is chosen, what is said, and whole files as they are emitted."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast.capability import Evidence
from crosscast.compiler import Compiled, compile_recipe
from crosscast.diagnostics import DiagnosticError
from crosscast.target import find_target
from emission import goldens
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, tiny_recipe

DROPOUT: dict[str, Any] = TINY["model"] | {"dropout": 0.1}
SCALED: dict[str, Any] = {
    "precision": FLOAT16,
    "loss_scaling": {"mode": "dynamic"},
    "clipping": {"kind": "global_norm", "max_norm": 1.0},
}
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


def test_golden_graph_rewrite() -> None:
    goldens.check(compiled("tensorflow@graph-rewrite", **SCALED), "tensorflow-graph-rewrite")


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
        *("CC325", "CC370", "CC371"),
    }


@pytest.mark.parametrize("precision", [BFLOAT16, FULL])
def test_what_the_graph_rewrite_cannot_do(precision: dict[str, Any]) -> None:
    with pytest.raises(DiagnosticError) as error:
        compiled("tensorflow@graph-rewrite", precision=precision)
    assert {found.code for found in error.value.diagnostics} >= {"CC371"}


def test_the_plan_is_the_same_for_all_dialects() -> None:
    plans = {compiled(f"tensorflow@{name}", **SCALED).plan for name in ("keras3", "keras2")}
    assert len(plans) == 1
