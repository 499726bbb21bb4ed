"""Names of JAX and of what is built on it."""

from __future__ import annotations

from crosscast_jax.words.signatures import SIGNATURES
from crosscast_reading.pysource.libraries.words import FrameworkPackages, Words

WORDS = Words(
    packages=(
        FrameworkPackages(
            "jax",
            own=("jax",),
            known=("flax", "optax"),
            around=("equinox", "haiku"),
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
    distributions={"flax": "flax"},
    roles={"joins_processes": r"jax\.distributed\.initialize"},
)
"""See `pysource.libraries.words`."""
