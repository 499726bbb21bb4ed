"""The inputs' model in Paddle, as the user of a migrated script writes it."""

import paddle
from start import weights


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        first, second = (paddle.nn.initializer.Assign(weight) for weight in weights())
        self.hidden = paddle.nn.Linear(16, 32, weight_attr=first)
        self.head = paddle.nn.Linear(32, 4, weight_attr=second)

    def forward(self, x):
        return self.head(paddle.tanh(self.hidden(x)))


build_model = Net
