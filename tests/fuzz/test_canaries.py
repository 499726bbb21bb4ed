"""The comparison is sharp: small mistakes written into emitted steps are all found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast_parity.toy.worker import Worker
from frameworks.emitted_script import tiny_recipe
from frameworks.subprocesses import require
from fuzz.differ import compare_text
from fuzz.example import EXAMPLE, SECTIONS
from fuzz.link import make_worker
from tiers import cases

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
    "jax": {
        "gradients a thousandth too small": ("np.float32(rows)", "np.float32(rows * 1.001)"),
        "mean by micro-batch": ("np.float32(rows)", "np.float32(n_micro)"),
        "decay everywhere": ("return not isinstance(modules[path[:-1]], spared)", "return True"),
        "coupled decay": (
            "        scale_by_adam(),\n"
            "        optax.add_decayed_weights(WEIGHT_DECAY, decays(model)),\n",
            "        optax.add_decayed_weights(WEIGHT_DECAY, decays(model)),\n"
            "        scale_by_adam(),\n",
        ),
        "correction off by one": ("expm1(count * ", "expm1((count + 1) * "),
        "clipping lengthens": ("jnp.minimum(1.0, MAX", "jnp.minimum(1e9, MAX"),
        "no skip": ("(partial(jnp.where, finite), (weights", "(lambda new, _: new, (weights"),
        "averages move on a skip": (
            "(partial(jnp.where, finite), averages",
            "(lambda new, _: new, averages",
        ),
        "skips count as updates": ('state.updates += not row["skipped"]', "state.updates += 1"),
    },
}
TARGETS = cases(
    [pytest.param(name, marks=[getattr(pytest.mark, name)]) for name in OWN],
    quick=["torch"],
    reason="mistakes in the steps of other frameworks",
)


@pytest.fixture(scope="module", params=TARGETS)
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    require(request.param)
    worker = make_worker(request.param, eager=True)  # compiling every mutant would take minutes
    yield worker
    worker.stop()


def test_small_mistakes_are_found(worker: Worker) -> None:
    (compiled,) = compile_recipe(EXAMPLE.recipe, [worker.framework], form="step")
    text = compiled.files["step.py"].text
    assert compare_text(worker, text, EXAMPLE).problems == []
    found = {}
    for name, (right, wrong) in (EVERYWHERE | OWN[worker.framework]).items():
        assert text.count(right) == 1, name
        report = compare_text(worker, text.replace(right, wrong), EXAMPLE)
        found[name] = report.problems
    assert [name for name, problems in found.items() if not problems] == []
    assert len(found) >= 15


FIELDS: dict[str, dict[str, Any]] = {
    "epsilon before the correction": {"eps_placement": "before_correction"},
    "no bias correction": {"bias_correction": False},
    "decay of biases": {"no_decay": ["layer_norm"]},
    "other group": {"groups": [{"parameters": ["*able*", "*embeddings"], "rate_factor": 0.999}]},
    "coupled": {"name": "adam", "no_decay": ["bias", "layer_norm"]},
}


def test_the_step_of_another_recipe_is_told_apart(worker: Worker) -> None:
    missed = []
    for name, changes in FIELDS.items():
        other = tiny_recipe(**SECTIONS | {"optimizer": {**SECTIONS["optimizer"], **changes}})
        (compiled,) = compile_recipe(other, [worker.framework], form="step")
        if not compare_text(worker, compiled.files["step.py"].text, EXAMPLE).problems:
            missed.append(name)
    assert missed == []
