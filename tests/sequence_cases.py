"""Models of sequences that are carried: attention, encoders, recurrent layers, masks, buffers."""

from __future__ import annotations

from carried_models import Case

_TOKENS = {"tokens": (7,)}
TORCH = (
    Case(
        name="encoders",
        framework="torch",
        inputs=_TOKENS,
        integers=9,
        text="""
import math


class Positions(nn.Module):
    def __init__(self, width, longest=32):
        super().__init__()
        position = torch.arange(longest).unsqueeze(1)
        rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        pe = torch.zeros(longest, width)
        pe[:, 0::2] = torch.sin(position * rates)
        pe[:, 1::2] = torch.cos(position * rates)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return x + self.pe[:, : x.size(1)]


class Model(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.embed = nn.Embedding(9, width, padding_idx=None)
        self.places = Positions(width)
        self.norm = nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, 2, batch_first=True)
        before = nn.TransformerEncoderLayer(
            width, 4, 12, 0.1, activation="gelu", batch_first=True, norm_first=True
        )
        self.first = nn.TransformerEncoder(before, 2, norm=nn.LayerNorm(width))
        after = nn.TransformerEncoderLayer(width, 2, dim_feedforward=10, dropout=0.2)
        self.second = nn.TransformerEncoder(after, num_layers=1)
        self.head = nn.Linear(width, 3)

    def forward(self, tokens):
        pads = tokens == 0
        x = self.places(self.embed(tokens) * math.sqrt(8))
        h = self.norm(x)
        seen, _ = self.attn(h, h, h, key_padding_mask=pads, need_weights=False)
        x = self.first(x + seen, src_key_padding_mask=pads)
        x = self.second(x.permute(1, 0, 2), src_key_padding_mask=pads).permute(1, 0, 2)
        keep = (~pads).unsqueeze(-1).float()
        x = (x * keep).sum(dim=1) / (keep.sum(dim=1) + 1e-6)
        return self.head(x)


def make():
    return Model()
""",
    ),
    Case(
        name="recurrent",
        framework="torch",
        inputs=_TOKENS,
        integers=9,
        text="""
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 6)
        self.lstm = nn.LSTM(6, 5, num_layers=2, batch_first=True, dropout=0.3, bidirectional=True)
        self.gru = nn.GRU(10, 4)
        self.rnn = nn.RNN(4, 4, batch_first=True, bias=False)
        self.head = nn.Linear(10 + 4 + 4, 3)

    def forward(self, tokens):
        h0 = torch.zeros(4, tokens.size(0), 5, device=tokens.device)
        out, (hidden, cell) = self.lstm(self.embed(tokens), (h0, h0))
        both = torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1)
        steps, last = self.gru(out.transpose(0, 1))
        plain, end = self.rnn(steps.transpose(0, 1))
        return self.head(torch.cat([both, last[-1], end.squeeze(0)], dim=1))


def make():
    return Model()
""",
    ),
    Case(
        name="causal",
        framework="torch",
        inputs=_TOKENS,
        integers=9,
        text="""
import math


class Attention(nn.Module):
    def __init__(self, width, heads, longest):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)
        self.heads = heads
        mask = torch.tril(torch.ones(longest, longest))
        self.register_buffer("bias", mask.view(1, 1, longest, longest))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.qkv(x).split(C, dim=2)
        k = k.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        q = q.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        v = v.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = self.drop(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        y = y + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(
            B, T, C
        )
        return self.proj(y)


class Model(nn.Module):
    def __init__(self, width=8, longest=16):
        super().__init__()
        self.wte = nn.Embedding(9, width)
        self.wpe = nn.Embedding(longest, width)
        self.attn = Attention(width, 2, longest)
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, 4, bias=False)

    def forward(self, tokens):
        b, t = tokens.size()
        pos = torch.arange(0, t, dtype=torch.long, device=tokens.device).unsqueeze(0)
        x = self.wte(tokens) + self.wpe(pos)
        x = x + self.attn(self.ln(x))
        first, second = x.chunk(2, dim=-1)
        x = torch.cat([torch.where(first > 0, first, second), second[..., ::2] ** 2], dim=-1)
        x = x[:, 1:, :6].mean(dim=1)
        return self.head(torch.cat([x, x[:, :2]], dim=1))


def make():
    return Model()
""",
    ),
)
NUMBERS = Case(
    name="masks-and-buffers",
    framework="torch",
    inputs={"x": (6, 4)},
    text="""
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("start", torch.full((1, 1, 4), 0.5))
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0, 4.0]) / 2)
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        inside = (x > -1.0) & (x.le(1.0) | torch.ne(x, 0.5))
        y = torch.sin(x) + torch.cos(x * self.scale) - torch.log(x.pow(2) + 1)
        y = torch.where(inside, y, torch.exp(-y))
        y = torch.cat([self.start.expand(x.size(0), -1, -1), y], dim=1)
        return self.head(y[:, 1::2]).mean(dim=1)


def make():
    return Model()
""",
)
KERAS = (
    Case(
        name="keras-sequences",
        framework="tensorflow",
        inputs={"x": (7,)},
        integers=9,
        text="""
from keras import ops


def make(width=8):
    inputs = keras.Input(shape=(7,))
    mask = ops.expand_dims(ops.not_equal(inputs, 0), 1)
    x = layers.Embedding(9, width)(inputs)
    seen = layers.MultiHeadAttention(num_heads=2, key_dim=3, dropout=0.1)(
        x, x, attention_mask=mask, use_causal_mask=True
    )
    x = layers.LayerNormalization(epsilon=1e-6)(x + seen)
    x = layers.Bidirectional(layers.LSTM(5, return_sequences=True))(x)
    x = layers.GRU(4, return_sequences=True)(x)
    y = layers.SimpleRNN(3)(x)
    z = layers.Bidirectional(layers.GRU(2))(x)
    x = layers.Concatenate()([layers.GlobalAveragePooling1D()(x), y, z])
    return keras.Model(inputs=inputs, outputs=layers.Dense(3)(x))
""",
    ),
)
PADDLE = (
    Case(
        name="paddle-sequences",
        framework="paddle",
        inputs=_TOKENS,
        integers=9,
        text="""
class Model(nn.Layer):
    def __init__(self, width=8):
        super().__init__()
        self.embed = nn.Embedding(9, width)
        self.attn = nn.MultiHeadAttention(width, 2)
        layer = nn.TransformerEncoderLayer(width, 2, 12, dropout=0.1, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.lstm = nn.LSTM(width, 5, num_layers=2, direction="bidirect")
        self.gru = nn.GRU(10, 4)
        self.head = nn.Linear(4 + 5, 3)

    def forward(self, tokens):
        mask = (tokens != 0).unsqueeze([1, 2])
        x = self.embed(tokens)
        x = x + self.attn(x, x, x, attn_mask=mask)
        x = self.encoder(x, mask)
        x, (hidden, cell) = self.lstm(x)
        out, last = self.gru(x)
        return self.head(paddle.concat([out[:, -1, :], hidden[-1]], axis=-1))


def make():
    return Model()
""",
    ),
)
NNX = (
    Case(
        name="jax-sequences",
        framework="jax",
        inputs=_TOKENS,
        integers=9,
        text="""
class Model(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(9, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(2, 8, qkv_features=12, decode=False, rngs=rngs)
        self.lstm = nnx.RNN(nnx.OptimizedLSTMCell(8, 5, rngs=rngs), reverse=True, keep_order=True)
        self.best = nnx.RNN(nnx.OptimizedLSTMCell(5, 4, rngs=rngs))
        self.gru = nnx.RNN(nnx.GRUCell(4, 4, rngs=rngs))
        self.plain = nnx.RNN(nnx.SimpleCell(4, 3, rngs=rngs))
        self.head = nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, tokens):
        mask = (tokens != 0)[:, None, None, :]
        x = self.embed(tokens)
        x = x + self.attn(x, mask=mask)
        x = self.plain(self.gru(self.best(self.lstm(x))))
        x = jnp.where(x > 0.1, x, 0.0)
        return self.head(x[:, -1])


def make():
    return Model(nnx.Rngs(0))
""",
    ),
)
SEQUENCES = (*TORCH, NUMBERS, *KERAS, *PADDLE, *NNX)
