"""Models of keras.applications that come near to those of torchvision."""

from __future__ import annotations

from crosscast_migrate.models.tables import LibraryModel, LibraryModels

LIBRARY = LibraryModels(
    package="keras.applications",
    models={
        "ResNet50": LibraryModel(name="resnet50"),
        "ResNet101": LibraryModel(name="resnet101"),
        "ResNet152": LibraryModel(name="resnet152"),
        "MobileNetV2": LibraryModel(name="mobilenet_v2"),
        "DenseNet121": LibraryModel(name="densenet121"),
        "DenseNet169": LibraryModel(name="densenet169"),
    },
    family="keras.applications",
    difference=(
        "{name} of keras.applications comes nearest to that of the source, but is not the same "
        "function (strides, biases and epsilons differ): train it, do not convert weights"
    ),
    positional=("include_top", "weights"),
    loads={"weights": "imagenet"},
    classes="classes",
    activation="classifier_activation",
    must={"include_top": True, "input_tensor": None, "pooling": None},
    ignored=frozenset({"input_shape", "name"}),
    code=(
        "keras.Sequential(",
        "    [",
        "        keras.applications.{name}(",
        "            include_top=False,",
        "            weights=None,",
        "            input_shape=(None, None, 3),",
        '            pooling="avg",',
        "        ),",
        "        layers.Dense({classes}),",
        "    ]",
        ")",
    ),
)
