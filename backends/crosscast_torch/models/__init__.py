"""How PyTorch's models are read and written, for migrations across frameworks."""

from __future__ import annotations

from crosscast_migrate.models.tables import EncoderLibrary, ModelReading, ModelTables, ScriptReading
from crosscast_torch.models.initial_values import DEFAULTS, FILLS
from crosscast_torch.models.layers import FUNCTIONS, LAYERS, METHODS
from crosscast_torch.models.library import LIBRARY
from crosscast_torch.models.sequences import ACTIVATIONS, ATTENDS
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
        means=frozenset({"torch.mean"}),
        differences={"torch.square": "mse", "torch.abs": "l1"},
        sequential=frozenset({"torch.nn.Sequential"}),
        lists=frozenset({"torch.nn.ModuleList"}),
        dicts=frozenset({"torch.nn.ModuleDict"}),
        attends=ATTENDS,
        activations=ACTIVATIONS,
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
    encoders=(EncoderLibrary(package="transformers", harmless=frozenset({"torch_dtype"})),),
    script=ScriptReading(
        loaders=("torch.utils.data.DataLoader",),
        row_classes=("torch.utils.data.Dataset", "torch.utils.data.dataset.Dataset"),
        array_sets=("torch.utils.data.TensorDataset", "torch.utils.data.dataset.TensorDataset"),
        arrays={
            "torch.tensor": "np.asarray",
            "torch.as_tensor": "np.asarray",
            "torch.from_numpy": "np.asarray",
            "torch.float32": "np.float32",
            "torch.float": "np.float32",
            "torch.long": "np.int64",
            "torch.int64": "np.int64",
            "torch.bool": "np.bool_",
        },
        typed_arrays={"torch.FloatTensor": "np.float32", "torch.LongTensor": "np.int64"},
        optimizers="torch.optim",
        loads=frozenset({"torch.load"}),
        left_behind={
            "pretrained or saved weights": r"torch\.load|torch\.hub\.\w+",
            "checkpoints": r"torch\.save",
            "evaluation": r"torch\.no_grad|torch\.inference_mode",
            "metrics": r"torchmetrics\.\w+(?:\.\w+)*",
            "schedule by a callback": r"torch\.optim\.lr_scheduler\.ReduceLROnPlateau",
            "preparation of the data": r"(?:torchvision|torchaudio)\.transforms\.(?:\w+\.)*\w+",
            "sampling of rows": r"torch\.utils\.data\.(?:\w+\.)*(?:WeightedRandomSampler"
            r"|SubsetRandomSampler|random_split|Subset)",
        },
        results=("torch.nn.functional",),
    ),
)
