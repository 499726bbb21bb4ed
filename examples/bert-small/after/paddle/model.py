"""BERT encoder with a classification head.

bert-small: training for Paddle 3.0 or newer.
Written by crosscast 0.1.0 from recipe 48439cb69d5ee3aa.
Edit freely: nothing here imports crosscast.
"""

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

VOCAB_SIZE = 2048
HIDDEN_SIZE = 512
LAYERS = 4
ATTENTION_HEADS = 8
HEAD_SIZE = HIDDEN_SIZE // ATTENTION_HEADS
INTERMEDIATE_SIZE = 2048
MAX_POSITIONS = 64
TYPE_VOCAB_SIZE = 2
LABELS = 3
LAYER_NORM_EPS = 1e-12
INIT_STD = 0.02
# The numbers below which the values of each input lie.
LIMITS = {
    "input_ids": VOCAB_SIZE,
    "attention_mask": 2,
    "token_type_ids": TYPE_VOCAB_SIZE,
    "labels": LABELS,
}

# Types: all is float32.


class SelfAttention(nn.Layer):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(HIDDEN_SIZE, HIDDEN_SIZE)
        self.key = nn.Linear(HIDDEN_SIZE, HIDDEN_SIZE)
        self.value = nn.Linear(HIDDEN_SIZE, HIDDEN_SIZE)

    def forward(self, x, mask):
        q, k, v = (
            dense(x).reshape([0, 0, ATTENTION_HEADS, HEAD_SIZE])
            for dense in (self.query, self.key, self.value)
        )
        # In half on GPUs it keeps no scores; its softmax is float32. The mask is added.
        x = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return x.flatten(2)


class AddNorm(nn.Layer):
    """Dense layer, residual sum and LayerNorm."""

    def __init__(self, input_size):
        super().__init__()
        self.dense = nn.Linear(input_size, HIDDEN_SIZE)
        self.LayerNorm = nn.LayerNorm(HIDDEN_SIZE, epsilon=LAYER_NORM_EPS)

    def forward(self, x, residual):
        x = self.dense(x).astype("float32")
        return self.LayerNorm(residual + x)


class EncoderLayer(nn.Layer):
    def __init__(self):
        super().__init__()
        self.attention = nn.LayerDict(
            {"self": SelfAttention(), "output": AddNorm(HIDDEN_SIZE)}
        )
        self.intermediate = nn.LayerDict(
            {"dense": nn.Linear(HIDDEN_SIZE, INTERMEDIATE_SIZE)}
        )
        self.output = AddNorm(INTERMEDIATE_SIZE)

    def forward(self, x, mask):
        x = self.attention["output"](self.attention["self"](x, mask), x)
        hidden = self.intermediate["dense"](x).astype("float32")
        return self.output(F.gelu(hidden), x)


class Embeddings(nn.Layer):
    def __init__(self):
        super().__init__()
        # No padding_idx: it would replace the stored row of that token by zeros.
        self.word_embeddings = nn.Embedding(VOCAB_SIZE, HIDDEN_SIZE)
        self.position_embeddings = nn.Embedding(MAX_POSITIONS, HIDDEN_SIZE)
        self.token_type_embeddings = nn.Embedding(TYPE_VOCAB_SIZE, HIDDEN_SIZE)
        self.LayerNorm = nn.LayerNorm(HIDDEN_SIZE, epsilon=LAYER_NORM_EPS)

    def forward(self, input_ids, token_type_ids):
        positions = paddle.arange(input_ids.shape[1])
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        x = self.LayerNorm(x + self.position_embeddings(positions))
        return x


class Bert(nn.Layer):
    """The encoder, with the attribute names of Hugging Face checkpoints."""

    def __init__(self):
        super().__init__()
        self.embeddings = Embeddings()
        layers = nn.LayerList([EncoderLayer() for _ in range(LAYERS)])
        self.encoder = nn.LayerDict({"layer": layers})
        self.pooler = nn.LayerDict({"dense": nn.Linear(HIDDEN_SIZE, HIDDEN_SIZE)})

    def forward(self, input_ids, attention_mask, token_type_ids):
        # Added to the scores: 0 for tokens, -1e9 (still finite in a sum) for padding.
        mask = (1.0 - attention_mask.unsqueeze([1, 2]).astype("float32")) * -1e9
        x = self.embeddings(input_ids, token_type_ids)
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        return paddle.tanh(self.pooler["dense"](x[:, 0]).astype("float32"))


class BertClassifier(nn.Layer):
    def __init__(self):
        super().__init__()
        self.bert = Bert()
        self.classifier = nn.Linear(HIDDEN_SIZE, LABELS)

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Return logits [batch, LABELS]; attention_mask is 0 for padding, else 1."""
        x = self.bert(input_ids, attention_mask, token_type_ids)
        return self.classifier(x)

    @staticmethod
    def canonical_layout(name, array):
        """Convert between the layout used here and that of weight files, both ways.

        Dense kernels are (in, out) here and (out, in) there; all else is the same.
        """
        if array.ndim == 2 and not name.endswith("_embeddings.weight"):
            return np.ascontiguousarray(array.T)
        return array


def build_model():
    """Return a model with fresh weights."""
    model = BertClassifier()
    normal = nn.initializer.Normal(mean=0.0, std=INIT_STD)
    zeros = nn.initializer.Constant(0.0)
    for layer in model.sublayers():
        if isinstance(layer, (nn.Linear, nn.Embedding)):
            normal(layer.weight)
        if isinstance(layer, nn.Linear):
            zeros(layer.bias)
    return model
