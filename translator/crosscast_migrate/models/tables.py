"""The tables of a framework that models are read with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from crosscast_migrate.models import keras_reading, paddle_reading, torch_reading
from crosscast_migrate.models.network import Channels
from crosscast_migrate.models.rows import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What the names of a framework mean."""

    framework: str
    channels: Channels
    package: str
    """Of its layers."""
    layers: Mapping[str, Reading]
    functions: Mapping[str, Reading]
    methods: Mapping[str, Reading]
    modules: frozenset[str]
    """Bases of the user's models."""
    sequential: frozenset[str]
    lists: frozenset[str]
    dicts: frozenset[str] = frozenset()
    forward: str = "forward"
    models: frozenset[str] = frozenset()
    """Models by the functional API."""
    inputs: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    """Functions and classes that compute what the model does that they are given first."""
    pairs: frozenset[str] = frozenset()
    """Functions that return the model, as `wrappers` do, and the optimizer."""
    activations: Mapping[str, Reading] = field(default_factory=dict)
    """What layers take as their activation."""

    def layer(self, name: str) -> Reading | None:
        """Return what a class of the library creates."""
        package, _, word = name.rpartition(".")
        return self.layers.get(word) if package == self.package else None


TABLES: Mapping[str, Tables] = {
    "torch": Tables(
        framework="torch",
        channels="first",
        package="torch.nn",
        layers=torch_reading.LAYERS,
        functions=torch_reading.FUNCTIONS,
        methods=torch_reading.METHODS,
        modules=frozenset({"torch.nn.Module", "pytorch_lightning.LightningModule"}),
        sequential=frozenset({"torch.nn.Sequential"}),
        lists=frozenset({"torch.nn.ModuleList"}),
        dicts=frozenset({"torch.nn.ModuleDict"}),
        wrappers=frozenset(
            {
                "torch.nn.DataParallel",
                "torch.nn.parallel.DataParallel",
                "torch.nn.parallel.DistributedDataParallel",
                "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
                "torch.compile",
                "torch.jit.script",
                "apex.parallel.DistributedDataParallel",
                "apex.parallel.convert_syncbn_model",
            }
        ),
        pairs=frozenset({"apex.amp.initialize"}),
    ),
    "paddle": Tables(
        framework="paddle",
        channels="first",
        package="paddle.nn",
        layers=paddle_reading.LAYERS,
        functions=paddle_reading.FUNCTIONS,
        methods=paddle_reading.METHODS,
        modules=frozenset({"paddle.nn.Layer"}),
        sequential=frozenset({"paddle.nn.Sequential"}),
        lists=frozenset({"paddle.nn.LayerList"}),
        dicts=frozenset({"paddle.nn.LayerDict"}),
        wrappers=frozenset(
            {
                "paddle.DataParallel",
                "paddle.jit.to_static",
                "paddle.nn.SyncBatchNorm.convert_sync_batchnorm",
                "paddle.distributed.fleet.distributed_model",
            }
        ),
        pairs=frozenset({"paddle.amp.decorate"}),
    ),
    "tensorflow": Tables(
        framework="tensorflow",
        channels="last",
        package="keras.layers",
        layers=keras_reading.LAYERS,
        functions=keras_reading.FUNCTIONS,
        methods=keras_reading.METHODS,
        modules=frozenset({"keras.Model", "keras.models.Model", "keras.layers.Layer"}),
        sequential=frozenset({"keras.Sequential", "keras.models.Sequential"}),
        lists=frozenset(),
        forward="call",
        models=frozenset({"keras.Model", "keras.models.Model"}),
        inputs=frozenset({"keras.Input", "keras.layers.Input", "keras.layers.InputLayer"}),
        activations=keras_reading.NAMED_ACTIVATIONS,
    ),
}
"""By the name of the backend."""
