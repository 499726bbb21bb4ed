"""Train with apex O2: a constant loss scale, FusedAdam, warm-up."""

import numpy as np
import torch
from torch import nn
from apex import amp
from apex.optimizers import FusedAdam

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


BATCH, EPOCHS, WARMUP = 16, 4, 10


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rng = np.random.RandomState(0)
    model = Net(rng).to(device)
    x, y = make_data(rng)
    criterion = nn.CrossEntropyLoss()
    optimizer = FusedAdam(model.parameters(), lr=1e-2, weight_decay=0.05)
    # Weights in float16, masters in float32.
    model, optimizer = amp.initialize(model, optimizer, opt_level="O2", loss_scale=128.0)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / WARMUP)
    )
    for epoch in range(EPOCHS):
        for i in range(ROWS // BATCH):
            inputs = torch.tensor(x[i * BATCH : (i + 1) * BATCH]).to(device)
            labels = torch.tensor(y[i * BATCH : (i + 1) * BATCH]).to(device)
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            with amp.scale_loss(loss, optimizer) as scaled_loss:
                scaled_loss.backward()
            torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
            optimizer.step()
            scheduler.step()
            print("loss %.9f" % loss.item())


if __name__ == "__main__":
    main()
