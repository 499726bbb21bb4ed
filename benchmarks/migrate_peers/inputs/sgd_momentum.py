"""Train in float32: SGD with Nesterov momentum and decay, gradients clipped by value."""

import numpy as np
import torch
from torch import nn

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


BATCH, EPOCHS = 16, 4


def main():
    rng = np.random.RandomState(0)
    model = Net(rng)
    x, y = make_data(rng)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3
    )
    for epoch in range(EPOCHS):
        for i in range(ROWS // BATCH):
            inputs = torch.tensor(x[i * BATCH : (i + 1) * BATCH])
            labels = torch.tensor(y[i * BATCH : (i + 1) * BATCH])
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            torch.nn.utils.clip_grad_value_(model.parameters(), 0.05)
            optimizer.step()
            print("loss %.9f" % loss.item())


if __name__ == "__main__":
    main()
