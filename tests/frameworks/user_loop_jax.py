"""A training script of a user: `user_loop_jax.py SCRIPTS OUTPUT STEPS`.

Rows come from the emitted scripts below SCRIPTS, and the model from the module beside them, so that
both train the same; the loop and what it saves are the usual ones. After STEPS it saves a folder of
Orbax (`OUTPUT/orbax`) and a file of Flax (`OUTPUT/state.msgpack`), and goes on for as many more.
Prints the losses as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax import nnx, serialization

LEARNING_RATE, WARMUP, TOTAL = 2e-3, 10, 100


def main(folder: Path, output: Path, steps: int) -> list[float]:
    """Train, save model and optimizer half way; return the losses."""
    sys.path.insert(0, str(folder))
    import net  # type: ignore[import-not-found]
    import train  # type: ignore[import-not-found]
    from runtime.rows import row_numbers
    from runtime.sources import read_rows

    from crosscast_parity.inside.emitted import batches

    jax.config.update("jax_default_matmul_precision", "highest")
    model = net.build_model(nnx.Rngs(7))
    rate = optax.join_schedules(
        [
            optax.linear_schedule(0.0, LEARNING_RATE, WARMUP),
            optax.linear_schedule(LEARNING_RATE, 0.0, TOTAL - WARMUP),
        ],
        [WARMUP],
    )

    def decayed(weights: Any) -> Any:
        return jax.tree.map(lambda array: array.ndim > 1, weights)

    adamw = optax.adamw(rate, weight_decay=0.1, mask=decayed)
    optimizer = nnx.Optimizer(
        model, optax.chain(optax.clip_by_global_norm(0.5), adamw), wrt=nnx.Param
    )

    def step(model: Any, optimizer: Any, batch: dict[str, jax.Array]) -> jax.Array:
        def mean_loss(model: Any) -> jax.Array:
            logits = model(**{name: array for name, array in batch.items() if name != "labels"})
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["labels"])
            return jnp.mean(losses)

        loss, gradients = nnx.value_and_grad(mean_loss)(model)
        optimizer.update(model, gradients)
        return loss

    compiled = nnx.jit(step)
    losses = []
    rows = read_rows(output / "train.npz", train.SETTINGS)
    windows = batches(row_numbers, rows, train.SETTINGS)
    for number, window in zip(range(2 * steps), windows, strict=False):
        batch = {name: jnp.concatenate([part[name] for part in window]) for name in window[0]}
        losses.append(float(compiled(model, optimizer, batch)))
        if number + 1 == steps:
            save(model, optimizer, output)
    return losses


def save(model: Any, optimizer: Any, output: Path) -> None:
    """Save both as Orbax and Flax do."""
    with ocp.StandardCheckpointer() as checkpointer:
        state = {"model": nnx.state(model), "optimizer": nnx.state(optimizer), "epoch": 3}
        checkpointer.save(output / "orbax", state)
    plain = {
        "params": nnx.to_pure_dict(nnx.state(model)),
        "opt_state": nnx.to_pure_dict(nnx.state(optimizer))["opt_state"],
        "step": np.asarray(optimizer.step[...]),
    }
    (output / "state.msgpack").write_bytes(serialization.to_bytes(plain))


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))))
