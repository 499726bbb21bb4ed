"""How PyTorch's models are read and written, for migrations across frameworks."""

from __future__ import annotations

from crosscast_migrate.models.tables import EncoderLibrary, ModelReading, ModelTables
from crosscast_torch.models.initial_values import DEFAULTS, FILLS
from crosscast_torch.models.layers import FUNCTIONS, LAYERS, METHODS
from crosscast_torch.models.library import LIBRARY
from crosscast_torch.models.writing import WRITING

MODELS = ModelTables(
    backend="torch",
    title="PyTorch",
    channels="first",
    initials=DEFAULTS,
    reading=ModelReading(
        package="torch.nn",
        layers=LAYERS,
        functions=FUNCTIONS,
        methods=METHODS,
        tensor_names=("input", "x", "y", "other", "tensor"),
        list_names=("tensors",),
        function_packages=frozenset({"torch", "torch.nn.functional"}),
        sequential=frozenset({"torch.nn.Sequential"}),
        lists=frozenset({"torch.nn.ModuleList"}),
        dicts=frozenset({"torch.nn.ModuleDict"}),
        adds_in_place=True,
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
        fills=FILLS,
        fill_package="torch.nn.init",
        class_axis=1,
    ),
    writing=WRITING,
    library=LIBRARY,
    encoders=(EncoderLibrary(package="transformers"),),
)
