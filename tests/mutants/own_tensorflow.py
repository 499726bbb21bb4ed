"""Bugs of storage in the examples' models of Keras, and right models.

The blocks of the example keep their sums in float32, against the policy; a layer of the policy
stores half by itself.
"""

from __future__ import annotations

from mutants.own_storage import OwnModel

FIRST = "x = ops.add(x, self.dropout1(attended, training=training))"
SECOND = "return ops.add(x, self.dropout2(self.down(hidden), training=training))"
ATTENDED = "attended = self.attention(self.norm1(x), training=training)"
UP = "hidden = ops.gelu(self.up(self.norm2(x)), approximate=True)"
SOFTMAX = "weights = ops.cast(ops.softmax(scores), self.compute_dtype)"
LOGITS = "logits = tf.cast(model(inputs, training=training), tf.float32)"
DENSE = "self.up = layers.Dense(4 * width, "


def _gpt(name: str, says: str, *edits: tuple[str, str], precision: str = "") -> OwnModel:
    return OwnModel(name=name, example="gpt", edits=edits, says=says, precision=precision)


def _other(example: str, name: str, says: str, *edits: tuple[str, str]) -> OwnModel:
    return OwnModel(name=f"{example}: {name}", example=example, edits=edits, says=says)


PLANTS = (
    _gpt(
        "one sum in half",
        "add of gpt/block_0 (residual) in HALF",
        (FIRST, 'x = ops.add(ops.cast(x, "HALF"), ops.cast(self.dropout1(attended), "HALF"))'),
    ),
    _gpt(
        "last sum rounded",
        "cast to half",
        (
            SECOND,
            f"x = {SECOND.removeprefix('return ')}\n"
            '        return ops.cast(ops.cast(x, "HALF"), "float32")',
        ),
    ),
    _gpt(
        "last sum in half",
        "(residual) in HALF",
        (SECOND, 'return ops.add(ops.cast(x, "HALF"), self.dropout2(self.down(hidden)))'),
    ),
    _gpt(
        "output of a LayerNorm is the stream, in half",
        "(residual)",
        (
            ATTENDED,
            'x = ops.cast(self.norm1(x), "HALF")\n'
            "        attended = self.attention(x, training=training)",
        ),
    ),
    _gpt(
        "LayerNorm of rounded numbers",
        "layer_norm of gpt/block_0/norm2 (reductions)",
        (UP, UP.replace("norm2(x)", 'norm2(ops.cast(x, "HALF"))')),
    ),
    _gpt(
        "statistics in half",
        "mean of gpt/block_0 (reductions)",
        (
            ATTENDED,
            'normed = ops.cast(x, "HALF")\n'
            "        normed = normed - ops.mean(normed, -1, keepdims=True)\n"
            "        spread = ops.mean(normed * normed, -1, keepdims=True)\n"
            "        normed = normed * ops.rsqrt(spread + 1e-5)\n"
            "        attended = self.attention(normed, training=training)",
        ),
    ),
    _gpt(
        "mean in half",
        "mean of gpt/block_0 (reductions)",
        (
            ATTENDED,
            'x = x - ops.cast(ops.mean(ops.cast(x, "HALF"), -1, keepdims=True), "float32")\n'
            f"        {ATTENDED}",
        ),
    ),
    _gpt(
        "loss in half",
        "cross_entropy (losses)",
        (LOGITS, LOGITS.replace("tf.float32", "tf.HALF")),
        (
            "losses = tf.where(known, losses, 0.0)",
            "losses = tf.where(known, tf.cast(losses, tf.float32), 0.0)",
        ),
    ),
    _gpt(
        "one layer in float32",
        "(matmul) computed in float32",
        (DENSE, f'{DENSE}dtype="float32", '),
    ),
    _gpt(
        "one layer in the other half type",
        "(matmul) in OTHER",
        (DENSE, f'{DENSE}dtype="mixed_OTHER", '),
    ),
    _other(
        "lstm-forecast",
        "head in float32",
        "(matmul) computed in float32",
        ('name="head",', 'name="head",\n        dtype="float32",'),
    ),
    _other(
        "resnet-cifar",
        "normalizations in the other half type",
        "in OTHER, not HALF",
        (
            "layers.BatchNormalization(momentum",
            'layers.BatchNormalization(dtype="mixed_OTHER", momentum',
        ),
    ),
)

UNSEEN = (
    _gpt(
        "mean in half, in a layer of the policy",
        "",
        (
            "hidden = ops.cast(self.norm(x), self.compute_dtype)",
            'x = x - ops.cast(ops.mean(ops.cast(x, "HALF"), -1, keepdims=True), "float32")\n'
            "        hidden = ops.cast(self.norm(x), self.compute_dtype)",
        ),
    ),
)
"""Casts to half in a layer that computes in half: its policy would cast as well."""

REWRITES = (
    *(_other(name, "as it is", "") for name in ("gpt", "resnet-cifar", "lstm-forecast")),
    _gpt(
        "blocks of the policy",
        "",
        ('super().__init__(dtype="float32", name=name)', "super().__init__(name=name)"),
    ),
    _gpt(
        "normalizations of the policy",
        "",
        ('epsilon=1e-5, dtype="float32", name=name', "epsilon=1e-5, name=name"),
    ),
    _gpt(
        "a layer that adds",
        "",
        (FIRST, 'x = layers.Add(dtype="float32")([x, self.dropout1(attended)])'),
    ),
    _gpt(
        "LayerNorm rounded before a dense layer",
        "",
        (ATTENDED, ATTENDED.replace("self.norm1(x)", 'ops.cast(self.norm1(x), "HALF")')),
    ),
    _gpt(
        "GELU in float32 and back",
        "",
        (
            UP,
            'hidden = ops.cast(self.up(self.norm2(x)), "float32")\n'
            '        hidden = ops.cast(ops.gelu(hidden, approximate=True), "HALF")',
        ),
    ),
    _gpt(
        "a branch normalized in float32 and returned to its type",
        "",
        (
            FIRST,
            'wide = ops.cast(attended, "float32")\n'
            "        wide = wide - ops.mean(wide, -1, keepdims=True)\n"
            '        x = ops.add(x, self.dropout1(ops.cast(wide, "HALF"), training=training))',
        ),
    ),
    _gpt(
        "branches that are added in half",
        "",
        (
            FIRST,
            "x = ops.add(x, self.dropout1(ops.add(attended, self.down(self.up(self.norm2(x))))))",
        ),
    ),
    _gpt(
        "a stream in half that the recipe has",
        "",
        (FIRST, 'x = ops.add(ops.cast(x, "HALF"), ops.cast(self.dropout1(attended), "HALF"))'),
        precision="ops: {residual: half}",
    ),
)
