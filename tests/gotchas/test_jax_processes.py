"""Two processes of JAX train as one: sums are averaged, and the schedule ticks once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.test_jax_processes import NET
from frameworks.two_processes import CLIPPED, PARALLEL, Lab
from gotchas.mutation import JAX, Mutation
from tiers import exhaustive

pytestmark = [pytest.mark.jax, exhaustive("adaptations of two JAX processes, taken out")]

# SGD shows a wrong divisor, which Adam hides.
SECTIONS: dict[str, Any] = {
    "model": {"kind": "custom", "factory": {"jax": "net:build_model"}},
    "optimizer": {"name": "sgd", "learning_rate": 0.05, "no_decay": []},
    "clipping": CLIPPED,
}
FAULTS = (
    Mutation(
        6, "sum for a mean", "two", (("over_processes(jnp.mean", "over_processes(jnp.sum"),), JAX
    ),
    Mutation(
        23,
        "schedule ticks for every process",
        "two",
        (("learning_rate(state.updates)", "learning_rate(state.updates * PROCESSES)"),),
        JAX,
    ),
)


def test_without_the_adaptation_they_are_another_training(tmp_path: Path) -> None:
    lab = Lab(tmp_path, JAX, NET)
    single = lab.alone(lab.script("one", **SECTIONS), JAX, *lab.windows)
    traces = {}
    for fault in (None, *FAULTS):
        name = fault.fault.replace(" ", "-") if fault else "two"
        script = lab.script(name, **SECTIONS, **PARALLEL)
        if fault:
            script.write_text(fault.apply(script.read_text()))
        run = lab.launch(script, "out", *lab.windows)
        assert run.status["status"] == "finished", run.stderr
        traces[name] = run.trace
    assert single.code == 0, single.traceback
    for name, trace in traces.items():
        close = all(
            row[key] == pytest.approx(other[key], rel=1e-4)
            for row, other in zip(single.trace, trace, strict=True)
            for key in ("loss", "grad_norm", "lr")
        )
        assert close == (name == "two"), name
