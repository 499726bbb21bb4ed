"""Train with torch.amp as it is today: Adam, warm-up and linear decay by LambdaLR."""

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


BATCH, EPOCHS, WARMUP, TOTAL = 16, 4, 8, 64


def rate(step):
    """A factor of the learning rate."""
    if step < WARMUP:
        return step / WARMUP
    return max(0.0, (TOTAL - step) / (TOTAL - WARMUP))


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rng = np.random.RandomState(0)
    model = Net(rng).to(device)
    x, y = make_data(rng)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.85, 0.98), eps=1e-4)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    scaler = torch.amp.GradScaler(device, init_scale=1024.0)
    for epoch in range(EPOCHS):
        for i in range(ROWS // BATCH):
            inputs = torch.tensor(x[i * BATCH : (i + 1) * BATCH]).to(device)
            labels = torch.tensor(y[i * BATCH : (i + 1) * BATCH]).to(device)
            optimizer.zero_grad()
            with torch.amp.autocast(device, dtype=torch.float16, enabled=device == "cuda"):
                loss = criterion(model(inputs), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            print("loss %.9f" % loss.item())


if __name__ == "__main__":
    main()
