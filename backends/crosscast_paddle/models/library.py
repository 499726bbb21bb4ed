"""Models of paddle.vision, which have the names and layers of those of torchvision."""

from __future__ import annotations

from crosscast_migrate.models.tables import LibraryModel, LibraryModels

_MODELS = (
    LibraryModel(name="resnet18", head="fc", features=512),
    LibraryModel(name="resnet34", head="fc", features=512),
    LibraryModel(name="resnet50", head="fc", features=2048),
    LibraryModel(name="resnet101", head="fc", features=2048),
    LibraryModel(name="resnet152", head="fc", features=2048),
    LibraryModel(name="resnext50_32x4d", head="fc", features=2048),
    LibraryModel(name="wide_resnet50_2", head="fc", features=2048),
    LibraryModel(name="shufflenet_v2_x1_0", head="_fc", features=1024),
    LibraryModel(name="densenet121", head="out", features=1024),
    LibraryModel(name="densenet169", head="out", features=1664),
    *(
        LibraryModel(name=name)
        for name in (
            *("vgg11", "vgg13", "vgg16", "vgg19", "alexnet", "squeezenet1_0", "squeezenet1_1"),
            *("mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large"),
        )
    ),
)
LIBRARY = LibraryModels(
    package="paddle.vision.models",
    models={model.name: model for model in _MODELS},
    family="torchvision",
    positional=("pretrained",),
    loads={"pretrained": False},
    classes="num_classes",
    code=("paddle.vision.models.{name}(num_classes={classes})",),
)
