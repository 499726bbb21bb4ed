"""Flags that a program only keeps under an unused name (CL912)."""

from __future__ import annotations

import pytest

from .test_flag_rules import found, program

KEPT = 'parser.add_argument("--warmup-epochs", default="1,2")'


@pytest.mark.parametrize(
    ("tail", "dead"),
    [
        ("kept = args.warmup_epochs", True),
        ("kept = [int(n) for n in args.warmup_epochs.split(',')]", True),
        ("warmup_epochs = args.warmup_epochs", True),
        ("kept = args.warmup_epochs; print(kept)", False),
        ("kept = args.warmup_epochs; log(locals())", False),
        ("kept = prepare(args.warmup_epochs)", False),
        ("args.warmup_epochs = kept = args.warmup_epochs", False),
        ("model.kept = args.warmup_epochs", False),
        ("class Own:\n    kept = args.warmup_epochs\n", False),
        ("kept = args.warmup_epochs\nshow = lambda: kept", False),
        ("log('warmup_epochs'); kept = args.warmup_epochs", False),
    ],
)
def test_flags_that_are_only_kept(tail: str, dead: bool) -> None:
    text = program(KEPT, tail=f"train(args)\n{tail}")
    assert found(text) == ([("CL912", "--warmup-epochs")] if dead else [])


@pytest.mark.parametrize("helper", ["import train\nprint(train.kept)", "from train import kept"])
def test_flags_kept_for_another_module(helper: str) -> None:
    text = program(KEPT, tail="train(args)\nkept = args.warmup_epochs\nimport helper")
    assert found(text, f"import torch\n{helper}\n") == []
