"""Train with paddle.amp: a dynamic loss scale, two micro-batches, clipping in the optimizer."""

import numpy as np
import paddle
from paddle import nn

ROWS, FEATURES, HIDDEN, CLASSES = 256, 16, 32, 4


class Net(nn.Layer):
    def __init__(self, rng):
        super().__init__()
        first = rng.normal(0, 0.3, (FEATURES, HIDDEN)).astype("float32")
        second = rng.normal(0, 0.3, (HIDDEN, CLASSES)).astype("float32")
        self.hidden = nn.Linear(FEATURES, HIDDEN, weight_attr=nn.initializer.Assign(first))
        self.head = nn.Linear(HIDDEN, CLASSES, weight_attr=nn.initializer.Assign(second))

    def forward(self, x):
        return self.head(paddle.tanh(self.hidden(x)))


def make_data(rng):
    """Rows of a linear rule with noise: nothing to download."""
    x = rng.normal(0, 1, (ROWS, FEATURES)).astype("float32")
    rule = rng.normal(0, 1, (FEATURES, CLASSES))
    noise = rng.normal(0, 1, (ROWS, CLASSES))
    return x, np.argmax(np.matmul(x, rule) + noise, 1).astype("int64")


BATCH, ACCUMULATE, EPOCHS = 8, 2, 4


def main():
    rng = np.random.RandomState(0)
    model = Net(rng)
    x, y = make_data(rng)
    criterion = nn.CrossEntropyLoss()
    # Decay is not coupled, and is that of Paddle: 0.01.
    optimizer = paddle.optimizer.AdamW(
        learning_rate=0.004,
        beta2=0.98,
        epsilon=1e-6,
        parameters=model.parameters(),
        grad_clip=nn.ClipGradByGlobalNorm(0.5),
    )
    scaler = paddle.amp.GradScaler(init_loss_scaling=2048.0, incr_every_n_steps=300)
    total = 0.0
    for epoch in range(EPOCHS):
        for i in range(ROWS // BATCH):
            inputs = paddle.to_tensor(x[i * BATCH : (i + 1) * BATCH])
            labels = paddle.to_tensor(y[i * BATCH : (i + 1) * BATCH])
            with paddle.amp.auto_cast(dtype="float16"):
                loss = criterion(model(inputs), labels) / ACCUMULATE
            scaler.scale(loss).backward()
            total += float(loss)
            if (i + 1) % ACCUMULATE == 0:
                scaler.step(optimizer)
                scaler.update()
                optimizer.clear_grad()
                print("loss %.9f" % total)
                total = 0.0


if __name__ == "__main__":
    main()
