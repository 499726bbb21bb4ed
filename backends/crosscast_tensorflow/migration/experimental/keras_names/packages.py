"""Packages that need Keras 2: their layers and optimizers do not work with those of Keras 3."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras.program import own_choice
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import Outcomes

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_ADDONS = "TensorFlow Addons ended in 2024: take the part that you use from Keras 3, or copy it"
PACKAGES_OF_KERAS_2: Mapping[str, str] = {
    "tensorflow_addons": _ADDONS,
    "tensorflow_model_optimization": "prune and quantize with tf_keras, or after an export",
    "tensorflow_hub": "hub.KerasLayer is a layer of Keras 2: call hub.load(...) in a layer of your "
    "own, or load the model from keras_hub or Kaggle",
    "tensorflow_recommenders": "it trains with tf_keras; keras_rs is made for Keras 3",
    "tensorflow_ranking": "it trains with tf_keras",
    "tensorflow_similarity": "it trains with tf_keras",
    "tensorflow_gnn": "it trains with tf_keras",
    "official": "the Model Garden trains with tf_keras",
    "tf_slim": "write the layers with keras.layers",
    "keras_contrib": "take the layer from Keras 3, or copy it",
    "keras_applications": "use keras.applications",
    "keras_preprocessing": "use keras.utils and keras.preprocessing",
    "keras_radam": "write RAdam as an optimizer of Keras 3",
    "keras_adabound": "write AdaBound as an optimizer of Keras 3",
    "keras_lookahead": "write Lookahead as an optimizer of Keras 3",
    "keras_bert": "use keras_hub",
    "keras_gpt_2": "use keras_hub",
    "keras_transformer": "use keras.layers.MultiHeadAttention",
    "keras_multi_head": "use keras.layers.MultiHeadAttention",
    "keras_self_attention": "use keras.layers.Attention",
    "keras_layer_normalization": "use keras.layers.LayerNormalization",
    "keras_pos_embd": "write the layer with keras.ops",
    "keras_resnet": "use keras.applications",
    "keras_retinanet": "use keras_hub",
    "keras_unet_collection": "write the model with keras.layers",
    "segmentation_models": "use keras_hub, or segmentation_models of a release for Keras 3",
    "classification_models": "use keras.applications",
    "efficientnet": "use keras.applications",
    "vit_keras": "use keras_hub",
    "tf2crf": "write the layer with keras.ops",
    "larq": "it trains with tf_keras",
    "adabelief_tf": "write AdaBelief as an optimizer of Keras 3",
    "kerastuner": "import keras_tuner",
    "spektral": "it trains with tf_keras",
    "deepctr": "it trains with tf_keras",
    "tfimm": "it trains with tf_keras",
}
"""Package to what to do instead."""
REPLACED: Mapping[str, str] = {
    "layers.GroupNormalization": "keras.layers.GroupNormalization",
    "layers.InstanceNormalization": "keras.layers.GroupNormalization(groups=-1)",
    "layers.SpectralNormalization": "keras.layers.SpectralNormalization",
    "layers.MultiHeadAttention": "keras.layers.MultiHeadAttention, whose arguments differ",
    "layers.GELU": "keras.layers.Activation('gelu')",
    "layers.AdaptiveAveragePooling2D": "keras.layers.AdaptiveAveragePooling2D",
    "layers.AdaptiveMaxPooling2D": "keras.layers.AdaptiveMaxPooling2D",
    "activations.gelu": "keras.activations.gelu",
    "activations.mish": "keras.activations.mish",
    "activations.hardshrink": "keras.activations.hard_shrink",
    "activations.softshrink": "keras.activations.soft_shrink",
    "activations.tanhshrink": "keras.activations.tanh_shrink",
    "activations.sparsemax": "keras.activations.sparsemax",
    "losses.SigmoidFocalCrossEntropy": "keras.losses.BinaryFocalCrossentropy, which returns means",
    "losses.sigmoid_focal_crossentropy": "keras.losses.binary_focal_crossentropy",
    "metrics.F1Score": "keras.metrics.F1Score",
    "metrics.FBetaScore": "keras.metrics.FBetaScore",
    "metrics.RSquare": "keras.metrics.R2Score",
    "optimizers.AdamW": "keras.optimizers.AdamW, whose decay is multiplied by the learning rate",
    "optimizers.SGDW": "keras.optimizers.SGD(weight_decay=...), whose decay is multiplied by the "
    "learning rate",
    "optimizers.LAMB": "keras.optimizers.Lamb",
    "optimizers.Lion": "keras.optimizers.Lion",
    "optimizers.MovingAverage": "use_ema=True of the optimizer",
}
"""Part of TensorFlow Addons to what Keras 3 has."""
_TRANSFORMERS = re.compile(r"transformers\.(TF\w+|AdamWeightDecay|create_optimizer)")
_MODELS = "models of transformers for TensorFlow are of Keras 2 (tf_keras)"
_HUB = ("tensorflow_hub",)
_ONLY_LAYER = re.compile(r"\bKerasLayer\b")


def packages(module: Module, out: Outcomes) -> None:
    """Refuse the imports of packages that need Keras 2."""
    for node in module.nodes:
        if not isinstance(node, ast.Import | ast.ImportFrom) or module.is_dead(node):
            continue
        if isinstance(node, ast.ImportFrom) and (node.level or not node.module):
            continue
        source = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            name = f"{source}.{alias.name}" if source else alias.name
            if not own_choice(module, node, "keras"):
                _import(alias, name, module, out)


def _import(alias: ast.alias, name: str, module: Module, out: Outcomes) -> None:
    package = name.partition(".")[0]
    if _TRANSFORMERS.fullmatch(name):
        hint = "keep Keras 2 by import tf_keras, or train it with PyTorch"
        out.refuse(module, alias, _MODELS, hint)
    hint = PACKAGES_OF_KERAS_2.get(package, "")
    files = (Path(other.source.name) for other in module.program.modules)
    own = any(package in path.with_suffix("").parts for path in files)
    if not hint or own:
        return
    if package in _HUB and not _ONLY_LAYER.search(module.source.text):
        return
    known = _used_of_addons(module) if package == "tensorflow_addons" else []
    if known:
        hint = "; ".join(known)
    out.refuse(
        module,
        alias,
        f"{package} is made for Keras 2, whose layers, losses and optimizers do not work in Keras "
        "3",
        hint,
    )


def _used_of_addons(module: Module) -> list[str]:
    """Return the parts of TensorFlow Addons in a module, each with its counterpart in Keras 3."""
    parts: dict[str, None] = {}
    for node in module.nodes:
        if not isinstance(node, ast.Name | ast.Attribute):
            continue
        for target in module.resolve_all(node):
            name = canonical(target).removeprefix("tensorflow_addons.")
            if name in REPLACED and name != target:
                parts[f"{name}: {REPLACED[name]}"] = None
    return list(parts)
