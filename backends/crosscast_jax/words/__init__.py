"""Names of JAX and of what is built on it."""

from __future__ import annotations

from crosscast_jax.words.signatures import SIGNATURES
from crosscast_reading.pysource.libraries.words import FrameworkPackages, Words

WORDS = Words(
    packages=(
        FrameworkPackages(
            "jax",
            own=("jax",),
            known=("equinox", "flax", "jmp", "optax"),
            around=("chex", "clu", "haiku", "orbax"),
            steps=("grad", "optax", "pmap", "flax"),
        ),
    ),
    signatures=SIGNATURES,
    public_names={
        "optax._src.wrappers": "optax",
        "optax._src.alias": "optax",
        "optax._src.transform": "optax",
        "optax._src.clipping": "optax",
    },
    handed_through=dict.fromkeys(
        (
            *("jax.jit", "jax.pmap", "jax.experimental.pjit.pjit", "jax.checkpoint", "jax.remat"),
            *("flax.nnx.jit", "flax.nnx.pmap", "flax.nnx.remat"),
            *("equinox.filter_jit", "equinox.filter_pmap", "equinox.filter_checkpoint"),
        ),
        0,
    ),
    distributions={"flax": "flax"},
    roles={
        "joins_processes": r"jax\.(distributed\.initialize|process_index|process_count|host_id"
        r"|host_count|make_array_from_process_local_data)|jax\.experimental\.multihost_utils\.\w+",
    },
    loss_form="crosscast_jax.reading.loss_forms:loss_form",
)
"""See `pysource.libraries.words`."""
