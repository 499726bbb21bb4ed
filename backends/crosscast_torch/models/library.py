"""Models of torchvision."""

from __future__ import annotations

from crosscast_migrate.models.tables import LibraryModel, LibraryModels

_MODELS = (
    LibraryModel(name="resnet18", parameters=11689512, head="fc", features=512),
    LibraryModel(name="resnet34", parameters=21797672, head="fc", features=512),
    LibraryModel(name="resnet50", parameters=25557032, head="fc", features=2048),
    LibraryModel(name="resnet101", parameters=44549160, head="fc", features=2048),
    LibraryModel(name="resnet152", parameters=60192808, head="fc", features=2048),
    LibraryModel(name="resnext50_32x4d", parameters=25028904, head="fc", features=2048),
    LibraryModel(name="wide_resnet50_2", parameters=68883240, head="fc", features=2048),
    LibraryModel(name="vgg11", parameters=132863336),
    LibraryModel(name="vgg13", parameters=133047848),
    LibraryModel(name="vgg16", parameters=138357544),
    LibraryModel(name="vgg19", parameters=143667240),
    LibraryModel(name="alexnet", parameters=61100840),
    LibraryModel(name="squeezenet1_0", parameters=1248424),
    LibraryModel(name="squeezenet1_1", parameters=1235496),
    LibraryModel(name="mobilenet_v2", parameters=3504872),
    LibraryModel(name="mobilenet_v3_small", parameters=2542856),
    LibraryModel(name="mobilenet_v3_large", parameters=5483032),
    LibraryModel(name="shufflenet_v2_x1_0", parameters=2278604, head="fc", features=1024),
    LibraryModel(name="densenet121", parameters=7978856, head="classifier", features=1024),
    LibraryModel(name="densenet169", parameters=14149480, head="classifier", features=1664),
)
LIBRARY = LibraryModels(
    package="torchvision.models",
    models={model.name: model for model in _MODELS},
    family="torchvision",
    positional=("pretrained", "weights"),
    loads={"pretrained": False, "weights": None},
    classes="num_classes",
    ignored=frozenset({"progress"}),
    code=("torchvision.models.{name}(num_classes={classes})",),
)
"""The weights of a name are counted by `tests/probes/test_known_models.py`."""
