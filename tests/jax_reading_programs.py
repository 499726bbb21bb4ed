"""Programs of JAX whose readings are proven by a run, and some that cannot be watched."""

from __future__ import annotations

from typing import Any

JAX_LOOP = """\
import jax
import jax.numpy as jnp
import optax


def init(key):
    first, second = jax.random.split(key)
    return {
        "hidden": {"kernel": jax.random.normal(first, (8, 16)) * 0.3, "bias": jnp.zeros(16)},
        "head": {"kernel": jax.random.normal(second, (16, 4)) * 0.3, "bias": jnp.zeros(4)},
    }


def loss_fn(params, inputs, labels):
    hidden = jnp.tanh(inputs @ params["hidden"]["kernel"] + params["hidden"]["bias"])
    logits = hidden @ params["head"]["kernel"] + params["head"]["bias"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


params = init(jax.random.key(3))
optimizer = optax.adam(2e-3, b2=0.99)
opt_state = optimizer.init(params)
rows = jax.random.normal(jax.random.key(4), (96, 8))
labels = jax.random.randint(jax.random.key(5), (96,), 0, 4)
for step in range(12):
    part = slice(8 * step, 8 * step + 8)
    loss, grads = jax.value_and_grad(loss_fn)(params, rows[part], labels[part])
    updates, opt_state = optimizer.update(grads, opt_state)
    params = optax.apply_updates(params, updates)
"""

JAX_TRAIN_STATE = """\
import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from flax.training import train_state


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.LayerNorm()(nn.relu(nn.Dense(16)(x)))
        return nn.Dense(4)(x)


def decay_mask(params):
    return jax.tree_util.tree_map_with_path(
        lambda path, _: path[-1].key not in ("bias", "scale"), params
    )


def create_state(rng):
    model = Net()
    params = model.init(rng, jnp.ones((1, 8)))["params"]
    tx = optax.adamw(3e-3, weight_decay=0.1, mask=decay_mask)
    return train_state.TrainState.create(apply_fn=model.apply, params=params, tx=tx)

@jax.jit
def train_step(state, batch):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, batch["x"])
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean()

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


state = create_state(jax.random.PRNGKey(0))
x = jax.random.normal(jax.random.PRNGKey(1), (96, 8))
y = jax.random.randint(jax.random.PRNGKey(2), (96,), 0, 4)
for step in range(12):
    part = slice(8 * step, 8 * step + 8)
    state, loss = train_step(state, {"x": x[part], "y": y[part]})
"""

JAX_NNX = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.hidden = nnx.Linear(8, 16, rngs=rngs)
        self.norm = nnx.LayerNorm(16, rngs=rngs)
        self.head = nnx.Linear(16, 4, rngs=rngs)

    def __call__(self, x):
        return self.head(self.norm(nnx.gelu(self.hidden(x))))


def loss_fn(model, batch):
    logits = model(batch["x"])
    return optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean(), logits


@nnx.jit
def train_step(model, optimizer, batch):
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, batch)
    optimizer.update(model, grads)
    return loss


model = Net(rngs=nnx.Rngs(0))
schedule = optax.linear_schedule(1e-2, 1e-3, 30)
optimizer = nnx.Optimizer(model, optax.sgd(schedule, momentum=0.9), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(1), (96, 8))
y = jax.random.randint(jax.random.key(2), (96,), 0, 4)
for step in range(12):
    part = slice(8 * step, 8 * step + 8)
    loss = train_step(model, optimizer, {"x": x[part], "y": y[part]})
"""

JAX_MULTI_STEPS = """\
import jax
import jax.numpy as jnp
import optax
from flax import linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(nn.tanh(nn.Dense(16)(x)))


model = Net()
x = jax.random.normal(jax.random.key(1), (96, 8))
y = jax.random.randint(jax.random.key(2), (96,), 0, 4)
params = model.init(jax.random.key(0), x[:1])
tx = optax.MultiSteps(optax.adamw(2e-3, weight_decay=0.05), every_k_schedule=3)
opt_state = tx.init(params)


def loss_fn(params, inputs, labels):
    logits = model.apply(params, inputs)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

@jax.jit
def train_step(params, opt_state, inputs, labels):
    loss, grads = jax.value_and_grad(loss_fn)(params, inputs, labels)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


for step in range(24):
    part = slice(4 * step, 4 * step + 4)
    params, opt_state, loss = train_step(params, opt_state, x[part], y[part])
"""

JAX_CHAIN = """\
from functools import partial

import jax
import jax.numpy as jnp
import optax
from jax import jit, value_and_grad

TOTAL = 40
schedule = optax.warmup_cosine_decay_schedule(
    0.0, 5e-3, warmup_steps=4, decay_steps=TOTAL, end_value=0.0
)
tx = optax.chain(optax.clip_by_global_norm(0.3), optax.adamw(schedule, weight_decay=0.01))


def loss_fn(params, inputs, labels):
    logits = jnp.tanh(inputs @ params["w1"] + params["b1"]) @ params["w2"]
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels))


@partial(jit, donate_argnums=(0, 1))
def train_step(params, opt_state, inputs, labels):
    loss, grads = value_and_grad(loss_fn)(params, inputs, labels)
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return params, opt_state, loss


keys = jax.random.split(jax.random.key(7), 4)
params = {
    "w1": jax.random.normal(keys[0], (8, 16)),
    "b1": jnp.zeros(16),
    "w2": jax.random.normal(keys[1], (16, 4)),
}
opt_state = tx.init(params)
rows = jax.random.normal(keys[2], (128, 8))
labels = jax.random.randint(keys[3], (128,), 0, 4)
for step in range(16):
    part = slice(8 * step, 8 * step + 8)
    params, opt_state, loss = train_step(params, opt_state, rows[part], labels[part])
"""

JAX_EPOCH = """\
import jax
import jax.numpy as jnp
import optax

optimizer = optax.sgd(0.05, momentum=0.9, nesterov=True)
MICRO = 4


def loss_fn(params, batch):
    predicted = jnp.tanh(batch["x"] @ params["w"]) @ params["v"] + params["b"]
    return jnp.mean((predicted - batch["y"]) ** 2)


def accumulate(params, batch):
    def micro(grads, part):
        return jax.tree.map(jnp.add, grads, jax.grad(loss_fn)(params, part)), None

    parts = jax.tree.map(lambda a: a.reshape(MICRO, -1, *a.shape[1:]), batch)
    grads, _ = jax.lax.scan(micro, jax.tree.map(jnp.zeros_like, params), parts)
    grads = jax.tree.map(lambda g: g / MICRO, grads)
    norm = optax.global_norm(grads)
    return jax.tree.map(lambda g: g * jnp.minimum(1.0, 0.5 / norm), grads)

@jax.jit
def epoch(params, opt_state, batches):
    def step(carry, batch):
        params, opt_state = carry
        grads = accumulate(params, batch)
        updates, opt_state = optimizer.update(grads, opt_state)
        return (optax.apply_updates(params, updates), opt_state), None

    return jax.lax.scan(step, (params, opt_state), batches)[0]


keys = jax.random.split(jax.random.key(0), 4)
params = {
    "w": jax.random.normal(keys[0], (8, 16)),
    "v": jax.random.normal(keys[1], (16, 1)),
    "b": jnp.zeros(1),
}
opt_state = optimizer.init(params)
x, y = jax.random.normal(keys[2], (12, 16, 8)), jax.random.normal(keys[3], (12, 16, 1))
params, opt_state = epoch(params, opt_state, {"x": x, "y": y})
"""

JAX_HALF = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(8, 16, dtype=jnp.bfloat16, rngs=rngs)
        self.head = nnx.Linear(16, 4, dtype=jnp.bfloat16, rngs=rngs)

    def __call__(self, x):
        return self.head(nnx.relu(self.hidden(x))).astype(jnp.float32)


model = Net(nnx.Rngs(0))
tx = optax.inject_hyperparams(optax.lion)(learning_rate=1e-3, weight_decay=0.1)
optimizer = nnx.Optimizer(model, tx, wrt=nnx.Param)


@nnx.jit
def train_step(model, optimizer, x, y):
    def loss_fn(model):
        logits = model(x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


x = jax.random.normal(jax.random.key(0), (64, 8))
y = jax.random.randint(jax.random.key(0), (64,), 0, 4)
for step in range(8):
    part = slice(8 * step, 8 * step + 8)
    loss = train_step(model, optimizer, x[part], y[part])
    jax.debug.print("loss {}", loss)
"""

_OF_ADAM = {"optimizer.learning_rate": 1.1e-4, "optimizer.betas": (0.8, 0.999)}
READ: dict[str, tuple[str, dict[str, Any]]] = {
    "jax loop": (JAX_LOOP, {**_OF_ADAM, "optimizer.name": "sgd"}),
    "jax train state": (
        JAX_TRAIN_STATE,
        {
            "optimizer.weight_decay": 0.01,
            "optimizer.no_decay": (),
            "batch.micro_batch_size": 16,
            "accumulation.steps": 2,
        },
    ),
    "jax nnx": (
        JAX_NNX,
        {"optimizer.momentum": 0.8, "schedule.end_lr": 0.0, "schedule.name": "constant"},
    ),
    "jax multi steps": (
        JAX_MULTI_STEPS,
        {**_OF_ADAM, "accumulation.steps": 1, "optimizer.weight_decay": 0.0},
    ),
    "jax chain": (
        JAX_CHAIN,
        {
            "clipping.max_norm": 1.0,
            "clipping.kind": "none",
            "schedule.warmup_steps": 0,
            "schedule.name": "linear",
        },
    ),
    "jax epoch": (
        JAX_EPOCH,
        {
            "optimizer.momentum": 0.8,
            "optimizer.nesterov": False,
            "clipping.kind": "none",
            "accumulation.steps": 1,
        },
    ),
    "jax half": (
        JAX_HALF,
        {
            "optimizer.betas": (0.8, 0.999),
            "precision.mode": "none",
            "optimizer.weight_decay": 0.0,
            "seed": 5,
        },
    ),
}
"""Programs by name, with wrong values of fields of their recipes."""
