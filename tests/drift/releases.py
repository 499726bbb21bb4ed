"""The releases that are observed, and what is looked at in each."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast_reading.pysource.libraries import signatures


@dataclass(frozen=True, slots=True)
class Package:
    """A package that is observed."""

    name: str
    """The name that is imported, and that the observations have."""
    distribution: str
    """The name that is installed."""
    modules: tuple[str, ...]
    """Modules of which every public function and class is looked at."""
    legacy: tuple[str, ...] = ()
    """Names of the tables that belong to another package."""

    @property
    def names(self) -> list[str]:
        """Names that the product's tables of signatures have."""
        return [
            name
            for name in signatures.known_names()
            if name.startswith(f"{self.name}.") and not name.startswith(self.legacy or "\0")
        ]


@dataclass(frozen=True, slots=True)
class Environment:
    """Releases that are installed and observed together."""

    folder: str
    """The folder of tests/probes with the facts."""
    releases: tuple[tuple[str, str], ...]
    """Package and its release; an empty one is the newest that there is."""
    others: tuple[str, ...] = ()
    """What else must be installed, and in which release."""
    forced: tuple[str, ...] = ()
    """Packages that are installed in their release even where the others ask for another one."""

    @property
    def label(self) -> str:
        """A name for people and for a folder."""
        return "-".join(f"{name}-{release or 'newest'}" for name, release in self.releases)


PACKAGES = {
    package.name: package
    for package in (
        Package(
            "torch",
            "torch",
            tuple(
                f"torch.{name}"
                for name in (
                    *("amp", "cuda.amp", "optim", "optim.lr_scheduler", "optim.swa_utils"),
                    *("nn", "nn.init", "nn.utils", "utils.data", "utils.checkpoint"),
                    *("distributed", "nn.parallel"),
                )
            ),
        ),
        Package(
            "tensorflow",
            "tensorflow-cpu",
            ("tensorflow.distribute", "tensorflow.data", "tensorflow.nn", "tensorflow.config"),
            ("tensorflow.keras.", "tensorflow.compat.v1.keras."),
        ),
        Package(
            "keras",
            "keras",
            tuple(
                f"keras.{name}"
                for name in (
                    *("activations", "callbacks", "config", "distribution", "dtype_policies"),
                    *("initializers", "layers", "losses", "metrics", "mixed_precision"),
                    *("models", "optimizers", "optimizers.schedules", "regularizers", "utils"),
                )
            ),
        ),
        Package(
            "paddle",
            "paddlepaddle",
            tuple(
                f"paddle.{name}"
                for name in (
                    *("amp", "distributed", "distributed.fleet", "io", "nn", "nn.initializer"),
                    *("nn.utils", "optimizer", "optimizer.lr", "static", "static.amp"),
                )
            ),
        ),
        Package(
            "jax",
            "jax",
            (
                *("jax", "jax.distributed", "jax.nn", "jax.nn.initializers", "jax.random"),
                *("jax.sharding", "jax.tree", "jax.tree_util"),
            ),
        ),
        Package("flax", "flax", ("flax.nnx", "flax.training.train_state")),
        Package("optax", "optax", ("optax", "optax.losses", "optax.schedules", "optax.tree")),
    )
}


def _keras(tensorflow: str, keras: str) -> Environment:
    releases = (("tensorflow", tensorflow), ("keras", keras))
    return Environment("tensorflow", releases, forced=("keras",))


def _jax(jax: str, flax: str, optax: str) -> Environment:
    return Environment("jax", (("jax", jax), ("flax", flax), ("optax", optax)), ("numpy>=2",))


ENVIRONMENTS = (
    Environment("torch", (("torch", "2.1.2"),), ("numpy<2",)),
    *(
        Environment("torch", (("torch", release),), ("numpy",))
        for release in ("2.4.1", "2.6.0", "2.8.0", "2.10.0", "2.13.0", "")
    ),
    _keras("2.16.2", "3.1.1"),
    _keras("2.16.2", "3.3.3"),
    _keras("2.17.1", "3.4.1"),
    _keras("2.18.1", "3.6.0"),
    _keras("2.18.1", "3.8.0"),
    _keras("2.19.1", "3.10.0"),
    _keras("2.20.0", "3.12.0"),
    _keras("2.21.0", "3.15.1"),
    _keras("", ""),
    Environment("paddle", (("paddle", "2.6.2"),), ("numpy<2", "setuptools<70")),
    *(
        Environment("paddle", (("paddle", release),), ("numpy<2.4",))
        for release in ("3.0.0", "3.1.1", "3.2.2", "3.3.1", "")
    ),
    _jax("0.4.31", "0.9.0", "0.2.3"),
    _jax("0.4.35", "0.10.2", "0.2.4"),
    _jax("0.6.2", "0.10.7", "0.2.5"),
    _jax("0.7.2", "0.12.0", "0.2.6"),
    _jax("0.8.1", "0.12.1", "0.2.6"),
    _jax("0.8.2", "0.12.2", "0.2.5"),
    _jax("0.9.2", "0.12.6", "0.2.7"),
    _jax("0.10.0", "0.12.7", "0.2.8"),
    _jax("0.10.2", "0.12.8", "0.2.8"),
    _jax("", "", ""),
)
"""From the oldest release that the product supports to the newest that there is."""
