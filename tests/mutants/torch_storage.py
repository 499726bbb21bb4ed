"""The bugs of storage in the emitted files of PyTorch."""

from __future__ import annotations

from collections.abc import Callable

from crosscast.targets.harness import Edit
from mutants.spelling import Spellings, model, runtime, spellings, train

MARK = "COPIED = "
"""Stands only in scripts that store half."""
SUM = "        return self.LayerNorm(residual + x)\n"
NORMED = (
    "F.layer_norm({}, (HIDDEN_SIZE,), self.LayerNorm.weight.float(),"
    " self.LayerNorm.bias.float(), LAYER_NORM_EPS)"
)
GELU = 'F.gelu(self.intermediate["dense"](x))'
LAYERS = "        layers = nn.ModuleList(EncoderLayer() for _ in range(LAYERS))\n"
LOOKUP = (
    "        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)\n"
)
PLACES = "        x = x + self.position_embeddings(positions)\n"
LAST = "        x = self.LayerNorm(x.to(half))\n"
FUSED = "        x = F.scaled_dot_product_attention(\n"
DROPPED = "q, k, v, attn_mask=mask, dropout_p=DROPOUT if self.training else 0.0\n        )\n"
ATTENTION = f"{FUSED}            {DROPPED}"
CONTEXT = "        return x.transpose(1, 2).flatten(2)\n"
EXPLICIT = """\
        scores = torch.matmul(q, k.transpose(2, 3)) / HEAD_SIZE**0.5 + mask
        {}
        weights = F.dropout(weights, DROPOUT, self.training)
        x = torch.matmul(weights, v)
"""
DROP = "        x = F.dropout(x, DROPOUT, self.training)\n"
DENSE = f"        x = self.dense(x)\n{DROP}"
POOLED = '        return torch.tanh(self.pooler["dense"](x[:, 0]))\n'
CLASSIFIED = "        return self.classifier(x)\n"
LOGITS = "    logits = model(**inputs).float()\n"
ENTROPY = '    return nn.functional.cross_entropy(logits, labels, reduction="sum")\n'
CALLED = "        logits = model(**batch).float()\n"
COPIES = "        torch._foreach_copy_(halves, [master(half) for half in halves])\n"
COLLECT = "        collect_gradients(model)\n"
DIVIDED = "        loss = loss / rows\n"
ADDED = "        window_loss += loss.detach()\n"
GRADIENT = "        if weight is not parameter and parameter.grad is not None:\n"
CLEARED = "            parameter.grad = None\n"
REFRESHED = "    copy_masters(model)\n"


def _own_layer_norm(body: str) -> tuple[Edit, Edit]:
    """Return edits that let the LayerNorms of encoder layers be computed by a function."""
    head = f"def own_layer_norm(x, norm):\n{body}\n\nclass AddNorm(nn.Module):\n"
    return (
        model("class AddNorm(nn.Module):\n", head),
        model(SUM, "        return own_layer_norm(residual + x, self.LayerNorm)\n"),
    )


def _in_both(spelled: Callable[[str], Edit]) -> list[list[Edit]]:
    """Return the spellings of a bug for each half type, which models of the toy have as well."""
    masters = "                    parameter.data = parameter.data.to({})\n"
    halves = ("torch.float16", "torch.bfloat16")
    return [[train(masters.format(h), masters.format(h)), spelled(h)] for h in halves]


def _dense(name: str) -> str:
    return f"F.linear({{}}.float(), {name}.weight.float(), {name}.bias.float())"


STORAGE: Spellings = {
    "one_sum_float32": model(
        SUM,
        "        if self.dense.in_features == INTERMEDIATE_SIZE:\n"
        "            x = residual.float() + x.float()\n"
        f"            return {NORMED.format('x')}.to(residual.dtype)\n{SUM}",
    ),
    "all_sums_float32": model(
        SUM, f"        return {NORMED.format('residual.float() + x')}.to(x.dtype)\n"
    ),
    "norm_kept_float32": [
        model(LAST, f"        x = {NORMED.format('x.to(half).float()')}\n"),
        model("dense(x).unflatten", "dense(x.to(dense.weight.dtype)).unflatten"),
        model(
            "attention_mask[:, None, None, :].to(x.dtype)",
            "attention_mask[:, None, None, :].to(self.pooler['dense'].weight.dtype)",
        ),
        model(
            SUM,
            "        x = (residual + x).to(self.dense.weight.dtype)\n"
            "        return self.LayerNorm(x)\n",
        ),
    ],
    "statistics_half": _own_layer_norm(
        "    x = x - x.mean(-1, keepdim=True)\n"
        "    x = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + LAYER_NORM_EPS)\n"
        "    return x * norm.weight + norm.bias\n"
    ),
    "softmax_sums_half": model(
        ATTENTION,
        EXPLICIT.format(
            "scores = torch.exp(scores - scores.amax(-1, keepdim=True))\n"
            "        weights = scores / scores.sum(-1, keepdim=True)"
        ),
    ),
    "softmax_rounded_twice": model(
        ATTENTION, EXPLICIT.format("weights = F.softmax(scores, dim=-1)")
    ),
    "softmax_float32": model(
        ATTENTION,
        EXPLICIT.format("weights = F.softmax(scores.float(), dim=-1)").replace(
            "torch.matmul(weights, v)", "torch.matmul(weights.to(v.dtype), v)"
        ),
    ),
    "loss_half": train(LOGITS, LOGITS.replace(".float()", "")),
    "loss_sum_half": train(
        ENTROPY,
        '    rows = nn.functional.cross_entropy(logits, labels, reduction="none")\n'
        "    return rows.to(model.classifier.weight.dtype).sum().float()\n",
    ),
    "window_loss_half": spellings(
        *_in_both(
            lambda half: train(
                ADDED, f"{ADDED}        window_loss = window_loss.to({half}).float()\n"
            )
        )
    ),
    "evaluated_loss_half": train(CALLED, CALLED.replace(".float()", "")),
    "embeddings_sum_half": [
        model(
            LOOKUP,
            "        x = self.word_embeddings(input_ids).to(half)\n"
            "        x = x + self.token_type_embeddings(token_type_ids).to(half)\n",
        ),
        model(PLACES, PLACES.replace("(positions)", "(positions).to(half)")),
    ],
    "embeddings_rounded_twice": model(
        LOOKUP,
        LOOKUP.replace("x = ", "x = (").replace("(token_type_ids)", "(token_type_ids)).to(half)"),
    ),
    "table_half": model(
        "self.word_embeddings(input_ids)",
        "F.embedding(input_ids, self.word_embeddings.weight.to(half))",
    ),
    "gelu_float32": [
        model(LAYERS, f"{LAYERS}        layers[0].first = True\n"),
        model(
            GELU,
            f"({GELU.replace('(x))', '(x).float())')}.to(x.dtype)"
            f" if hasattr(self, 'first') else {GELU})",
        ),
    ],
    "tanh_float32": model(POOLED, POOLED.replace("(x[:, 0]))", "(x[:, 0]).float()).to(x.dtype)")),
    "pooler_float32": model(
        POOLED,
        '        dense = self.pooler["dense"]\n'
        f"        return torch.tanh({_dense('dense').format('x[:, 0]')}.to(x.dtype))\n",
    ),
    "classifier_float32": model(
        CLASSIFIED, f"        return {_dense('self.classifier').format('x')}\n"
    ),
    "attention_float32": model(
        ATTENTION,
        "        q, k, v = (array.float() for array in (q, k, v))\n"
        f"{ATTENTION.replace('mask=mask', 'mask=mask.float()')}"
        "        x = x.to(mask.dtype)\n",
    ),
    "dropout_scale_half": model(
        DENSE,
        DENSE + "        if self.training:\n"
        "            x = x * (1.0 - DROPOUT) * torch.tensor(1.0 / (1.0 - DROPOUT)).to(x)\n",
    ),
    "dropout_float32": model(
        DENSE,
        DENSE.replace("dropout(x,", "dropout(x.float(),").replace(
            "training)", "training).to(x.dtype)"
        ),
    ),
    "attention_dropout_missing": model(
        ATTENTION, ATTENTION.replace(", dropout_p=DROPOUT if self.training else 0.0", "")
    ),
    "attention_dropout_twice": model(ATTENTION, f"{ATTENTION}{DROP}"),
    "attention_scale": spellings(
        model(ATTENTION, ATTENTION.replace("mask=mask,", "mask=mask, scale=1.0 / HEAD_SIZE,")),
        model("attn_mask=mask\n", "attn_mask=mask, scale=1.0 / HEAD_SIZE\n"),
    ),
    "attention_unscaled": spellings(
        model(ATTENTION, ATTENTION.replace("mask=mask,", "mask=mask, scale=1.0,")),
        model("attn_mask=mask\n", "attn_mask=mask, scale=1.0\n"),
    ),
    "attention_mask_on_queries": model(
        "attention_mask[:, None, None, :]", "attention_mask[:, None, :, None]"
    ),
    "attention_mask_weak": spellings(
        model(") * -1e4\n", ") * -1.0\n"), model(") * -1e9\n", ") * -1.0\n")
    ),
    "stored_other_half": model(SUM, SUM.replace("+ x)", "+ x).to(torch.bfloat16).to(x.dtype)")),
    "gradients_other_half": train(
        GRADIENT, f"{GRADIENT}            parameter.grad = parameter.grad.bfloat16().half()\n"
    ),
    "masters_rounded": train(
        COPIES,
        f"{COPIES}        for parameter in halves:\n"
        "            parameter.master.copy_(parameter)\n",
    ),
    "gradients_half": [train(COLLECT, ""), train(ADDED, f"{ADDED}    collect_gradients(model)\n")],
    "norm_weights_half": train(
        COPIES,
        f"{COPIES}    for module in model.modules():\n"
        "        if isinstance(module, nn.LayerNorm):\n"
        "            module.weight.master.copy_(module.weight)\n"
        "            module.bias.master.copy_(module.bias)\n",
    ),
    "copies_stale": train(REFRESHED, ""),
    "copies_late": train(REFRESHED, "    if state.windows % 2:\n        copy_masters(model)\n"),
    "copies_of_another": train(
        COPIES,
        "        named = dict(model.named_parameters())\n"
        '        swapped = {"query": "key", "key": "query"}\n'
        "        for name, parameter in named.items():\n"
        '            other = ".".join(swapped.get(part, part) for part in name.split("."))\n'
        "            if hasattr(parameter, 'master'):\n"
        "                parameter.copy_(master(named[other]))\n",
    ),
    "copies_of_biases_stale": train(
        COPIES, f"        halves = [half for half in halves if half.ndim > 1]\n{COPIES}"
    ),
    "copies_stale_on_restore": runtime(
        "state", "        if weight is not tensor:\n            tensor.copy_(weight)\n", ""
    ),
    "copied_gradients_kept": train(CLEARED, ""),
    "copied_gradients_last": train(
        "            if weight.grad is None:\n"
        "                weight.grad = parameter.grad.float()\n"
        "            else:\n"
        "                weight.grad.add_(parameter.grad)  # adds in float32, without a cast\n",
        "            weight.grad = parameter.grad.float()\n",
    ),
    "copied_gradient_missing": train(
        GRADIENT, f"{GRADIENT}            parameter.grad *= weight.ndim > 1\n"
    ),
    "scaled_loss_half": spellings(
        *_in_both(lambda half: train(DIVIDED, f"{DIVIDED}        loss = loss.to({half}).float()\n"))
    ),
}
