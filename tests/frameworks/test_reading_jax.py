"""Programs of JAX under observation: what cannot be seen is named, and nothing is changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast_parity.reading.observed import Observed, observe
from crosscast_parity.side_by_side.running import Limits, Program
from frameworks.subprocesses import require, start, warm
from reading_programs import PROGRAMS
from tiers import cases, exhaustive

pytestmark = pytest.mark.jax

DIGEST = """
import hashlib
import numpy

leaves = [numpy.asarray(leaf) for leaf in jax.tree.leaves({weights})]
print("weights", hashlib.sha256(b"".join(leaf.tobytes() for leaf in leaves)).hexdigest())
"""
WORDS = ("weights", "loss")
PMAP = """\
import functools
import jax
import jax.numpy as jnp
import optax

tx = optax.adam(1e-3)
params = {"w": jnp.ones((8, 4))}
n = jax.local_device_count()


def loss_fn(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(x @ params["w"], y).mean()


@functools.partial(jax.pmap, axis_name="batch")
def train_step(params, opt_state, x, y):
    grads = jax.lax.pmean(jax.grad(loss_fn)(params, x, y), "batch")
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state

opt_state = tx.init(params)
params, opt_state = jax.tree.map(lambda a: jnp.stack([a] * n), (params, opt_state))
x = jax.random.normal(jax.random.key(0), (6, n, 8, 8))
y = jax.random.randint(jax.random.key(1), (6, n, 8), 0, 4)
for step in range(6):
    params, opt_state = train_step(params, opt_state, x[step], y[step])
"""
GAN = """\
import jax
import jax.numpy as jnp
import optax

g_tx, d_tx = optax.adam(1e-3), optax.adam(2e-3)
g, d = {"w": jnp.ones((4, 8)) * 0.1}, {"w": jnp.ones((8, 1)) * 0.1}


def d_loss(d, g, z, real):
    return jnp.mean(jax.nn.softplus(-real @ d["w"]) + jax.nn.softplus(z @ g["w"] @ d["w"]))


def g_loss(g, d, z):
    return jnp.mean(jax.nn.softplus(-(z @ g["w"]) @ d["w"]))

@jax.jit
def step(g, d, g_state, d_state, z, real):
    updates, d_state = d_tx.update(jax.grad(d_loss)(d, g, z, real), d_state)
    d = optax.apply_updates(d, updates)
    updates, g_state = g_tx.update(jax.grad(g_loss)(g, d, z), g_state)
    g = optax.apply_updates(g, updates)
    return g, d, g_state, d_state


g_state, d_state = g_tx.init(g), d_tx.init(d)
for n in range(6):
    z = jax.random.normal(jax.random.key(n), (16, 4))
    real = jax.random.normal(jax.random.key(n + 50), (16, 8))
    g, d, g_state, d_state = step(g, d, g_state, d_state, z, real)
"""
AHEAD = PROGRAMS["jax chain"].text.replace(
    "opt_state = tx.init(params)\n",
    "opt_state = tx.init(params)\nrows = jnp.ones((8, 8))\nlabels = jnp.zeros(8, jnp.int32)\n"
    "train_step = train_step.lower(params, opt_state, rows, labels).compile()\n",
)
HOST = (
    PROGRAMS["jax loop"]
    .text.replace(
        "    loss, grads = jax.value_and_grad(loss_fn)(params, rows[part], labels[part])\n"
        "    updates, opt_state = optimizer.update(grads, opt_state)\n"
        "    params = optax.apply_updates(params, updates)\n",
        "    params, opt_state = train_step(params, opt_state)\n",
    )
    .replace(
        "for step",
        """
from jax.experimental import io_callback

numbers = iter(range(100))


@jax.jit
def train_step(params, opt_state):
    number = io_callback(lambda: numpy.int32(next(numbers)), jax.ShapeDtypeStruct((), jnp.int32))
    part = jax.lax.dynamic_slice_in_dim(rows, 8 * number, 8)
    grads = jax.grad(loss_fn)(params, part, labels[:8])
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state


import numpy

for step""",
    )
)


def seen(folder: Path, text: str) -> Observed:
    require("jax")
    (folder / "train.py").write_text(text)
    program = Program(
        framework="jax",
        python=warm("jax"),
        folder=folder,
        script="train.py",
        arguments=(),
        texts={},
    )
    return observe(program, Limits(seconds=1800.0, updates=100))


@pytest.mark.parametrize(
    ("text", "reason"),
    cases(
        [
            (PMAP, "jax.pmap compiles its updates, which was not watched"),
            (AHEAD, "jax.jit(...).lower compiles its updates, which was not watched"),
            (
                HOST,
                "train_step could not be watched: it calls the host (jax.experimental.io_callback)",
            ),
        ],
        quick=[],
        reason="programs that cannot be watched",
    ),
)
def test_what_cannot_be_watched_is_named(tmp_path: Path, text: str, reason: str) -> None:
    observed = seen(tmp_path, text + DIGEST.format(weights="params"))
    assert observed.ran.problem == f"no update was observed: {reason}", observed.ran.printed
    assert "weights" in observed.ran.printed  # it went on to its end


@pytest.mark.parametrize(
    ("name", "weights"),
    cases(
        [
            ("jax loop", "params"),
            ("jax train state", "state.params"),
            ("jax nnx", "nnx.state(model)"),
            ("jax multi steps", "params"),
            ("jax chain", "params"),
            ("jax epoch", "params"),
            ("jax half", "nnx.state(model)"),
        ],
        quick=[("jax chain", "params")],
        reason="more programs that an observation leaves as they are",
    ),
)
def test_an_observed_program_keeps_every_bit(tmp_path: Path, name: str, weights: str) -> None:
    text = PROGRAMS[name].text + DIGEST.format(weights=weights)
    observed = seen(tmp_path, text)
    assert not observed.ran.problem, observed.ran.printed
    alone = start(tmp_path / "train.py", "jax").stdout
    assert "weights" in alone
    told = [line for line in observed.ran.printed.splitlines() if line.startswith(WORDS)]
    assert told == alone.splitlines()  # and what it prints is printed once


@exhaustive("two optimizers of one program")
def test_two_optimizers_are_counted(tmp_path: Path) -> None:
    evidence = seen(tmp_path, GAN).evidence
    assert [attempt.optimizer for attempt in evidence.recording.attempts] == [0, 1] * 6
    assert evidence.optimizers == 2
