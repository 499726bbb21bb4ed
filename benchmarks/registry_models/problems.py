"""Models of packages on the registries that exist for two or more frameworks, as recipes see them.

Sizes are small where a constructor lets us choose; weights are random everywhere, nothing is
downloaded. The wrappers only turn images to where a package has its channels, name inputs and
choose the output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One architecture. `sources`: the module of each framework, with a function `build`."""

    name: str
    packages: str
    rows: Literal["images", "tokens"]
    sources: Mapping[str, str]


TORCH_IMAGES = """
from torch import nn
from transformers import {name}Config, {name}ForImageClassification


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = {name}ForImageClassification({name}Config(num_labels=10{settings}))

    def forward(self, image):
        return self.net(image.permute(0, 3, 1, 2)).logits


build = Net
"""
PADDLE_IMAGES = """
from paddle import nn
from paddle.vision import models


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.net = {model}

    def forward(self, image):
        return self.net(image.transpose([0, 3, 1, 2]))


build = Net
"""
KERAS_IMAGES = """
import keras


def build():
    image = keras.Input((64, 64, 3), name="image")
    net = keras.applications.{model}(
        weights=None, classes=10, classifier_activation=None, input_tensor=image{more}
    )
    return keras.Model({{"image": image}}, net.output)
"""


def _images(name: str, *, torch: str = "", keras: str = "", paddle: str = "") -> Problem:
    """Return a problem of images; names of models may be followed by settings after a comma."""
    sources, packages = {}, []
    if torch:
        model, *settings = torch.split(", ", 1)
        more = f", {settings[0]}" if settings else ""
        sources["torch"] = TORCH_IMAGES.format(name=model, settings=more)
        packages.append("transformers")
    if keras:
        model, *settings = keras.split(", ", 1)
        more = f", {settings[0]}" if settings else ""
        sources["tensorflow"] = KERAS_IMAGES.format(model=model, more=more)
        packages.append("keras.applications")
    if paddle:
        sources["paddle"] = PADDLE_IMAGES.format(model=f"models.{paddle}(num_classes=10)")
        packages.append("paddle.vision")
    return Problem(name=name, packages=", ".join(packages), rows="images", sources=sources)


IMAGES = (
    _images(
        "ResNet-18",
        torch='ResNet, layer_type="basic", hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2]',
        paddle="resnet18",
    ),
    _images("ResNet-50", torch="ResNet", keras="ResNet50", paddle="resnet50"),
    _images("MobileNet v1", torch="MobileNetV1", keras="MobileNet", paddle="mobilenet_v1"),
    _images("MobileNet v2", torch="MobileNetV2", keras="MobileNetV2", paddle="mobilenet_v2"),
    _images(
        "MobileNet v3",
        keras="MobileNetV3Small, include_preprocessing=False",
        paddle="mobilenet_v3_small",
    ),
    _images("DenseNet-121", keras="DenseNet121", paddle="densenet121"),
)

TORCH_TOKENS = """
from torch import nn
from transformers import {config}, {model}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = {model}({config}({settings}))

    def forward(self, {inputs}):
        return self.net({call}).last_hidden_state


build = Net
"""
KERAS_TOKENS = """
import keras
import keras_hub


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = keras_hub.models.{model}({settings})

    def call(self, inputs, training=False):
        found = self.net({{{inputs}}}, training=training)
        return found{output}


build = Net
"""


def _tokens(
    name: str,
    *,
    torch: tuple[str, str, str],
    keras: tuple[str, str],
    segments: bool = False,
    output: str = "",
) -> Problem:
    config, model, settings = torch
    inputs = ["token_ids", "padding_mask", *(["segment_ids"] if segments else [])]
    call = "input_ids=token_ids, attention_mask=padding_mask"
    if segments:
        call += ", token_type_ids=segment_ids"
    return Problem(
        name=name,
        packages="transformers, keras-hub",
        rows="tokens",
        sources={
            "torch": TORCH_TOKENS.format(
                config=config, model=model, settings=settings, inputs=", ".join(inputs), call=call
            ),
            "tensorflow": KERAS_TOKENS.format(
                model=keras[0],
                settings=keras[1],
                inputs=", ".join(f'"{n}": inputs["{n}"]' for n in inputs),
                output=output,
            ),
        },
    )


SMALL = "vocabulary_size=100, num_layers=2, num_heads=4, hidden_dim=32, intermediate_dim=64"
BERT = (
    "vocab_size=100, num_hidden_layers=2, num_attention_heads=4, hidden_size=32, "
    "intermediate_size=64"
)
TOKENS = (
    _tokens(
        "BERT",
        torch=("BertConfig", "BertModel", f"{BERT}, max_position_embeddings=64"),
        keras=("BertBackbone", f"{SMALL}, max_sequence_length=64"),
        segments=True,
        output='["sequence_output"]',
    ),
    _tokens(
        "DistilBERT",
        torch=(
            "DistilBertConfig",
            "DistilBertModel",
            "vocab_size=100, n_layers=2, n_heads=4, dim=32, hidden_dim=64, "
            "max_position_embeddings=64",
        ),
        keras=("DistilBertBackbone", f"{SMALL}, max_sequence_length=64"),
    ),
    _tokens(
        "GPT-2",
        torch=(
            "GPT2Config",
            "GPT2Model",
            "vocab_size=100, n_layer=2, n_head=4, n_embd=32, n_inner=64, n_positions=64",
        ),
        keras=("GPT2Backbone", f"{SMALL}, max_sequence_length=64"),
    ),
    _tokens(
        "LLaMA",
        torch=(
            "LlamaConfig",
            "LlamaModel",
            f"{BERT}, num_key_value_heads=2, max_position_embeddings=64",
        ),
        keras=(
            "LlamaBackbone",
            "vocabulary_size=100, num_layers=2, num_query_heads=4, num_key_value_heads=2, "
            "hidden_dim=32, intermediate_dim=64",
        ),
    ),
)
PROBLEMS = (*IMAGES, *TOKENS)
