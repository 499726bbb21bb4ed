"""What the parity harness must know of JAX."""

from __future__ import annotations

from crosscast.targets.harness import Bugs, Edit, Harness, Updates

_HALF, _FLOAT32 = "\nHALF = jnp.", "\nHALF = jnp.float32  # jnp."

HARNESS = Harness(
    inside="crosscast_jax.inside",
    numeric_variables=("JAX_", "XLA_"),
    packages=("jax", "jaxlib", "flax", "optax"),
    updates=Updates(
        modules=("jax", "optax", "flax.nnx", "flax.linen", "flax.training.dynamic_scale"),
    ),
    bugs=Bugs(
        half_mark=_HALF,
        tanh_gelu=Edit("approximate=False", "approximate=True", file="model.py"),
        # There is no autocast: the shipped model names the types of its layers, and the script
        # those of a user's layers.
        no_autocast=(Edit(_HALF, _FLOAT32, file="model.py"),),
        no_autocast_in_own=(Edit(_HALF, _FLOAT32),),
        half_loss=(
            Edit(
                "logits = model(**inputs).astype(jnp.float32)",
                "logits = model(**inputs)",
            ),
        ),
    ),
)
