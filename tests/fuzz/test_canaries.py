"""The comparison is sharp: small mistakes written into emitted steps are all found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crosscast.compiler import compile_recipe
from frameworks.emitted_script import FLOAT16, tiny_recipe
from frameworks.subprocesses import require
from fuzz.cases import Case
from fuzz.differ import compare_text
from fuzz.faults import Fault, Faults
from fuzz.link import EAGER, Worker

RECIPE = {
    "precision": FLOAT16,
    "batch": {"micro_batch_size": 2, "global_batch_size": 4},
    "loss_scaling": {"mode": "dynamic", "init_scale": 64.0, "hysteresis": 2, "growth_interval": 2},
    "clipping": {"kind": "global_norm", "max_norm": 5.0, "eps": 1e-3},
    "optimizer": {"name": "adamw", "learning_rate": 0.01, "eps": 1e-3, "weight_decay": 0.1},
    "schedule": {"name": "linear", "warmup_steps": 2, "total_steps": 20},
    "ema": {"decay": 0.9},
}
FAULTS = Faults(
    seed=1,
    windows=((2, 2), (2, 2), (2, 2), (2,), (2, 2), (2, 2), (2, 2), (2, 2), (2, 2)),
    surges={7: 20},
    faults=(
        Fault(1, 1, "bias", float("-inf")),
        Fault(4, 0, "gamma", float("inf")),
        Fault(5, 1, "embeddings", float("nan")),
    ),
)
"""Windows 2 and 3 let the scale grow, 4 and 5 let it fall."""

Change = tuple[str, str]
EVERYWHERE: dict[str, Change] = {
    "beta": ("BETAS = (0.9, 0.999)", "BETAS = (0.9, 0.9989)"),
    "eps": ("\nEPS = 0.001\n", "\nEPS = 0.00101\n"),
    "eps of the norm": ("CLIP_EPS = 0.001", "CLIP_EPS = 0.0"),
    "a thousandth of an average": ("EMA_DECAY = 0.9", "EMA_DECAY = 0.901"),
    "a bit of decay": ("WEIGHT_DECAY = 0.1", "WEIGHT_DECAY = 0.1001"),
    "warm-up begins with 1": ("LEARNING_RATE * position /", "LEARNING_RATE * (position + 1) /"),
    "hysteresis off by one": ("self.bad >= HYSTERESIS", "self.bad > HYSTERESIS"),
    "interval off by one": ("self.good >= GROWTH", "self.good > GROWTH"),
    "overflow keeps the interval": ("self.good, self.bad = 0,", "self.good, self.bad = self.good,"),
    "clean keeps the hysteresis": ("self.good + 1, 0\n", "self.good + 1, self.bad\n"),
    "skips count as updates": ("state.updates += not skipped", "state.updates += 1"),
}
OWN: dict[str, dict[str, Change]] = {
    "torch": {
        "gradients a thousandth too small": ("loss / rows", "loss / (rows * 1.001)"),
        "mean by micro-batch": ("loss / rows", "loss / n_micro"),
        "decay everywhere": ("if decays(module, name) else 0.0", "if name else 0.0"),
        "coupled decay": ("torch.optim.AdamW(", "torch.optim.Adam("),
        "gradients are kept": ("    state.optimizer.zero_grad()\n", ""),
        "clipping lengthens": ("max=1.0)", "max=1e9)"),
        "averages move on a skip": (
            "    if not skipped:\n        update_av",
            "    if True:\n        update_av",
        ),
    },
    "paddle": {
        "gradients a thousandth too small": ("loss / rows", "loss / (rows * 1.001)"),
        "mean by micro-batch": ("loss / rows", "loss / n_micro"),
        "decay everywhere": (
            "setdefault(parameter.name, decays(layer, name))",
            "setdefault(parameter.name, True)",
        ),
        "gradients are kept": ("    state.optimizer.clear_grad(set_to_zero=False)\n", ""),
        "clipping lengthens": ("max=1.0)", "max=1e9)"),
    },
    "tensorflow": {
        "gradients a thousandth too small": ("tf.constant(rows,", "tf.constant(rows * 1.001,"),
        "decay everywhere": ("            if decays(weight):", "            if True:"),
        "correction off by one": (
            "self.iterations.assign_add(1),",
            "self.iterations.assign_add(1) + 1,",
        ),
        "eps before the correction": (
            "/ correction / (root + EPS)",
            "/ correction * root_correction / (tf.sqrt(square) + EPS)",
        ),
        "decay after the step": ("WEIGHT_DECAY * weight)", "WEIGHT_DECAY * gradient)"),
        "correction of the other moment": ("1.0 - BETAS[1] ** t", "1.0 - BETAS[0] ** t"),
        "gradients are kept": ("total.assign(tf.zeros_like(total))", "total.assign(total)"),
        "no skip": (
            "    if finite:\n        state.optimizer.apply",
            "    if True:\n        state.optimizer.apply",
        ),
    },
}
TARGETS = [pytest.param(name, marks=[getattr(pytest.mark, name), pytest.mark.slow]) for name in OWN]


@pytest.fixture(scope="module", params=TARGETS)
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    require(request.param)
    worker = Worker(request.param, extra=EAGER)  # compiling every mutant would take minutes
    yield worker
    worker.stop()


def test_small_mistakes_are_found(worker: Worker) -> None:
    case = Case(tiny_recipe(**RECIPE), FAULTS)
    (compiled,) = compile_recipe(case.recipe, [worker.framework], form="step")
    text = compiled.files["step.py"].text
    assert compare_text(worker, text, case).problems == []
    found = {}
    for name, (right, wrong) in (EVERYWHERE | OWN[worker.framework]).items():
        assert text.count(right) == 1, name
        report = compare_text(worker, text.replace(right, wrong), case)
        found[name] = report.problems
    assert [name for name, problems in found.items() if not problems] == []
    assert len(found) >= 15


FIELDS: dict[str, dict[str, object]] = {
    "epsilon before the correction": {"eps_placement": "before_correction"},
    "no bias correction": {"bias_correction": False},
    "decay of biases": {"no_decay": ["layer_norm"]},
    "other group": {"groups": [{"parameters": ["*able*", "*embeddings"], "rate_factor": 0.999}]},
    "coupled": {"name": "adam", "no_decay": ["bias", "layer_norm"]},
}


def test_the_step_of_another_recipe_is_told_apart(worker: Worker) -> None:
    case = Case(tiny_recipe(**RECIPE), FAULTS)
    missed = []
    for name, changes in FIELDS.items():
        other = tiny_recipe(**RECIPE | {"optimizer": {**RECIPE["optimizer"], **changes}})
        (compiled,) = compile_recipe(other, [worker.framework], form="step")
        if not compare_text(worker, compiled.files["step.py"].text, case).problems:
            missed.append(name)
    assert missed == []
