"""A file beside a program takes no finding away that it does not disprove."""

from __future__ import annotations

import pytest

from crosscast.lint.engine import lint_sources
from crosscast.lint.registry import all_rules
from crosscast.lint.rule import Rule
from crosscast.messages.source import Source

COMPANION = '''\
"""Names of types and of what others do: bfloat16, no_sync, zero_grad, GradScaler, set_epoch."""

NAMES = {"bf16": "bfloat16", "fp16": "float16"}


def described(kind):
    # A program that calls optimizer.zero_grad(), scaler.unscale_(optimizer), model.no_sync() or
    # LossScaleOptimizer does more than this one: all_reduce, clip_grad_norm_, set_epoch.
    return NAMES.get(kind, "float32")
'''
RULES = [rule for rule in all_rules().values() if rule.language == "python"]


def found(*sources: Source) -> set[tuple[str, str, int]]:
    """Return code, file and line of the findings."""
    results = lint_sources(sources)
    return {(r.code, r.span.file, r.span.line) for r in results if r.is_finding and r.span}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_companion_that_only_names_things(rule: Rule) -> None:
    """Words in comments, docstrings and tables disprove nothing."""
    wrong = Source("train.py", rule.wrong)
    companion = Source("helpers.py", COMPANION)
    imports = Source("train.py", f"{rule.wrong}\nimport helpers\n")
    assert found(wrong) <= found(imports, companion)


def test_a_companion_that_holds_the_policy_counts() -> None:
    """A computed policy may come from any module."""
    rule = next(rule for rule in RULES if rule.code == "CL718")
    head = "import helpers\nimport keras\n"
    policy = "keras.mixed_precision.set_global_policy(helpers.described(kind))\n"
    chosen = f"{head}{policy}{rule.wrong}"
    types = COMPANION.replace('"bfloat16"', '"mixed_bfloat16"')
    assert found(Source("train.py", chosen), Source("helpers.py", types)) == set()


def test_a_companion_that_does_the_missing_step_counts() -> None:
    rule = next(rule for rule in RULES if rule.code == "CL604")
    companion = "def begin(sampler, epoch):\n    sampler.set_epoch(epoch)\n"
    imports = Source("train.py", f"{rule.wrong}\nimport helpers\n")
    assert found(imports, Source("helpers.py", companion)) == set()
