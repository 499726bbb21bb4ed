"""The public names of TensorFlow and Keras, as `make index` finds them in the installed release."""

from __future__ import annotations

from pathlib import Path

from crosscast_migrate.binding.index import PublicNames

_MODEL = (
    "inputs outputs name= **kwargs",
    "* activity_regularizer= autocast= dtype= name= trainable=",
)
"""It hands its arguments to one of two constructors: of a functional model, which ignores others,
or of a layer, which refuses them."""
_CLASSES = tuple(
    f"{package}.{name}"
    for package in ("keras", "tensorflow.keras")
    for name in ("Model", "models.Model")
)
_OF_FUNCTIONAL = (
    *("input", "inputs", "input_shape", "operations"),
    *("output", "outputs", "output_shape", "output_names"),
)
_OF_TORCH = """
    add_module apply bfloat16 buffers children compile cpu cuda double eval extra_repr float forward
    get_buffer get_extra_state get_parameter get_submodule half load_state_dict modules
    named_buffers named_children named_modules named_parameters parameters register_buffer
    register_forward_hook register_forward_pre_hook register_full_backward_hook
    register_load_state_dict_post_hook register_module register_parameter requires_grad_
    set_extra_state share_memory state_dict to to_empty train training type zero_grad
"""
"""With the backend of PyTorch, layers are modules of PyTorch, too."""
NAMES = PublicNames(
    file=Path(__file__).with_name("index.json.xz"),
    members={"keras.layers.Layer": frozenset(_OF_TORCH.split())},
    past=Path(__file__).with_name("past.json.xz"),
    added=frozenset(f"{name}.{attribute}" for name in _CLASSES for attribute in _OF_FUNCTIONAL),
    signatures=dict.fromkeys(_CLASSES, _MODEL),
)
WITH_TF_KERAS = PublicNames(
    file=Path(__file__).with_name("with_tf_keras.json.xz"),
    past=Path(__file__).with_name("past.json.xz"),
)
"""With `TF_USE_LEGACY_KERAS`, which decides what `tf.keras` is and whether `tf.layers` exists."""
