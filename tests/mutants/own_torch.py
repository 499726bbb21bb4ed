"""Bugs of storage in the examples' models of PyTorch, and right models."""

from __future__ import annotations

from mutants.own_storage import Edits, OwnModel

FIRST = "x = x + self.dropout1(self.attention(self.norm1(x)))"
SECOND = "return x + self.dropout2(self.down(hidden))"
LOOKED_UP = "x = self.dropout(self.tokens(tokens) + self.positions(positions))"
UP = 'hidden = F.gelu(self.up(self.norm2(x)), approximate="tanh")'
SOFTMAX = "weights = self.dropout(scores.softmax(-1).to(value.dtype))"
FLOAT = "scores = scores.float()"
LAST = "return F.linear(self.norm(x), self.tokens.weight)"
OFF = 'with torch.autocast("cpu", enabled=False):'
LOGITS = "    logits = model(**inputs).float()\n"
ENTROPY = '    return nn.functional.cross_entropy(logits, labels, reduction="sum")\n'
SHAPE = "self.norm1.normalized_shape"
NORM1 = f"F.layer_norm({{}}, {SHAPE}, self.norm1.weight{{0}}, self.norm1.bias{{0}}, 1e-5)"


def _gpt(name: str, says: str, *edits: tuple[str, str], precision: str = "") -> OwnModel:
    return OwnModel(name=name, example="gpt", edits=edits, says=says, precision=precision)


def _other(example: str, name: str, says: str, *edits: tuple[str, str]) -> OwnModel:
    return OwnModel(name=f"{example}: {name}", example=example, edits=edits, says=says)


def _after(text: str, *lines: str) -> tuple[str, str]:
    return text, "\n        ".join((text, *lines))


def _before(text: str, *lines: str) -> tuple[str, str]:
    return text, "\n        ".join((*lines, text))


STATISTICS: Edits = (
    (
        FIRST,
        f"""{OFF}
            normed = x.to(torch.HALF)
            normed = normed - normed.mean(-1, keepdim=True)
            normed = normed * torch.rsqrt((normed * normed).mean(-1, keepdim=True) + 1e-5)
        x = x + self.dropout1(self.attention(normed))""",
    ),
)
HALF_STREAM: Edits = (
    (LOOKED_UP, f"{LOOKED_UP}.to(torch.HALF)"),
    (
        FIRST,
        f"""{OFF}
            weights = [t.to(x.dtype) for t in (self.norm1.weight, self.norm1.bias)]
            normed = F.layer_norm(x, {SHAPE}, *weights, 1e-5)
        x = x + self.dropout1(self.attention(normed))""",
    ),
)

PLANTS = (
    _gpt(
        "one sum in half",
        "add of blocks.0 (residual) in HALF",
        (FIRST, FIRST.replace("x + ", "x.to(torch.HALF) + ")),
    ),
    _gpt(
        "last sum rounded",
        "cast to half",
        (SECOND, f"return ({SECOND.removeprefix('return ')}).to(torch.HALF).float()"),
    ),
    _gpt(
        "stream in half from the embeddings on",
        "add of blocks.0 (residual) in HALF",
        (LOOKED_UP, f"{LOOKED_UP}.to(torch.HALF)"),
    ),
    _gpt(
        "sum of embeddings of rounded lookups",
        "(embeddings)",
        (
            LOOKED_UP,
            LOOKED_UP.replace("(tokens)", "(tokens).to(torch.HALF)").replace(
                "(positions))", "(positions).to(torch.HALF)).float()"
            ),
        ),
    ),
    _gpt(
        "lookups in a table in half",
        "(embeddings)",
        (
            LOOKED_UP,
            "tables = [t.weight.to(torch.HALF) for t in (self.tokens, self.positions)]\n"
            "        x = F.embedding(tokens, tables[0]) + F.embedding(positions, tables[1])\n"
            "        x = self.dropout(x)",
        ),
    ),
    _gpt(
        "output of a LayerNorm is the stream, in half",
        "add of blocks.0 (residual) in HALF",
        (
            FIRST,
            "x = self.norm1(x).to(torch.HALF)\n        x = x + self.dropout1(self.attention(x))",
        ),
    ),
    _gpt(
        "LayerNorm of rounded numbers",
        "layer_norm of blocks.0.norm2 (reductions)",
        (UP, UP.replace("norm2(x)", "norm2(x.to(torch.HALF))")),
    ),
    _gpt("statistics in half", "mean of blocks.0 (reductions)", *STATISTICS),
    _gpt(
        "mean in half",
        "mean (reductions)",
        (LAST, LAST.replace("norm(x)", "norm(x - x.to(torch.HALF).mean(-1, keepdim=True))")),
    ),
    _gpt(
        "softmax in half",
        "sum of blocks.0.attention (reductions)",
        (FLOAT, "scores = scores"),
        (
            SOFTMAX,
            f"""{OFF}
            weights = torch.exp(scores - scores.amax(-1, keepdim=True))
            weights = self.dropout(weights / weights.sum(-1, keepdim=True))""",
        ),
    ),
    _gpt(
        "loss in half",
        "cross_entropy (losses)",
        (LOGITS, LOGITS.replace("float()", "to(torch.HALF)")),
        (ENTROPY, f"    {OFF}\n    {ENTROPY}"),
    ),
    _gpt(
        "one layer in float32",
        "linear of blocks.0.up (matmul) computed in float32",
        (
            UP,
            f"{OFF}\n            up = self.up(self.norm2(x))\n        "
            'hidden = F.gelu(up, approximate="tanh")',
        ),
    ),
    _gpt(
        "weights of one layer in the other half type",
        "linear of blocks.0 (matmul) in OTHER",
        (
            UP,
            f"{OFF}\n"
            "            up = [t.to(torch.OTHER) for t in (self.up.weight, self.up.bias)]\n"
            "            up = F.linear(self.norm2(x).to(torch.OTHER), *up)\n"
            '        hidden = F.gelu(up.to(torch.HALF), approximate="tanh")',
        ),
    ),
    _other(
        "resnet-cifar",
        "one convolution in float32",
        "conv2d of conv (matmul) computed in float32",
        (
            "x = self.norm(self.conv(x)).relu()",
            f"{OFF}\n            x = self.conv(x)\n        x = self.norm(x).relu()",
        ),
    ),
    _other(
        "resnet-cifar",
        "shortcut in the other half type",
        "in OTHER, not HALF",
        (
            "return (self.norm2(self.conv2(hidden)) + self.shortcut(x)).relu()",
            "hidden = self.norm2(self.conv2(hidden)).to(torch.OTHER)\n"
            "        return (hidden + self.shortcut(x).to(torch.OTHER)).to(torch.HALF).relu()",
        ),
    ),
    _other(
        "lstm-forecast",
        "head in float32",
        "linear of head (matmul) computed in float32",
        (
            "return self.head(states[:, -1])",
            f"{OFF}\n            return self.head(states[:, -1].float())",
        ),
    ),
)

UNSEEN = (
    _gpt(
        "weights of attention normalized again in half",
        "",
        (
            SOFTMAX,
            "weights = scores.softmax(-1).to(value.dtype)\n"
            "        weights = self.dropout(weights / weights.sum(-1, keepdim=True))",
        ),
    ),
    _gpt(
        "centred logits rounded again",
        "",
        (
            LOGITS,
            f"{LOGITS}    logits = logits - logits.mean(-1, keepdim=True)\n"
            "    logits = logits.to(torch.HALF).float()\n",
        ),
    ),
)
"""Bugs that round once more what was half before, which a right model may do as well."""

REWRITES = (
    *(_other(name, "as it is", "") for name in ("gpt", "resnet-cifar", "lstm-forecast")),
    _gpt(
        "LayerNorm without autocast, in float32",
        "",
        (
            FIRST,
            f"{OFF}\n            normed = self.norm1(x.float())\n"
            "        x = x + self.dropout1(self.attention(normed))",
        ),
    ),
    _gpt(
        "residual sums in float32 by name",
        "",
        (
            FIRST,
            FIRST.replace("x + self", "x.float() + self").replace(
                "norm1(x)))", "norm1(x))).float()"
            ),
        ),
    ),
    _gpt("softmax by autocast", "", (FLOAT, "scores = scores")),
    _gpt(
        "LayerNorm rounded before a dense layer",
        "",
        (FIRST, FIRST.replace("norm1(x)", "norm1(x).to(torch.HALF)")),
    ),
    _gpt(
        "GELU in float32 and back",
        "",
        (UP, 'hidden = F.gelu(self.up(self.norm2(x)).float(), approximate="tanh").to(torch.HALF)'),
    ),
    _gpt(
        "a branch normalized in float32 and returned to its type",
        "",
        (
            FIRST,
            "branch = self.attention(self.norm1(x))\n"
            f"        {OFF}\n"
            f"            wide = F.layer_norm(branch.float(), {SHAPE})\n"
            "        x = x + self.dropout1(wide.to(branch.dtype))",
        ),
    ),
    _gpt(
        "RMS normalization by hand",
        "",
        (
            FIRST,
            "wide = x.float()\n"
            "        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)\n"
            "        normed = self.norm1.weight * wide.to(x.dtype)\n"
            "        x = x + self.dropout1(self.attention(normed))",
        ),
    ),
    _gpt(
        "a mask in half",
        "",
        (
            FLOAT,
            "mask = torch.zeros(rows, self.heads, tokens, tokens, device=x.device)\n"
            "        scores = scores + mask.to(scores.dtype)",
        ),
    ),
    _gpt(
        "a float32 mask, and scores in half again",
        "",
        (
            FLOAT,
            "mask = torch.zeros(rows, self.heads, tokens, tokens, device=x.device)\n"
            "        scores = (scores + mask).to(value.dtype)",
        ),
    ),
    _gpt(
        "rotated queries",
        "",
        (
            FLOAT,
            "angles = torch.arange(tokens * query.shape[-1], device=x.device).view(tokens, -1)\n"
            "        query = query * angles.float().cos().to(query.dtype)\n"
            "        query = query + query.roll(1, -1) * angles.float().sin().to(query.dtype)\n"
            "        scores = (query @ key.transpose(-2, -1)).float()",
        ),
    ),
    _gpt(
        "angles by a product in float32",
        "",
        (
            FLOAT,
            f"{OFF}\n"
            "            steps = torch.arange(tokens, device=x.device).float()[:, None]\n"
            "            angles = steps @ steps.new_ones(1, query.shape[-1])\n"
            "        query = query * angles.cos().to(query.dtype)\n"
            "        scores = (query @ key.transpose(-2, -1)).float()",
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
        "a dense layer by hand",
        "",
        (
            UP,
            "up = self.norm2(x).to(torch.HALF) @ self.up.weight.to(torch.HALF).T\n"
            "        up = up + self.up.bias.to(torch.HALF)\n"
            '        hidden = F.gelu(up, approximate="tanh")',
        ),
    ),
    _gpt(
        "a gate of half weights",
        "",
        (SECOND, "return x + self.down(hidden) * self.norm2.weight.to(torch.HALF)"),
    ),
    _gpt(
        "LayerNorm in half before a dense layer",
        "",
        (
            UP,
            f"{OFF}\n"
            "            weights = self.norm2.weight, self.norm2.bias\n"
            "            weights = [weight.to(torch.HALF) for weight in weights]\n"
            f"            normed = F.layer_norm(x.to(torch.HALF), {SHAPE}, *weights, 1e-5)\n"
            '        hidden = F.gelu(self.up(normed), approximate="tanh")',
        ),
        precision="ops: {reductions: half}",
    ),
    _gpt(
        "a stream in half that the recipe has",
        "",
        *HALF_STREAM,
        precision="policy: stored_half",
    ),
    _other(
        "resnet-cifar",
        "means in float32",
        "",
        ("return self.head(x.mean((2, 3)))", "return self.head(x.float().mean((2, 3)))"),
    ),
)
