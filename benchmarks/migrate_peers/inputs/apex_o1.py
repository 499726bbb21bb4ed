"""Train with apex O1: dynamic loss scale, Adam with its own betas and epsilon, clipping."""

import numpy as np
import torch
from torch import nn
from apex import amp

ROWS, FEATURES, HIDDEN, CLASSES = 256, 16, 32, 4


class Dense(nn.Module):
    """A layer whose weights are laid out (in, out)."""

    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(weight))
        self.bias = nn.Parameter(torch.zeros(weight.shape[1]))

    def forward(self, x):
        return torch.matmul(x, self.weight) + self.bias


class Net(nn.Module):
    def __init__(self, rng):
        super().__init__()
        self.hidden = Dense(rng.normal(0, 0.3, (FEATURES, HIDDEN)).astype("float32"))
        self.head = Dense(rng.normal(0, 0.3, (HIDDEN, CLASSES)).astype("float32"))

    def forward(self, x):
        return self.head(torch.tanh(self.hidden(x)))


def make_data(rng):
    """Rows of a linear rule with noise: nothing to download."""
    x = rng.normal(0, 1, (ROWS, FEATURES)).astype("float32")
    rule = rng.normal(0, 1, (FEATURES, CLASSES))
    noise = rng.normal(0, 1, (ROWS, CLASSES))
    return x, np.argmax(np.matmul(x, rule) + noise, 1).astype("int64")


BATCH, ACCUMULATE, EPOCHS = 8, 2, 4


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rng = np.random.RandomState(0)
    model = Net(rng).to(device)
    x, y = make_data(rng)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, betas=(0.9, 0.98), eps=1e-6)
    # The patched functions compute in float16.
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
    total = 0.0
    for epoch in range(EPOCHS):
        for i in range(ROWS // BATCH):
            inputs = torch.tensor(x[i * BATCH : (i + 1) * BATCH]).to(device)
            labels = torch.tensor(y[i * BATCH : (i + 1) * BATCH]).to(device)
            loss = criterion(model(inputs), labels) / ACCUMULATE
            with amp.scale_loss(loss, optimizer) as scaled_loss:
                scaled_loss.backward()
            total += loss.item()
            if (i + 1) % ACCUMULATE == 0:
                torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 0.5)
                optimizer.step()
                optimizer.zero_grad()
                print("loss %.9f" % total)
                total = 0.0


if __name__ == "__main__":
    main()
