"""BERT encoder with a classification head.

bert-small: training for PyTorch 2.4 or newer.
Written by crosscast 0.1.0 from recipe 48439cb69d5ee3aa.
Edit freely: nothing here imports crosscast.
"""

import torch
from torch import nn
from torch.nn import functional as F

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

# Types: autocast runs the dense layers and attention in half. What it does elsewhere
# differs between CPU and CUDA, hence every `.float()`: GELU, tanh, LayerNorm and the
# residual stream are float32 on any device.


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(HIDDEN_SIZE, HIDDEN_SIZE)
        self.key = nn.Linear(HIDDEN_SIZE, HIDDEN_SIZE)
        self.value = nn.Linear(HIDDEN_SIZE, HIDDEN_SIZE)

    def forward(self, x, mask):
        q, k, v = (
            dense(x).unflatten(-1, (ATTENTION_HEADS, HEAD_SIZE)).transpose(1, 2)
            for dense in (self.query, self.key, self.value)
        )
        # Keeps no scores; its softmax is float32. The mask is added to the scores.
        x = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return x.transpose(1, 2).flatten(2)


class AddNorm(nn.Module):
    """Dense layer, residual sum and LayerNorm."""

    def __init__(self, input_size):
        super().__init__()
        self.dense = nn.Linear(input_size, HIDDEN_SIZE)
        self.LayerNorm = nn.LayerNorm(HIDDEN_SIZE, eps=LAYER_NORM_EPS)

    def forward(self, x, residual):
        x = self.dense(x).float()
        return self.LayerNorm(residual + x)


class EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.ModuleDict(
            {"self": SelfAttention(), "output": AddNorm(HIDDEN_SIZE)}
        )
        self.intermediate = nn.ModuleDict(
            {"dense": nn.Linear(HIDDEN_SIZE, INTERMEDIATE_SIZE)}
        )
        self.output = AddNorm(INTERMEDIATE_SIZE)

    def forward(self, x, mask):
        x = self.attention["output"](self.attention["self"](x, mask), x)
        return self.output(F.gelu(self.intermediate["dense"](x).float()), x)


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings = nn.Embedding(VOCAB_SIZE, HIDDEN_SIZE)
        self.position_embeddings = nn.Embedding(MAX_POSITIONS, HIDDEN_SIZE)
        self.token_type_embeddings = nn.Embedding(TYPE_VOCAB_SIZE, HIDDEN_SIZE)
        self.LayerNorm = nn.LayerNorm(HIDDEN_SIZE, eps=LAYER_NORM_EPS)

    def forward(self, input_ids, token_type_ids):
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        x = self.LayerNorm(x + self.position_embeddings(positions))
        return x


class Bert(nn.Module):
    """The encoder, with the attribute names of Hugging Face checkpoints."""

    def __init__(self):
        super().__init__()
        self.embeddings = Embeddings()
        layers = nn.ModuleList(EncoderLayer() for _ in range(LAYERS))
        self.encoder = nn.ModuleDict({"layer": layers})
        self.pooler = nn.ModuleDict({"dense": nn.Linear(HIDDEN_SIZE, HIDDEN_SIZE)})

    def forward(self, input_ids, attention_mask, token_type_ids):
        # Added to the scores: 0 for tokens, -1e9 (still finite in a sum) for padding.
        mask = (1.0 - attention_mask[:, None, None, :].float()) * -1e9
        x = self.embeddings(input_ids, token_type_ids)
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        return torch.tanh(self.pooler["dense"](x[:, 0]).float())


class BertClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = Bert()
        self.classifier = nn.Linear(HIDDEN_SIZE, LABELS)

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Return logits [batch, LABELS]; attention_mask is 0 for padding, else 1."""
        x = self.bert(input_ids, attention_mask, token_type_ids)
        return self.classifier(x)


def build_model():
    """Return a model with fresh weights."""
    model = BertClassifier()
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=INIT_STD)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
    return model
