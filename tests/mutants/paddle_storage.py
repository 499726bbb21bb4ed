"""The bugs of storage in the emitted files of Paddle."""

from __future__ import annotations

from collections.abc import Callable

from crosscast.targets.harness import Edit
from mutants.spelling import Spellings, model, spellings, train

MARK = "COPIED = "
"""Stands only in scripts that store half."""
SUM = "        return self.LayerNorm(residual + x)\n"
NORMED = (
    'F.layer_norm({}, HIDDEN_SIZE, self.LayerNorm.weight.astype("float32"),'
    ' self.LayerNorm.bias.astype("float32"), LAYER_NORM_EPS)'
)
WIDE = 'residual.astype("float32") + x.astype("float32")'
GELU = "        return self.output(F.gelu(hidden), x)\n"
LAYERS = "        layers = nn.LayerList([EncoderLayer() for _ in range(LAYERS)])\n"
LOOKUP = (
    "        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)\n"
)
PLACES = "        x = x + self.position_embeddings(positions)\n"
LAST = "        x = self.LayerNorm(x.astype(half))\n"
FUSED = """\
        x = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=DROPOUT, training=self.training
        )
"""
BARE = "        x = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)\n"
EXPLICIT = """\
        q, k, v = (array.transpose([0, 2, 1, 3]) for array in (q, k, v))
        scores = paddle.matmul(q, k, transpose_y=True) / HEAD_SIZE**0.5 + mask
        {}
        weights = F.dropout(weights, DROPOUT, training=self.training)
        x = paddle.matmul(weights, v).transpose([0, 2, 1, 3])
"""
DROP = "        x = F.dropout(x, DROPOUT, training=self.training)\n"
DENSE = f"        x = self.dense(x)\n{DROP}"
POOLED = '        return paddle.tanh(self.pooler["dense"](x[:, 0]))\n'
CLASSIFIED = "        return self.classifier(x)\n"
LOGITS = '    logits = model(**inputs).astype("float32")\n'
ENTROPY = '    return F.cross_entropy(logits, labels, reduction="sum")\n'
ADDED = '        loss += F.cross_entropy(logits, labels, reduction="sum").astype("float64")\n'
COPIES = "        paddle.assign(weight.astype(half.dtype), half)\n"
DIVIDED = "        loss = loss / rows\n"
LOSS = "        window_loss += loss.detach()\n"
COLLECT = "        collect_gradients(state)\n"
GRADIENT = '            gradient = half.grad.astype("float32")\n'
KEPT = "            weight.grad = gradient if weight.grad is None else weight.grad + gradient\n"
CLEARED = "            half.clear_gradient(False)\n"
REFRESHED = "    model = state.working\n    copy_weights(state)\n"
UPDATED = "    state.optimizer.clear_grad(set_to_zero=False)\n"
MASK = "attention_mask.unsqueeze([1, 2])"
ROUNDED = "    for weight, half in half_weights(state):\n"


def _in_both(spelled: Callable[[str], Edit]) -> list[list[Edit]]:
    """Return the spellings of a bug for each half type, which models of the toy have as well."""
    copy = '                parameter.shape, "{}", default_initializer=zeros\n'
    halves = ("float16", "bfloat16")
    return [[train(copy.format(h), copy.format(h)), spelled(h)] for h in halves]


def _dense(name: str, what: str) -> str:
    weights = f'{name}.weight.astype("float32"), {name}.bias.astype("float32")'
    return f'F.linear({what}.astype("float32"), {weights})'


def _updated(body: str) -> Edit:
    """Return an edit that does something with weights after each update."""
    head = f"    with paddle.no_grad():\n        for weight, half in half_weights(state):\n{body}"
    return train(UPDATED, f"{head}{UPDATED}")


STORAGE: Spellings = {
    "one_sum_float32": model(
        SUM,
        "        if self.dense.weight.shape[0] == INTERMEDIATE_SIZE:\n"
        f"            return {NORMED.format(WIDE)}.astype(x.dtype)\n{SUM}",
    ),
    "all_sums_float32": model(SUM, f"        return {NORMED.format(WIDE)}.astype(x.dtype)\n"),
    "norm_kept_float32": [
        model(
            LAST,
            f'        x = x.astype(half).astype("float32")\n        x = {NORMED.format("x")}\n',
        ),
        model("dense(x).reshape", "dense(x.astype(dense.weight.dtype)).reshape"),
        model(f"{MASK}.astype(x.dtype)", f'{MASK}.astype(self.pooler["dense"].weight.dtype)'),
        model(
            SUM,
            "        half, x = x.dtype, x.astype(residual.dtype)\n"
            "        return self.LayerNorm((residual + x).astype(half))\n",
        ),
    ],
    "statistics_half": model(
        SUM,
        "        x = residual + x\n"
        "        x = x - x.mean(-1, keepdim=True)\n"
        "        x = x * paddle.rsqrt((x * x).mean(-1, keepdim=True) + LAYER_NORM_EPS)\n"
        "        return x * self.LayerNorm.weight + self.LayerNorm.bias\n",
    ),
    "softmax_sums_half": model(
        FUSED,
        EXPLICIT.format(
            "top = scores.astype('float32').max(-1, keepdim=True).astype(scores.dtype)\n"
            "        scores = paddle.exp(scores - top)\n"
            "        weights = scores / scores.sum(-1, keepdim=True)"
        ),
    ),
    "softmax_rounded_twice": model(FUSED, EXPLICIT.format("weights = F.softmax(scores, -1)")),
    "softmax_float32": model(
        FUSED,
        EXPLICIT.format('weights = F.softmax(scores.astype("float32"), -1)').replace(
            "(weights, v)", "(weights.astype(v.dtype), v)"
        ),
    ),
    "loss_half": train(LOGITS, "    logits = model(**inputs)\n"),
    "loss_sum_half": train(
        ENTROPY,
        '    rows = F.cross_entropy(logits, labels, reduction="none")\n'
        '    return rows.astype(model.classifier.weight.dtype).sum().astype("float32")\n',
    ),
    "window_loss_half": spellings(
        *_in_both(
            lambda half: train(
                LOSS,
                f'{LOSS}        window_loss = window_loss.astype("{half}").astype("float32")\n',
            )
        )
    ),
    "evaluated_loss_half": train(
        ADDED, ADDED.replace("(logits,", "(logits.astype(model.classifier.weight.dtype),")
    ),
    "embeddings_sum_half": [
        model(
            LOOKUP,
            "        x = self.word_embeddings(input_ids).astype(half)\n"
            "        x = x + self.token_type_embeddings(token_type_ids).astype(half)\n",
        ),
        model(PLACES, PLACES.replace("(positions)", "(positions).astype(half)")),
    ],
    "embeddings_rounded_twice": model(
        PLACES, f'        x = x.astype(half).astype("float32")\n{PLACES}'
    ),
    "table_half": model(
        "self.word_embeddings(input_ids)",
        'F.embedding(input_ids, self.word_embeddings.weight.astype(half)).astype("float32")',
    ),
    "gelu_float32": [
        model(LAYERS, f"{LAYERS}        layers[0].first = True\n"),
        model(
            GELU,
            "        if hasattr(self, 'first'):\n"
            '            hidden = F.gelu(hidden.astype("float32")).astype(x.dtype)\n'
            f"            return self.output(hidden, x)\n{GELU}",
        ),
    ],
    "tanh_float32": model(
        POOLED, POOLED.replace("(x[:, 0]))", '(x[:, 0]).astype("float32")).astype(x.dtype)')
    ),
    "pooler_float32": model(
        POOLED,
        '        dense = self.pooler["dense"]\n'
        f"        return paddle.tanh({_dense('dense', 'x[:, 0]')}.astype(x.dtype))\n",
    ),
    "classifier_float32": model(CLASSIFIED, f"        return {_dense('self.classifier', 'x')}\n"),
    "attention_float32": model(
        FUSED,
        '        q, k, v = (array.astype("float32") for array in (q, k, v))\n'
        + FUSED.replace("mask=mask", 'mask=mask.astype("float32")')
        + "        x = x.astype(mask.dtype)\n",
    ),
    "dropout_scale_half": model(
        DENSE,
        DENSE + "        if self.training:\n"
        "            scale = paddle.to_tensor(1.0 / (1.0 - DROPOUT)).astype(x.dtype)\n"
        "            x = x * (1.0 - DROPOUT) * scale\n",
    ),
    "dropout_float32": model(
        DENSE,
        DENSE.replace("dropout(x,", 'dropout(x.astype("float32"),').replace(
            "training)\n", "training).astype(x.dtype)\n"
        ),
    ),
    "attention_dropout_missing": model(FUSED, BARE),
    "attention_dropout_twice": model(FUSED, f"{FUSED}{DROP}"),
    "attention_scale": spellings(
        model(FUSED, f"        q = q / HEAD_SIZE**0.5\n{FUSED}"),
        model(BARE, f"        q = q / HEAD_SIZE**0.5\n{BARE}"),
    ),
    "attention_unscaled": spellings(
        model(FUSED, f"        q = q * HEAD_SIZE**0.5\n{FUSED}"),
        model(BARE, f"        q = q * HEAD_SIZE**0.5\n{BARE}"),
    ),
    "attention_mask_on_queries": model(MASK, "attention_mask.unsqueeze([1, 3])"),
    "attention_mask_weak": spellings(
        model(") * -1e4\n", ") * -1.0\n"), model(") * -1e9\n", ") * -1.0\n")
    ),
    "stored_other_half": model(SUM, SUM.replace("+ x)", '+ x).astype("bfloat16").astype(x.dtype)')),
    "gradients_other_half": train(
        GRADIENT, GRADIENT.replace(".grad.", '.grad.astype("bfloat16").')
    ),
    "masters_rounded": _updated(
        "            paddle.assign(weight.astype(half.dtype).astype('float32'), weight)\n"
    ),
    "gradients_half": train(COLLECT, "    collect_gradients(state)\n"),
    "norm_weights_half": _updated(
        "            if weight.shape == [model.classifier.weight.shape[0]]:\n"
        "                paddle.assign(weight.astype(half.dtype).astype('float32'), weight)\n"
    ),
    "copies_stale": train(
        REFRESHED,
        "    model = state.working\n    if not state.windows:\n        copy_weights(state)\n",
    ),
    "copies_late": train(
        REFRESHED,
        "    model = state.working\n    if state.windows % 2 == 0:\n        copy_weights(state)\n",
    ),
    "copies_of_another": train(
        f"{ROUNDED}{COPIES}",
        "    names = {id(half): n for n, half in state.working.named_parameters()}\n"
        "    masters = dict(state.model.named_parameters())\n"
        '    swapped = {"query": "key", "key": "query"}\n'
        "    for weight, half in half_weights(state):\n"
        '        parts = names[id(half)].split(".")\n'
        '        weight = masters[".".join(swapped.get(part, part) for part in parts)]\n' + COPIES,
    ),
    "copies_of_biases_stale": train(
        COPIES, f"        if weight.ndim > 1 or not state.windows:\n    {COPIES}"
    ),
    "copies_stale_in_evaluation": train(
        "    copy_weights(state)\n    model, n_rows", "    model, n_rows"
    ),
    "copied_gradients_kept": train(CLEARED, ""),
    "copied_gradients_last": train(KEPT, "            weight.grad = gradient\n"),
    "copied_gradient_missing": train(
        GRADIENT, GRADIENT.replace('"float32")', '"float32") * float(weight.ndim > 1)')
    ),
    "scaled_loss_half": spellings(
        *_in_both(
            lambda half: train(
                DIVIDED, f'{DIVIDED}        loss = loss.astype("{half}").astype("float32")\n'
            )
        )
    ),
}
