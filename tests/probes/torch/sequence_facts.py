"""What masks and arguments of PyTorch's layers of sequences mean, as JSON."""

from __future__ import annotations

import json
import warnings

import torch
import torch.nn.functional as F
from torch import nn

warnings.simplefilter("ignore")
torch.manual_seed(0)
x = torch.randn(2, 3, 8)
heads = x.reshape(2, 3, 2, 4).transpose(1, 2)
last = torch.tensor([False, False, True])
attention = nn.MultiheadAttention(8, 2, batch_first=True)


def seen(**masks: torch.Tensor) -> torch.Tensor:
    """Return what the queries of the layer see."""
    return attention(x, x, x, **masks)[0]


def of_heads(mask: torch.Tensor | None, keys: torch.Tensor = heads) -> torch.Tensor:
    """Return what the queries of the function see."""
    return F.scaled_dot_product_attention(heads, keys, keys, attn_mask=mask)


shorter = attention(x, x[:, :2], x[:, :2])[0]
nothing = torch.ones(3, 3, dtype=torch.bool)
added = torch.zeros(3, 3).masked_fill(last, -30000.0)
layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu", batch_first=True)
encoder = nn.TransformerEncoder(layer, 2)
padding = torch.tensor([[False] * 3, [False, False, True]])
trained = encoder(x, src_key_padding_mask=padding)
with torch.no_grad():
    evaluated = encoder.eval()(x, src_key_padding_mask=padding)
plain = nn.RNN(2, 3, 1, "tanh", True, True, 0.0, False)
gates = nn.LSTM(2, 3, 1, True, True, 0.0, False, 0)
print(
    json.dumps(
        {
            "true hides keys": torch.allclose(
                seen(key_padding_mask=last.expand(2, 3)), shorter, atol=1e-6
            ),
            "true hides pairs": torch.allclose(
                seen(attn_mask=last.expand(3, 3)), shorter, atol=1e-6
            ),
            "numbers are added": torch.allclose(seen(attn_mask=added), shorter, atol=1e-6),
            "true shows heads": torch.allclose(
                of_heads(~last.expand(3, 3)), of_heads(None, heads[:, :, :2]), atol=1e-6
            ),
            "nothing is seen": [
                attention(x, x, x, attn_mask=nothing)[0].isnan().all().item(),
                of_heads(~nothing).abs().max().item(),
            ],
            "layers start alike": all(
                torch.equal(*pair)
                for pair in zip(*(each.parameters() for each in encoder.layers), strict=True)
            ),
            "padding in evaluation": [
                torch.allclose(trained[~padding], evaluated[~padding], atol=1e-5),
                evaluated[padding].abs().max().item(),
                trained[padding].abs().max().item() > 0.1,
            ],
            "gelu is exact": torch.equal(layer.activation(x), F.gelu(x)),
            "by place": [
                [each.num_layers, each.bias, each.batch_first, each.dropout, each.bidirectional]
                for each in (plain, gates)
            ],
        }
    )
)
