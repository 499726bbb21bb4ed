"""Train in float16 by hand: half model, masters in float32, a constant loss scale."""

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


BATCH, EPOCHS, LOSS_SCALE = 16, 4, 128.0


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rng = np.random.RandomState(0)
    model = Net(rng).to(device).half()
    x, y = make_data(rng)
    criterion = nn.CrossEntropyLoss()
    masters = [p.detach().clone().float() for p in model.parameters()]
    for master in masters:
        master.requires_grad = True
    optimizer = torch.optim.SGD(masters, lr=0.05, momentum=0.9)
    for epoch in range(EPOCHS):
        for i in range(ROWS // BATCH):
            inputs = torch.tensor(x[i * BATCH : (i + 1) * BATCH]).to(device).half()
            labels = torch.tensor(y[i * BATCH : (i + 1) * BATCH]).to(device)
            model.zero_grad()
            loss = criterion(model(inputs).float(), labels)
            (loss * LOSS_SCALE).backward()
            # Masters get the unscaled gradients.
            for master, param in zip(masters, model.parameters()):
                master.grad = param.grad.float() / LOSS_SCALE
            optimizer.step()
            for master, param in zip(masters, model.parameters()):
                param.data.copy_(master.data)
            print("loss %.9f" % loss.item())


if __name__ == "__main__":
    main()
