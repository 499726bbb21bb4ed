"""What scaled_dot_product_attention does on a CPU; prints JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import paddle
from paddle.nn import functional as F

SHAPE = (2, 5, 3, 8)
"""Rows, tokens, heads, size of a head."""
LENGTHS = (3, 5)
RATE = 0.25


def inputs(dtype: str = "float32") -> list[Any]:
    """Query, key, value, and what is added to the scores: one line of it for a row."""
    rng = np.random.default_rng(0)
    tensors = [paddle.to_tensor(rng.normal(size=SHAPE).astype("float32")) for _ in range(3)]
    padding = np.arange(SHAPE[1]) >= np.array(LENGTHS)[:, None]
    mask = np.where(padding, -1e9, 0.0).astype("float32")[:, None, None]
    return [tensor.astype(dtype) for tensor in (*tensors, paddle.to_tensor(mask))]


def formula(kept: Any = 1.0) -> Any:
    """Attention written out; `kept` are the factors of a mask of dropout."""
    query, key, value, mask = inputs()
    query, key, value = (tensor.transpose([0, 2, 1, 3]) for tensor in (query, key, value))
    scores = paddle.matmul(query, key, transpose_y=True) / SHAPE[3] ** 0.5
    weights = F.softmax(scores + mask, axis=-1) * kept
    return paddle.matmul(weights, value).transpose([0, 2, 1, 3])


def apart(a: Any, b: Any) -> float:
    return float((a - b).abs().max())


def formula_facts() -> dict[str, Any]:
    """Whether it is the formula, and where it drops."""
    *tensors, mask = inputs()
    masks = []
    drop = paddle._C_ops.dropout

    def noted(x: Any, *rest: Any) -> Any:
        dropped = drop(x, *rest)
        masks.append(dropped / x)
        return dropped

    evaluated = F.scaled_dot_product_attention(*tensors, mask, RATE, training=False)
    found = {"evaluation": apart(evaluated, formula())}
    found["plain"] = apart(F.scaled_dot_product_attention(*tensors, attn_mask=mask), formula())
    paddle._C_ops.dropout = noted
    dropped = F.scaled_dot_product_attention(*tensors, mask, dropout_p=RATE, training=True)
    paddle._C_ops.dropout = drop
    (kept,) = masks
    found["dropped"] = apart(dropped, formula(paddle.nan_to_num(kept)))
    found["dropped is plain"] = apart(dropped, formula())
    return found


def masked() -> str:
    """The error of a mask, on this machine; empty for none."""
    *tensors, mask = inputs()
    try:
        F.scaled_dot_product_attention(*tensors, attn_mask=mask)
    except Exception as error:  # whatever a release raises is its answer
        return type(error).__name__
    return ""


def half() -> bool:
    """Whether there is a kernel for half tensors."""
    try:
        F.scaled_dot_product_attention(*inputs("bfloat16"))
    except RuntimeError as error:
        if "kernel" not in str(error):
            raise
        return False
    return True


if __name__ == "__main__":
    FACTS: dict[str, Any] = {"formula": formula_facts, "masked": masked, "half": half}
    print(json.dumps(FACTS[sys.argv[1]]()))
