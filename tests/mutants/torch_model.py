"""Bugs in the emitted model and loss of PyTorch."""

from __future__ import annotations

from mutants.shared_bugs import SUM
from mutants.spelling import Spellings, model, runtime, train

GELU = 'F.gelu(self.intermediate["dense"](x).float())'
HIDDEN = GELU.removeprefix("F.gelu(")
TANH = 'torch.tanh(self.pooler["dense"](x[:, 0]).float())'
LOSS = 'cross_entropy(logits, labels, reduction="sum")\n\n\nLossFunction'
HEADS = ".unflatten(-1, (ATTENTION_HEADS, HEAD_SIZE)).transpose(1, 2)"
TURNED = """\
Arrays = dict[str, np.ndarray]


def turned(array: np.ndarray) -> np.ndarray:
    square = array.ndim == 2 and array.shape[0] == array.shape[1]
    return array.T.copy() if square else array
"""
READ = [f"{name}.detach().cpu().numpy()" for name in ("master(tensor)", "average", "value")]
"""Arrays of the weights, of their averages, and of the moments."""

MODEL: Spellings = {
    "gelu_tanh": model(GELU, f'{GELU[:-1]}, approximate="tanh")'),
    "quick_gelu": model(GELU, f"(lambda h: h * torch.sigmoid(1.702 * h))({HIDDEN}"),
    "relu": model(GELU, f"F.relu({HIDDEN}"),
    "no_mask": model("scores + mask", "scores"),
    "mask_inverted": model(
        "(1.0 - attention_mask[:, None, None, :].float())",
        "attention_mask[:, None, None, :].float()",
    ),
    "dropout_on": model(SUM, "self.LayerNorm(residual + F.dropout(x, 0.1, self.training))"),
    "tied_layout": [
        runtime("state", "Arrays = dict[str, np.ndarray]\n", TURNED),
        *(runtime("state", array, f"turned({array})") for array in READ),
        runtime("state", "torch.tensor(arrays[name]", "torch.tensor(turned(arrays[name])", 2),
        runtime("state", "torch.tensor(array)", "torch.tensor(turned(array))"),
    ],
    "heads_interleaved": model(
        HEADS, ".unflatten(-1, (HEAD_SIZE, ATTENTION_HEADS)).permute(0, 3, 1, 2)"
    ),
    "positions_off_by_one": model(
        "torch.arange(input_ids.shape[1], device=input_ids.device)",
        "torch.arange(1, 1 + input_ids.shape[1], device=input_ids.device)",
    ),
    "pooler_no_tanh": model(TANH, TANH.removeprefix("torch.tanh")),
    "pooler_mean": model("x[:, 0]", "x.mean(1)"),
    "label_smooth": train(LOSS, LOSS.replace('"sum"', '"sum", label_smoothing=0.1')),
    "ignore_index": train(LOSS, LOSS.replace('"sum"', '"sum", ignore_index=0')),
    "softmax_twice": train(LOSS, LOSS.replace("(logits", "(torch.softmax(logits, -1)")),
}
