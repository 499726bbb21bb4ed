"""Bugs of storage in the examples' models of Paddle, and right models."""

from __future__ import annotations

from mutants.own_storage import Edits, OwnModel

FIRST = "x = x + self.dropout1(self.attention(self.norm1(x)))"
SECOND = "return x + self.dropout2(self.down(hidden))"
LOOKED_UP = "x = self.dropout(self.tokens(tokens) + positions)"
UP = "hidden = F.gelu(self.up(self.norm2(x)), approximate=True)"
SCORES = 'scores = scores.astype("float32").masked_fill(~visible, float("-inf"))'
SOFTMAX = "weights = self.dropout(F.softmax(scores, -1).astype(value.dtype))"
LAST = "return paddle.matmul(self.norm(x), self.tokens.weight, transpose_y=True)"
OFF = "with paddle.amp.auto_cast(False):"
LOGITS = 'logits = model(**inputs).astype("float32")'
ENTROPY = 'return F.cross_entropy(logits, labels, reduction="sum")'
CAST = '.astype("HALF")'
WIDE = '.astype("float32")'


def _gpt(name: str, says: str, *edits: tuple[str, str], precision: str = "") -> OwnModel:
    return OwnModel(name=name, example="gpt", edits=edits, says=says, precision=precision)


def _other(example: str, name: str, says: str, *edits: tuple[str, str]) -> OwnModel:
    return OwnModel(name=f"{example}: {name}", example=example, edits=edits, says=says)


HALF_STREAM: Edits = (
    (LOOKED_UP, f"{LOOKED_UP}{CAST}"),
    (FIRST, f"x = x + self.dropout1(self.attention(self.norm1(x))){CAST}"),
)

PLANTS = (
    _gpt(
        "one sum in half",
        "add of blocks.0 (residual) in HALF",
        (FIRST, FIRST.replace("x + ", f"x{CAST} + ")),
    ),
    _gpt(
        "last sum rounded",
        "cast to half",
        (SECOND, f"return ({SECOND.removeprefix('return ')}){CAST}{WIDE}"),
    ),
    _gpt(
        "stream in half from the embeddings on",
        "add of blocks.0 (residual) in HALF",
        (LOOKED_UP, f"{LOOKED_UP}{CAST}"),
    ),
    _gpt(
        "sum of embeddings of rounded lookups",
        "(embeddings)",
        (
            LOOKED_UP,
            f"x = self.dropout((self.tokens(tokens){CAST} + positions{CAST}){WIDE})",
        ),
    ),
    _gpt(
        "lookups in a table in half",
        "(embeddings)",
        (
            LOOKED_UP,
            f"x = self.dropout(F.embedding(tokens, self.tokens.weight{CAST}) + positions)",
        ),
    ),
    _gpt(
        "output of a LayerNorm is the stream, in half",
        "add of blocks.0 (residual) in HALF",
        (
            FIRST,
            f"x = self.norm1(x){CAST}\n        x = x + self.dropout1(self.attention(x))",
        ),
    ),
    _gpt(
        "LayerNorm of rounded numbers",
        "layer_norm of blocks.0.norm2 (reductions)",
        (UP, UP.replace("norm2(x)", f"norm2(x{CAST})")),
    ),
    _gpt(
        "statistics in half",
        "mean of blocks.0 (reductions)",
        (
            FIRST,
            f"""{OFF}
            normed = x{CAST}
            normed = normed - normed.mean(-1, keepdim=True)
            normed = normed * paddle.rsqrt((normed * normed).mean(-1, keepdim=True) + 1e-5)
        x = x + self.dropout1(self.attention(normed))""",
        ),
    ),
    _gpt(
        "mean in half",
        "mean (reductions)",
        (LAST, LAST.replace("norm(x)", f"norm(x - x{CAST}.mean(-1, keepdim=True))")),
    ),
    _gpt(
        "loss in half",
        "cross_entropy (losses)",
        (LOGITS, LOGITS.replace("float32", "HALF")),
        (ENTROPY, f"{OFF}\n        {ENTROPY}"),
    ),
    _gpt(
        "one layer in float32",
        "linear of blocks.0.up (matmul) computed in float32",
        (
            UP,
            f"{OFF}\n            up = self.up(self.norm2(x))\n"
            "        hidden = F.gelu(up, approximate=True)",
        ),
    ),
    _gpt(
        "weights of one layer in the other half type",
        "linear of blocks.0 (matmul) in OTHER",
        (
            UP,
            f"{OFF}\n"
            '            up = [t.astype("OTHER") for t in (self.up.weight, self.up.bias)]\n'
            '            up = F.linear(self.norm2(x).astype("OTHER"), *up)\n'
            f"        hidden = F.gelu(up{CAST}, approximate=True)",
        ),
    ),
    _other(
        "lstm-forecast",
        "head in float32",
        "linear of head (matmul) computed in float32",
        (
            "return self.head(states[:, -1])",
            f"{OFF}\n            return self.head(states[:, -1]{WIDE})",
        ),
    ),
)

UNSEEN = (
    _gpt(
        "weights of attention normalized again in half",
        "",
        (
            SOFTMAX,
            "weights = F.softmax(scores, -1).astype(value.dtype)\n"
            "        weights = self.dropout(weights / weights.sum(-1, keepdim=True))",
        ),
    ),
)
"""Bugs that round once more what was half before, which a right model may do as well."""

REWRITES = (
    *(_other(name, "as it is", "") for name in ("gpt", "resnet-cifar", "lstm-forecast")),
    _gpt(
        "LayerNorm without auto_cast, in float32",
        "",
        (
            FIRST,
            f"{OFF}\n            normed = self.norm1(x{WIDE})\n"
            "        x = x + self.dropout1(self.attention(normed))",
        ),
    ),
    _gpt(
        "residual sums in float32 by name",
        "",
        (FIRST, FIRST.replace("x + self", f"x{WIDE} + self") + WIDE),
    ),
    _gpt(
        "LayerNorm rounded before a dense layer",
        "",
        (FIRST, FIRST.replace("norm1(x)", f"norm1(x){CAST}")),
    ),
    _gpt(
        "GELU in float32 and back",
        "",
        (UP, f"hidden = F.gelu(self.up(self.norm2(x)){WIDE}, approximate=True){CAST}"),
    ),
    _gpt(
        "a branch normalized in float32 and returned to its type",
        "",
        (
            FIRST,
            "branch = self.attention(self.norm1(x))\n"
            f"        wide = F.layer_norm(branch{WIDE}, branch.shape[-1])\n"
            "        x = x + self.dropout1(wide.astype(branch.dtype))",
        ),
    ),
    _gpt(
        "a mask in half",
        "",
        (
            SCORES,
            "mask = paddle.zeros([rows, self.heads, tokens, tokens])\n"
            f"        scores = scores + mask{CAST}\n        {SCORES}",
        ),
    ),
    _gpt(
        "branches that are added in half",
        "",
        (
            FIRST,
            "branch = self.dropout1(self.attention(self.norm1(x)))\n"
            "        x = x + (branch + self.down(self.up(self.norm2(x))))",
        ),
    ),
    _gpt(
        "a stream in half that the recipe has",
        "",
        *HALF_STREAM,
        precision="policy: stored_half",
    ),
)
