"""Programs without their data, as modules that one script imports: what their frameworks refuse.

Every line that a framework refuses ends with `# raises` and a word of the message; in the other
programs nothing may be accused, however much of them cannot be executed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

KERAS = {
    "absent_data": """\
import os
from pathlib import Path
import keras
import tensorflow as tf
if os.path.exists("data"):
    classes = os.listdir("data")
else:
    classes = []
keras.Sequential([keras.Input((3,)), keras.layers.Dense(len(classes))])
def names(folder):
    if not folder.is_dir():
        return []
    return [path.name for path in folder.iterdir()]
keras.Sequential([keras.Input((3,)), keras.layers.Dense(len(names(Path("data"))))])
units = len(os.listdir("data")) if os.path.isdir("data") else 0
keras.Sequential([keras.Input((3,)), keras.layers.Dense(units)])
images = tf.io.gfile.glob("data/*.png")
keras.Sequential([keras.Input((3,)), keras.layers.Dense(len(images))])
images = tf.io.gfile.listdir("data") if tf.io.gfile.exists("data") else []
keras.Sequential([keras.Input((3,)), keras.layers.Dense(len(images))])
if not os.path.isdir("out"):
    os.makedirs("out")
start = 0
if os.path.exists("out/saved.keras"):
    model, losses = keras.models.load_model("out/saved.keras"), [3.0]
    start = len(losses)
else:
    model, losses = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]), []
model.save("out/saved.keras")
model.add(keras.layers.Reshape((5,)))  # raises total size
""",
    "half_wrapped": """\
import keras
import tensorflow as tf
inputs = keras.Input((8,))
hidden = keras.layers.Dense(4)(inputs)
hidden = tf.reduce_mean(hidden, axis=1, keepdims=True)  # raises KerasTensor
model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
""",
    "wrapped": """\
import keras
import tensorflow as tf
inputs = keras.Input((8,))
hidden = keras.layers.Dense(4)(inputs)
hidden = keras.layers.Lambda(lambda x: tf.reduce_mean(x, axis=1, keepdims=True))(hidden)
hidden = keras.ops.concatenate([hidden, keras.ops.mean(inputs, axis=1, keepdims=True)])
model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
""",
    "used_optimizer": """\
import numpy as np
import gone.away
import keras
x, y = (np.load("gone.npz")[name] for name in "xy")
base = keras.applications.MobileNetV2(include_top=False, input_shape=(32, 32, 3))
base.trainable = False
inputs = keras.Input((32, 32, 3))
hidden = keras.layers.GlobalAveragePooling2D()(base(gone.away.augment(inputs)))
hidden = keras.layers.GlobalAveragePooling2D()(base(inputs))
model = keras.Model(inputs, keras.layers.Dense(2)(hidden))
optimizer = keras.optimizers.Adam(1e-3)
model.compile(optimizer, "sparse_categorical_crossentropy")
history = model.fit(x, y, epochs=5)
print(history.history["loss"][-1], model.evaluate(x, y))
base.trainable = True
model.compile(optimizer, "sparse_categorical_crossentropy")
model.fit(x, y, epochs=5)  # raises Unknown variable
""",
    "new_optimizers": """\
import numpy as np
import keras
x = np.load("gone.npy")
inputs = keras.Input((8,))
first = keras.layers.Dense(4)
model = keras.Model(inputs, keras.layers.Dense(1)(first(inputs)))
for trainable in (False, True):
    first.trainable = trainable
    model.compile(keras.optimizers.Adam(), "mse")
    model.fit(x, x)
first.trainable = False
optimizer = keras.optimizers.Adam()
model.compile(optimizer, "mse")
model.fit(x, x)
first.trainable = True
model.fit(x, x)  # not compiled again: the step is the one that was made before
first.trainable = False
other = keras.optimizers.SGD()
first.trainable = True
model.compile(other, "mse")
model.fit(x, x)
first.trainable = False
model.compile(other, "mse")
model.fit(x, x)
whole = keras.optimizers.SGD()
whole.build(model.variables)
for trainable in (False, True):
    first.trainable = trainable
    model.compile(whole, "mse")
    model.fit(x, x)
""",
    "schedule": """\
import keras
import tensorflow as tf
class Noam(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, width, warmup=4000):
        self.width, self.warmup = tf.cast(width, tf.float32), warmup
    def __call__(self, step):
        rise = step * self.warmup ** -1.5
        fall = tf.math.rsqrt(step)  # raises int
        return tf.math.rsqrt(self.width) * tf.math.minimum(fall, rise)
rows = tf.data.TFRecordDataset(open("gone").read())
optimizer = keras.optimizers.Adam(Noam(64))
for row in rows:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(row)
    optimizer.apply_gradients(tape.gradient(loss, []))
""",
    "right_schedule": """\
import keras
import tensorflow as tf
class Noam(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, width, warmup=4000):
        self.width, self.warmup = tf.cast(width, tf.float32), warmup
    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        rise = step * self.warmup ** -1.5
        return tf.math.rsqrt(self.width) * tf.math.minimum(tf.math.rsqrt(step), rise)
class Late(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        return 0.1 if step < self.warmup else 0.01
rows = open("gone").read()
optimizer = keras.optimizers.Adam(Noam(64))
late = Late()
other = keras.optimizers.SGD(late)
late.warmup = 10
never = keras.optimizers.SGD(Noam(len(rows)))
""",
    "schedule_in_fit": """\
import keras
class Late(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        return 0.1 if step < 10 else 0.01  # raises symbolic
x = open("gone").read()
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(Late()), "mse")
model.fit(x, x)
""",
    "unknown_sizes": """\
import os
import keras
words = {}
for line in open("gone"):
    words[line] = len(words)
classes = len(os.listdir("images"))
inputs = keras.Input((len(words),))
outputs = keras.layers.Dense(classes)(inputs)
other = keras.layers.Embedding(len(words), 4)(keras.Input((5,)))
model = keras.Model(inputs, outputs)
model.compile("adam", "mse", metrics=[words])
model.fit(words)
callback = keras.callbacks.ModelCheckpoint("best.keras")
model.load_weights("gone.weights.h5")
loaded = keras.models.load_model("gone.keras")
loaded.fit(words)
(x, y), test = keras.datasets.mnist.load_data()
images = keras.utils.image_dataset_from_directory("images")
files = keras.utils.get_file("x.zip", "http://localhost:1/x.zip")
""",
    "not_adapted": """\
import glob
import os
import keras
import tensorflow as tf
texts = open("gone").read().split()
words = keras.layers.TextVectorization(max_tokens=100)
words.adapt(texts)
inputs = keras.Input((1,), dtype="string")
encoded = keras.layers.Dense(3)(keras.layers.CategoryEncoding(7)(words(inputs)))
print(words(tf.constant([["a text"]])))
os.makedirs("made")
names = os.listdir("made")
for folder, _, files in os.walk("made"):
    names += files
for name in glob.glob("made/*.wav"):
    names.append(name)
outputs = keras.layers.Dense(len(names))(keras.Input((3,)))
""",
    "data_of_its_own": """\
import random
import keras
class Rows(keras.utils.PyDataset):
    names = []
    def __len__(self):
        return 10
    def __getitem__(self, number):
        return random.choice(self.names)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Rows())
""",
    "subclassed": """\
import keras
import numpy as np
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.second = keras.layers.Dense(4), keras.layers.Dense(1)
    def call(self, x):
        return self.second(self.first(x))
class Own(Net):
    def train_step(self, data):
        raise NotImplementedError("with data only")
net = Net()
net.compile("sgd", "mse")
x = np.random.rand(32, 8)
history = net.fit(x, x[:, :1], epochs=1000, validation_split=0.25)
print(history.history["val_loss"][-1], net.predict(x).shape, net.evaluate(x, x[:, :1]))
own = Own()
own(keras.Input((8,)))
own.compile("sgd", "mse")
rows = open("gone")
own.fit(rows)
unbuilt = Net()
unbuilt.compile("sgd", "mse")
unbuilt.fit(rows)
""",
    "bad_shapes": """\
import keras
class Block(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.inner = keras.layers.Dense(3)
    def call(self, x):
        return self.inner(x) + keras.ops.ones((x.shape[1] * 2, 7))  # raises shape
def build(width=4):
    inputs = keras.Input((width,))
    return keras.Model(inputs, Block()(inputs))
def expected():
    try:
        return build()
    except ValueError:
        return None
assert expected() is None
model = build()
model.compile("adam", "mse")
""",
}
PYTORCH = {
    "no_gradients": """\
import numpy as np
import torch
x = torch.from_numpy(np.load("gone.npy"))
net = torch.nn.Linear(4, 2)
net(torch.ones(1, 4))
net.load_state_dict(torch.load("gone.pt"))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
while True:
    loss = net(x).mean()
    loss.backward()
    optimizer.step()
""",
    "bad_shapes": """\
import gone
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.first, self.second = nn.Linear(width, 8), nn.Linear(9, 2)
    def forward(self, x):
        x = self.first(x)
        return self.second(x)  # raises shapes
rows = gone.read("x.csv")
net = Net().cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=-1.0)  # raises learning rate
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
print(net(torch.zeros(2, 4, device="cuda")))
for row in rows:
    net(row)
""",
    "right": """\
import argparse
import os
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __init__(self, folder):
        self.names = []
        for name in os.listdir(folder):
            self.names.append(name)
    def __len__(self):
        return len(self.names)
    def __getitem__(self, number):
        return torch.load(self.names[number])
class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(12):
            self.layers.append(nn.Linear(width, width))
        assert len(self.layers) == 12
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
def train(net, loader, optimizer):
    outputs = []
    for batch in loader:
        outputs.append(net(batch))
    print(torch.cat(outputs).shape)
    while True:
        optimizer.zero_grad()
        net(torch.randn(3, 4)).sum().backward()
        optimizer.step()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    args = parser.parse_args()
    loader = DataLoader(Rows("gone"), batch_size=4)
    net = Net().cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr)
    train(net, loader, optimizer)
    classes = len(loader.dataset.names)
    other = nn.Linear(4, classes)
    empty = nn.ParameterList(open("gone"))
    torch.optim.SGD(empty.parameters(), lr=0.1)
    half = Net().cuda().half()
    with torch.autocast("cuda", dtype=torch.float16):
        half(torch.randn(3, 4))
    if not os.path.exists("gone"):
        raise RuntimeError("there is no data")
main()
""",
}
PADDLE = {
    "no_gradients": """\
import numpy as np
import paddle
x = paddle.to_tensor(np.load("gone.npy"))
net = paddle.nn.Linear(4, 2)
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
while True:
    loss = net(x).mean()
    loss.backward()
    optimizer.step()
""",
    "bad_shapes": """\
import numpy as np
import paddle
from paddle import nn
rows = np.load("gone.npy")
net = nn.Sequential(nn.Linear(4, 8), nn.Linear(9, 2))
for row in range(1000):
    net(paddle.randn([2, 4])).mean().backward()  # raises matmul
""",
    "right": """\
import numpy as np
import paddle
from paddle import nn
rows = np.load("gone.npy")
paddle.set_device("gpu:0")
net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, len(rows)))
net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
optimizer = paddle.optimizer.Adam(0.1, parameters=net.parameters())
while True:
    with paddle.amp.auto_cast(dtype="float16"):
        loss = net(paddle.randn([2, 4])).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
for row in rows:
    net(paddle.to_tensor(row))
""",
    "static": """\
import numpy as np
import paddle
rows = np.load("gone.npy")
paddle.enable_static()
first = paddle.static.data("first", [None, 4])
hidden = paddle.static.nn.fc(first, 3)
paddle.matmul(hidden, paddle.static.data("second", [7, 2]))  # raises matmul
paddle.matmul(hidden, paddle.static.data("third", [len(rows), 2]))
paddle.optimizer.SGD(0.1).minimize(paddle.mean(hidden))
run = paddle.static.Executor(paddle.CUDAPlace(0))
run.run(paddle.static.default_startup_program())
for row in rows:
    run.run(feed={"first": row}, fetch_list=[hidden])
""",
}


def write(folder: Path, programs: Mapping[str, str]) -> None:
    """Write the programs, and a script that imports them all."""
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "train.py").write_text("".join(f"import {name}\n" for name in programs))


def marked(programs: Mapping[str, str]) -> dict[tuple[str, int], str]:
    """Return the places that are refused: file and line, and a word of the message."""
    return {
        (f"{name}.py", number): found[1]
        for name, text in programs.items()
        for number, line in enumerate(text.splitlines(), 1)
        if (found := re.search(r"# raises (.+)", line))
    }
