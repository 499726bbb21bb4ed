"""Models of the example `gpt` that compute in other types, and rewrites that do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Edits = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TypePlant:
    """A change of a model. `kind` and `place`: parts of what is said of it, empty for a rewrite.

    `options`: of the autocast around the model.
    """

    name: str
    framework: str
    edits: Edits
    kind: str = ""
    place: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)


FIRST_SUM = "x = x + self.dropout1(self.attention(self.norm1(x)))"
SECOND_SUM = "return x + self.dropout2(self.down(hidden))"
NORM = "self.attention(self.norm1(x)"
GELU = {
    "torch": 'F.gelu(self.up(self.norm2(x)), approximate="tanh")',
    "paddle": "F.gelu(self.up(self.norm2(x)), approximate=True)",
}
HALF_OF_JAX = ".astype(jnp.float16)"
LAST = "self.norm(x)"
KERAS_BLOCK = 'super().__init__(dtype="float32", name=name)'
KERAS_NORM = 'epsilon=1e-5, dtype="float32", name=name'
KERAS_SUM = "x = ops.add(x, self.dropout1(attended, training=training))"
KERAS_LAST = "return ops.add(x, self.dropout2(self.down(hidden), training=training))"
DENSE = ("matmul_v2", "linear_v2")


def _torch(name: str, kind: str, place: str, *edits: tuple[str, str]) -> TypePlant:
    return TypePlant(f"torch {name}", "torch", edits, kind, place)


def _keras(name: str, kind: str, place: str, *edits: tuple[str, str]) -> TypePlant:
    return TypePlant(f"keras {name}", "tensorflow", edits, kind, place)


def _jax(name: str, kind: str, place: str, *edits: tuple[str, str]) -> TypePlant:
    return TypePlant(f"jax {name}", "jax", edits, kind, place)


def _paddle(name: str, kind: str, place: str, *edits: tuple[str, str], **options: Any) -> TypePlant:
    return TypePlant(f"paddle {name}", "paddle", edits, kind, place, options)


PLANTS = (
    _torch(
        "residual in half",
        "sum",
        "blocks.0",
        (FIRST_SUM, FIRST_SUM.replace("x + ", "x.half() + ") + ".float()"),
    ),
    _torch(
        "last sum in half",
        "sum",
        "blocks.0",
        (SECOND_SUM, "return (x.half() + self.dropout2(self.down(hidden))).float()"),
    ),
    _torch(
        "normalization of half",
        "layer_norm",
        "blocks.0.norm1",
        (NORM, "self.attention(self.norm1(x.half())"),
    ),
    _torch(
        "mean in half",
        "mean",
        "",
        (LAST, "self.norm(x - x.half().mean(-1, keepdim=True))"),
    ),
    _torch(
        "layer without autocast",
        "linear",
        "",
        (
            "        hidden = F.gelu(self.up(self.norm2(x))",
            '        with torch.autocast("cpu", enabled=False):\n'
            "            up = self.up(self.norm2(x))\n"
            "        hidden = F.gelu(up",
        ),
    ),
    _torch(
        "activation in float32",
        "gelu",
        "blocks.0",
        ("F.gelu(self.up(self.norm2(x))", "F.gelu(self.up(self.norm2(x)).float()"),
    ),
    _keras("residual in half", "sum", "block_0", (KERAS_BLOCK, "super().__init__(name=name)")),
    _keras(
        "normalization of half",
        "layer_norm",
        "block_0/norm1",
        (NORM, 'self.attention(self.norm1(ops.cast(x, "float16"))'),
    ),
    _keras(
        "sum in half",
        "sum",
        "block_0",
        (
            KERAS_LAST,
            'return ops.cast(ops.add(ops.cast(x, "float16"), self.dropout2(self.down(hidden))),'
            ' "float32")',
        ),
    ),
    _keras(
        "dense layer in float32",
        "matmul",
        "",
        ("layers.Dense(4 * width, ", 'layers.Dense(4 * width, dtype="float32", '),
    ),
    _keras(
        "mean in half",
        "mean",
        "",
        (
            "self.norm(x), self",
            'self.norm(x - ops.cast(ops.mean(ops.cast(x, "float16"), -1, keepdims=True),'
            ' "float32")), self',
        ),
    ),
    _jax(
        "residual in half",
        "sum",
        "blocks.0",
        (FIRST_SUM, f"{FIRST_SUM.replace('x + ', f'(x{HALF_OF_JAX} + ')}).astype(jnp.float32)"),
    ),
    _jax(
        "normalization of half",
        "layer_norm",
        "blocks.0",
        (NORM, f"self.attention(self.norm1(x{HALF_OF_JAX})"),
    ),
    _jax(
        "mean in half",
        "mean",
        "",
        (LAST, f"self.norm(x - x{HALF_OF_JAX}.mean(-1, keepdims=True))"),
    ),
    _jax(
        "dense layer in float32",
        "linear",
        "",
        (
            "return nnx.Linear(inputs, outputs, ",
            "return nnx.Linear(inputs, outputs, dtype=jnp.float32, ",
        ),
    ),
    _jax(
        "activation in float32",
        "gelu",
        "blocks.0",
        ("self.up(self.norm2(x))", "self.up(self.norm2(x)).astype(jnp.float32)"),
    ),
    _paddle(
        "residual in half",
        "sum",
        "blocks.0",
        (FIRST_SUM, FIRST_SUM.replace("x + ", "(x.astype('float16') + ") + ").astype('float32')"),
    ),
    _paddle(
        "normalization of half",
        "layer_norm",
        "blocks.0.norm1",
        (NORM, "self.attention(self.norm1(x.astype('float16'))"),
    ),
    _paddle("products on the black list", "", "", custom_black_list=DENSE),
    _paddle("sums on the white list", "sum", "blocks.0", custom_white_list=["elementwise_add"]),
    _paddle(
        "normalizations on the white list",
        "layer_norm",
        "blocks.0.norm1",
        custom_white_list=["layer_norm"],
    ),
    _paddle("O2 without promotion", "", "", level="O2", use_promote=False),
    _paddle("OD", "gelu", "blocks.0", level="OD"),
    _paddle(
        "layer without autocast",
        "linear",
        "",
        (
            "        hidden = F.gelu(self.up(self.norm2(x))",
            "        with paddle.amp.auto_cast(False):\n"
            "            up = self.up(self.norm2(x))\n"
            "        hidden = F.gelu(up",
        ),
    ),
)
REWRITES = (
    TypePlant("torch softmax by autocast", "torch", (("scores.float()", "scores"),)),
    TypePlant(
        "torch add in place",
        "torch",
        ((SECOND_SUM, "return x.add(self.dropout2(self.down(hidden)))"),),
    ),
    TypePlant(
        "torch nested autocast",
        "torch",
        (
            (
                SECOND_SUM,
                'with torch.autocast("cpu", torch.float16):\n            ' + SECOND_SUM,
            ),
        ),
    ),
    TypePlant(
        "torch cast before a dense layer",
        "torch",
        (("self.up(self.norm2(x))", "self.up(self.norm2(x).half())"),),
    ),
    TypePlant(
        "keras operator",
        "tensorflow",
        ((KERAS_SUM, 'x = x + ops.cast(self.dropout1(attended), "float32")'),),
    ),
    # The layer computes in float32 of what it is given and rounds what products take anyway.
    TypePlant(
        "keras normalization of the policy",
        "tensorflow",
        ((KERAS_NORM, "epsilon=1e-5, name=name"),),
    ),
    TypePlant(
        "keras layer",
        "tensorflow",
        ((KERAS_SUM, 'x = layers.Add(dtype="float32")([x, self.dropout1(attended)])'),),
    ),
    TypePlant(
        "jax function",
        "jax",
        ((SECOND_SUM, "return jnp.add(x, self.dropout2(self.down(hidden)))"),),
    ),
    TypePlant(
        "jax cast before a dense layer",
        "jax",
        (("self.up(self.norm2(x))", f"self.up(self.norm2(x){HALF_OF_JAX})"),),
    ),
    TypePlant("jax softmax", "jax", (("nnx.softmax(", "jax.nn.softmax("),)),
    TypePlant(
        "paddle function",
        "paddle",
        ((SECOND_SUM, SECOND_SUM.replace("x + ", "paddle.add(x, ") + ")"),),
    ),
    TypePlant("paddle O2", "paddle", (), options={"level": "O2"}),
    TypePlant(
        "paddle name of no operation", "paddle", (), options={"custom_black_list": ["matmul"]}
    ),
)
