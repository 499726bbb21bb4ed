"""What names of settings tell where their program is not read, and what they must not tell."""

from __future__ import annotations

import json

import pytest

from crosscast_reading.readers.usual_names import snake
from reading_helpers.reader_texts import told


@pytest.mark.parametrize(
    ("name", "usual"),
    [
        ("n_accum_grads", "gradient_accumulation_steps"),
        ("gradAccumIters", "gradient_accumulation_steps"),
        ("accumulate-grad-batches", "gradient_accumulation_steps"),
        ("accum_iter", "gradient_accumulation_steps"),
        ("gradient_accumulation_factor", "gradient_accumulation_steps"),
        ("grad_accum_dtype", "grad_accum_dtype"),
        ("accumulate", "accumulate"),
        ("accum_time", "accum_time"),
        ("num_warm_up_steps", "warmup_steps"),
        ("lr_warmup", "warmup_steps"),
        ("warmup_lr", "warmup_lr"),
        ("warmup_ratio", "warmup_ratio"),
        ("use_warmup", "use_warmup"),
        ("lr_warmup_epochs", "warmup_epochs"),
        ("warm_start", "warm_start"),
    ],
)
def test_spellings(name: str, usual: str) -> None:
    assert snake(name) == usual


def test_json_and_flags_of_an_unknown_program() -> None:
    entries = {"lr": 0.01, "lr_decay": "exp", "batch_size": 4, "gradient_clipping": 1.0}
    found = told(c__json=json.dumps(entries, indent=1))
    assert (found["optimizer.learning_rate"], found["schedule.name"]) == (0.01, "exponential")
    flags = "--lr=0.1 --warmupSteps=10 --batchSize=4 --totalSteps 100 --weightDecay 0.2"
    found = told(run__sh=f"jsrun -n 4 python3 t.py {flags}\n")
    assert (found["schedule.warmup"], found["optimizer.weight_decay"]) == ("10 steps", 0.2)
    assert found["parallel.kind"].startswith("? jsrun starts several processes")
    assert "framework" not in found


def test_results_in_json_are_no_configuration() -> None:
    rows = [{"lr": 0.1, "epochs": 3, "batch_size": 4, "weight_decay": 0.1}]
    assert told(c__json=json.dumps(rows)) == {}
    assert told(c__json=json.dumps({"lr": [0.1, 0.2], "loss": [2, 1], "step": [1, 2]})) == {}
