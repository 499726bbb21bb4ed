"""Right programs for JAX that look like the mistakes which rules are about."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

HEAD = """\
import functools
import operator

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from flax.training import dynamic_scale, train_state

"""
LOOP = """

def train_step(weights, state, batch):
    gradients = jax.grad(loss_fn)(weights, batch)
    updates, state = tx.update(gradients, state, weights)
    return optax.apply_updates(weights, updates), state


for batch in loader:
    weights, state = train_step(weights, state, batch)
"""
STEP = """
    gradients = jax.grad(loss_fn)(weights, batch)
    updates, state = tx.update(gradients, state, weights)
    weights = optax.apply_updates(weights, updates)
"""
RIGHT = {
    "a scale that the next round reads": """\
scale = dynamic_scale.DynamicScale()
for batch in loader:
    scale, finite, loss, gradients = scale.value_and_grad(loss_fn)(weights, batch)
    updates, new = tx.update(gradients, state, weights)
    weights = jax.tree.map(functools.partial(jnp.where, finite), weights, weights)
""",
    "a guard of its own": """\
scale = dynamic_scale.DynamicScale()
for batch in loader:
    scale, _, loss, gradients = scale.value_and_grad(loss_fn)(weights, batch)
    ok = jnp.isfinite(optax.global_norm(gradients))
""",
    "a method whose key changes": """\
class Trainer:
    def step(self, key, batch):
        def loss_fn(weights):
            return model.apply(weights, batch, rngs={"dropout": key}).sum()
        return jax.grad(loss_fn)(self.weights)

trainer = Trainer()
for epoch in range(3):
    key, sub = jax.random.split(key)
    trainer.step(sub, data)
""",
    "another stream, in an evaluation": """\
def evaluate(weights, batch, key):
    return model.apply(weights, batch, rngs={"latent": key})

for batch in loader:
    evaluate(weights, batch, z_key)
""",
    "dropout that is off": """\
def measured(weights, batch, key):
    def loss_fn(w):
        return model.apply(w, batch, train=False, rngs={"dropout": key})
    return jax.grad(loss_fn)(weights)

for batch in loader:
    measured(weights, batch, key)
""",
    "a mask by a function of its own": """\
def decays(weights):
    def is_bias(path):
        return path[-1].key == "bias"
    return jax.tree_util.tree_map_with_path(lambda path, _: not is_bias(path), weights)

tx = optax.adamw(1e-3, mask=decays)
"""
    + LOOP,
    "a mask that is turned round": """\
def decays(weights):
    biases = jax.tree_util.tree_map_with_path(lambda path, _: path[-1].key == "bias", weights)
    return jax.tree.map(operator.not_, biases)

tx = optax.adamw(1e-3, mask=decays)
"""
    + LOOP,
    "a decay of biases beside that of matrices": """\
biases = lambda path: path[-1] == "bias"
tx = optax.chain(
    optax.scale_by_adam(),
    optax.add_decayed_weights(1e-2, mask=matrices),
    optax.add_decayed_weights(1e-5, mask=biases),
    optax.scale(-1e-3),
)
"""
    + LOOP,
    "a chain in a chain": """\
direction = optax.chain(optax.scale_by_adam(), optax.scale(0.5))
tx = optax.chain(direction, optax.scale_by_learning_rate(1e-3))
"""
    + LOOP,
    "a chain of what is not known": """\
tx = optax.chain(optax.scale_by_adam(), optax.stateless(turned), optax.scale(1e-3))
"""
    + LOOP,
    "an ascent on purpose": """\
tx = optax.chain(optax.scale_by_adam(), optax.scale(1e-3))

def climb(weights, state, batch):
    gradients = jax.tree.map(lambda g: -g, jax.grad(loss_fn)(weights, batch))
    updates, state = tx.update(gradients, state, weights)
    return optax.apply_updates(weights, updates), state

for batch in loader:
    weights, state = climb(weights, state, batch)
""",
    "models that train apart on purpose": """\
def train(key):
    weights = init(key)
    gradients = jax.grad(loss_fn)(weights, data)
    return optax.apply_updates(weights, tx.update(gradients, tx.init(weights))[0])

trained = jax.pmap(train)(jax.random.split(key, 8))
""",
    "a helper that joins": """\
@functools.partial(jax.pmap, axis_name="batch")
def train_step(state, batch):
    gradients = jax.grad(loss_fn)(state.params, batch)
    gradients = utils.average(gradients, "batch")
    return state.apply_gradients(grads=gradients)

for batch in loader:
    state = train_step(state, batch)
""",
    "a state for every task": """\
tx = optax.adam(1e-3)

def adapt(weights, state, task):
    updates, _ = tx.update(jax.grad(loss_fn)(weights, task), state, weights)
    return optax.apply_updates(weights, updates)

for task in tasks:
    state = tx.init(weights)
    adapt(weights, state, task)
""",
    "updates that are measured": """\
tx = optax.adam(1e-3)

def size(weights, state, batch):
    updates, _ = tx.update(jax.grad(loss_fn)(weights, batch), state, weights)
    return optax.global_norm(updates)

for batch in loader:
    size(weights, state, batch)
""",
    "a method of the program": """\
class Agent:
    def apply_gradients(self, grads):
        self.state = self.state.apply_gradients(grads=grads)

    def learn(self, batch):
        self.apply_gradients(grads=jax.grad(loss_fn)(self.state.params, batch))

agent = Agent()
for batch in loader:
    agent.learn(batch)
""",
    "a limit of the steps of SGD": "tx = optax.chain(optax.sgd(0.1), optax.clip(0.01))\n" + LOOP,
    "a region of trust": """\
tx = optax.chain(
    optax.adam(1.0), optax.clip_by_global_norm(0.5), optax.scale_by_schedule(schedule)
)
"""
    + LOOP,
    "windows of one": """\
clip = optax.clip_by_global_norm(1.0)
tx = optax.chain(clip, optax.MultiSteps(optax.adamw(1e-3), every_k_schedule=1))
"""
    + LOOP,
    "either release of Flax": """\
if hasattr(nnx, "ModelAndOptimizer"):
    optimizer = nnx.ModelAndOptimizer(model, tx)
else:
    optimizer = nnx.Optimizer(model, tx)
for batch in loader:
    optimizer.update(nnx.grad(loss_fn)(model, batch))
""",
    "schedules that follow each other": """\
schedule = optax.join_schedules(
    [
        optax.constant_schedule(0.0),
        optax.warmup_cosine_decay_schedule(0.0, 1e-3, warmup, total - warmup),
    ],
    [warmup],
)
tx = optax.adamw(schedule)
"""
    + LOOP,
    "one of several optimizers": """\
def make(name):
    if name == "adamw":
        return optax.adamw(1e-3)
    return mine.sgd(1e-3)

tx = make(name)
for batch in loader:
    updates, state = tx.update(jax.grad(loss_fn)(weights, batch), state)
    weights = optax.apply_updates(weights, updates)
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_found(name: str) -> None:
    found = lint_sources([Source("train.py", HEAD + RIGHT[name])])
    assert [(result.code, result.message) for result in found] == []


def test_settings_of_every_program_are_read() -> None:
    """A launch script beside two programs is linted with the one that it starts."""
    train = "import torch\n" + "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    train += "for batch in loader:\n    optimizer.zero_grad()\n    model(batch).sum().backward()\n"
    train += "    optimizer.step()\n"
    flags = "import argparse\nparser = argparse.ArgumentParser()\n"
    flags += 'parser.add_argument("--lr", type=float)\nargs = parser.parse_args()\n'
    start = Source("run.sh", "torchrun --nproc_per_node 2 b.py --fp16\n")
    alone = lint_sources([Source("b.py", flags + train), start])
    assert any(result.span is not None and result.span.file == "run.sh" for result in alone)
    both = lint_sources(
        [Source("a.py", "import b\n" + train), Source("b.py", flags + train), start]
    )
    of_script = {(r.code, r.message) for r in alone if r.span and r.span.file == "run.sh"}
    assert of_script <= {(r.code, r.message) for r in both}
