"""Programs as people publish them, which are carried whole, and data for them.

Those of PyTorch stand here, the others in `across_fits.md`. Each makes 20 updates of 8 rows. The
file is read by the tests of migrations and by those that run the programs and their migrations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import CrossMigration, migrate_across
from program_files import entries_of

UPDATES = 20
ROWS = 80
Arrays = Mapping[str, np.ndarray]
Kind = tuple[tuple[int, ...]] | tuple[tuple[int, ...], int]
"""Shape of an array, and the number of classes of one that has some."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """A training program and what it reads."""

    name: str
    text: str
    framework: str = "torch"
    data: Mapping[str, Mapping[str, Kind]] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    """What its user says with `--set`, beside the length."""

    def migrated(self, targets: Sequence[str]) -> CrossMigration:
        """Return what becomes of it in other frameworks."""
        settings = {"schedule.total_steps": UPDATES, **self.settings}
        return migrate_across([Source("train.py", self.text)], targets, settings=settings)

    def prepared(self, folder: Path) -> None:
        """Write the program and its data."""
        (folder / "train.py").write_text(self.text)
        rng = np.random.default_rng(5)
        for file, arrays in (self.data or _DATA[self.name]).items():
            made: dict[str, Any] = {name: _drawn(rng, *kind) for name, kind in arrays.items()}
            if file.endswith(".npz"):
                np.savez(folder / file, **made)
            else:
                np.save(folder / file, next(iter(made.values())))


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], classes: int = 0) -> np.ndarray:
    if classes:
        return rng.integers(0, classes, shape)
    return rng.normal(size=shape).astype(np.float32)


def scaled(weights: Arrays) -> dict[str, np.ndarray]:
    """Return weights of which the matrices are smaller, from which training is not chaotic."""
    return {n: array * np.float32(0.3 if array.ndim > 1 else 1.0) for n, array in weights.items()}


_DATA: Mapping[str, Mapping[str, Mapping[str, Kind]]] = {
    "mlp": {"data.npz": {"x": ((ROWS, 16),), "y": ((ROWS,), 5)}},
    "cnn": {
        "images.npy": {"images": ((ROWS, 1, 12, 12),)},
        "labels.npy": {"labels": ((ROWS,), 10)},
    },
    "rows": {"series.npy": {"series": ((ROWS + 12,),)}},
    "transformer": {"data.npz": {"tokens": ((ROWS, 9), 50), "labels": ((ROWS,), 3)}},
    "lstm": {
        "tokens.npy": {"tokens": ((ROWS, 9), 60)},
        "labels.npy": {"labels": ((ROWS,), 2)},
    },
    "two": {
        "data.npz": {"x": ((ROWS, 10),), "classes": ((ROWS,), 4), "values": ((ROWS,),)},
    },
}
_MLP = """
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MLP(nn.Module):
    def __init__(self, inputs=16, hidden=32, classes=5):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(inputs, hidden), nn.ReLU(), nn.Dropout(0.0), nn.Linear(hidden, classes)
        )

    def forward(self, x):
        return self.net(x)


def main():
    torch.manual_seed(0)
    data = np.load("data.npz")
    x = torch.from_numpy(data["x"])
    y = torch.from_numpy(data["y"])
    dataset = TensorDataset(x, y)
    loader = DataLoader(dataset, batch_size=8, shuffle=False)
    model = MLP()
    criterion = nn.CrossEntropyLoss()
    epochs = 2
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    total = epochs * 10
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lr_lambda=lambda step: step / 4 if step < 4 else max(0.0, (total - step) / (total - 4)),
    )
    for epoch in range(epochs):
        model.train()
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            scheduler.step()


if __name__ == "__main__":
    main()
"""
_CNN = """
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 3 * 3, 32)
        self.fc2 = nn.Linear(32, 10)
        self.register_buffer("mean", torch.tensor([0.1307]))
        self.register_buffer("std", torch.tensor([0.3081]))

    def forward(self, x):
        x = (x - self.mean) / self.std
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return self.fc2(x)


def main():
    images = torch.from_numpy(np.load("images.npy"))
    labels = torch.from_numpy(np.load("labels.npy"))
    train_loader = DataLoader(TensorDataset(images, labels), batch_size=8, shuffle=False)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
    for epoch in range(2):
        for data, target in train_loader:
            optimizer.zero_grad()
            output = model(data)
            loss = F.cross_entropy(output, target)
            loss.backward()
            optimizer.step()
            scheduler.step()


if __name__ == "__main__":
    main()
"""
_OWN_ROWS = """
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

WINDOW = 12


class SeriesDataset(Dataset):
    # Windows of a series, and the value that follows.

    def __init__(self, path, window=WINDOW):
        self.series = np.load(path).astype(np.float32)
        self.window = window

    def __len__(self):
        return len(self.series) - self.window

    def __getitem__(self, index):
        x = self.series[index : index + self.window]
        y = self.series[index + self.window : index + self.window + 1]
        return torch.from_numpy(x), torch.from_numpy(y)


model = nn.Sequential(nn.Linear(WINDOW, 24), nn.Tanh(), nn.Linear(24, 1))
loader = DataLoader(SeriesDataset("series.npy"), batch_size=8, shuffle=False, drop_last=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
criterion = nn.MSELoss()
for epoch in range(2):
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
"""
_TRANSFORMER = """
import math

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=64):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return x + self.pe[:, : x.size(1)]


class Block(nn.Module):
    def __init__(self, d_model, heads, dropout):
        super().__init__()
        self.attn = nn.MultiheadAttention(d_model, heads, dropout=dropout, batch_first=True)
        self.ln1 = nn.LayerNorm(d_model)
        self.ln2 = nn.LayerNorm(d_model)
        self.mlp = nn.Sequential(
            nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model)
        )

    def forward(self, x, mask):
        h = self.ln1(x)
        a, _ = self.attn(h, h, h, key_padding_mask=mask, need_weights=False)
        x = x + a
        return x + self.mlp(self.ln2(x))


class Classifier(nn.Module):
    def __init__(self, vocab=50, d_model=16, heads=4, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, d_model)
        self.pos = PositionalEncoding(d_model)
        self.block = Block(d_model, heads, dropout=0.0)
        layer = nn.TransformerEncoderLayer(d_model, heads, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.head = nn.Linear(d_model, classes)

    def forward(self, tokens):
        mask = tokens == 0
        x = self.pos(self.embed(tokens))
        x = self.block(x, mask)
        x = self.encoder(x, src_key_padding_mask=mask)
        keep = (~mask).unsqueeze(-1).float()
        x = (x * keep).sum(dim=1) / keep.sum(dim=1)
        return self.head(x)


def main():
    data = np.load("data.npz")
    dataset = TensorDataset(torch.from_numpy(data["tokens"]), torch.from_numpy(data["labels"]))
    loader = DataLoader(dataset, batch_size=8, shuffle=False)
    model = Classifier()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(2):
        for tokens, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(tokens), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()


if __name__ == "__main__":
    main()
"""
_LSTM = """
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class SentimentLSTM(nn.Module):
    def __init__(self, vocab_size=60, embedding_dim=12, hidden_dim=10, num_layers=2, classes=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(
            embedding_dim, hidden_dim, num_layers=num_layers, batch_first=True, bidirectional=True
        )
        self.gru = nn.GRU(2 * hidden_dim, hidden_dim, batch_first=True)
        self.fc = nn.Linear(hidden_dim, classes)

    def forward(self, x):
        embedded = self.embedding(x)
        output, (hidden, cell) = self.lstm(embedded)
        output, hidden = self.gru(output)
        return self.fc(output[:, -1, :])


tokens = torch.from_numpy(np.load("tokens.npy"))
labels = torch.from_numpy(np.load("labels.npy"))
train_loader = DataLoader(TensorDataset(tokens, labels), batch_size=8)
model = SentimentLSTM()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

for epoch in range(2):
    model.train()
    for batch_tokens, batch_labels in train_loader:
        optimizer.zero_grad()
        outputs = model(batch_tokens)
        loss = criterion(outputs, batch_labels)
        loss.backward()
        optimizer.step()
"""
_TWO_OUTPUTS = """
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, path):
        data = np.load(path)
        self.x = data["x"]
        self.classes = data["classes"]
        self.values = data["values"]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.classes[i], self.values[i]


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 24), nn.ReLU())
        self.classifier = nn.Linear(24, 4)
        self.regressor = nn.Linear(24, 1)

    def forward(self, x):
        h = self.body(x)
        return self.classifier(h), self.regressor(h)


def train():
    loader = DataLoader(Pairs("data.npz"), batch_size=8)
    model = TwoHeads()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    for epoch in range(2):
        for x, classes, values in loader:
            logits, value = model(x)
            loss_class = F.cross_entropy(logits, classes)
            loss_value = F.mse_loss(value.squeeze(-1), values)
            loss = loss_class + 0.5 * loss_value
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    train()
"""
PROGRAMS = (
    Program(name="mlp", text=_MLP),
    Program(name="cnn", text=_CNN),
    Program(name="rows", text=_OWN_ROWS),
    Program(name="transformer", text=_TRANSFORMER),
    Program(name="lstm", text=_LSTM),
    Program(name="two", text=_TWO_OUTPUTS),
    *(
        Program(name=entry.title, text=entry.text, framework=entry.of, **entry.values)
        for entry in entries_of(Path(__file__).with_name("across_fits.md"))
    ),
)
