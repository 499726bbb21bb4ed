"""CL101 on losses that a model or function returns: what is a mean, and what may not be."""

from __future__ import annotations

import pytest

from reading_helpers.lint_results import codes

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
LOOP = """
{made}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i, (x, y) in enumerate(loader):
    {loss}
    loss.backward()
    if (i + 1) % 8 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
MODEL = """
class Net(nn.Module):
    def forward(self, x, y=None):
        out = self.body(x)
        if y is None:
            loss = None
        else:
            loss = {mean}
        return {returned}
"""


def program(loss: str, made: str = "model = Net()", before: str = "") -> str:
    return HEAD + before + LOOP.format(loss=loss, made=made)


def of_model(mean: str, returned: str, loss: str, made: str = "model = Net()") -> str:
    return program(loss, made, MODEL.format(mean=mean, returned=returned))


MEAN = "F.cross_entropy(out, y)"


@pytest.mark.parametrize(
    ("returned", "loss"),
    [
        ("out, loss", "_, loss = model(x, y)"),
        ("(loss, out)", "loss, _ = model(x, y)"),
        ("(loss, out)", "loss = model(x, y)[0]"),
        ("loss", "loss = model(x, y)"),
        ("loss", "loss = model(x, y).float()"),
        ("{'loss': loss}", "loss = model(x, y)['loss']"),
        ("{'loss': loss}", "output = model(x, y)\n    loss = output['loss']"),
        ("out, loss", "output = model(x, y)\n    loss = output[1]"),
        ("loss", "loss = model(x, y)\n    loss = loss.mean()"),
    ],
)
@pytest.mark.parametrize(
    "made",
    [
        "model = Net()",
        "model = torch.compile(Net().cuda())",
        "model = torch.jit.script(Net())",
        "model = Net()\nmodel = nn.parallel.DistributedDataParallel(model, [0])",
    ],
)
def test_means_that_a_model_returns(returned: str, loss: str, made: str) -> None:
    assert "CL101" in codes(of_model(MEAN, returned, loss, made))


@pytest.mark.parametrize(
    ("mean", "returned", "loss"),
    [
        ("F.cross_entropy(out, y, reduction='sum')", "out, loss", "_, loss = model(x, y)"),
        ("F.cross_entropy(out, y, reduction='none')", "out, loss", "_, loss = model(x, y)"),
        ("F.cross_entropy(out, y) / self.parts", "out, loss", "_, loss = model(x, y)"),
        ("F.cross_entropy(out, y) / self.accumulation", "loss", "loss = model(x, y)"),
        ("self.compute(out, y)", "loss", "loss = model(x, y)"),
        (MEAN, "loss, out", "_, loss = model(x, y)"),
        (MEAN, "self.pack(out, loss)", "_, loss = model(x, y)"),
    ],
)
def test_what_a_model_returns_and_is_no_mean_for_certain(
    mean: str, returned: str, loss: str
) -> None:
    assert "CL101" not in codes(of_model(mean, returned, loss))


def test_a_division_in_place_within_the_model() -> None:
    divided = MODEL.format(mean=MEAN + "\n            loss /= {}", returned="loss")
    for number, found in (("self.parts", False), ("2", True)):
        text = program("loss = model(x, y)", before=divided.format(number))
        assert ("CL101" in codes(text)) is found


OTHER_FILE = "from project.network import Net\n"


@pytest.mark.parametrize(
    "loss",
    [
        "_, loss = model(x, y)",
        "_, loss = model(x, y)  # not of num_tokens",
        "loss = model(x, y)",
        "loss = model(x, labels=y).loss",
        "output = model(x, labels=y)\n    loss = output.loss",
        "loss = model(x, y)['loss']",
        "losses = model(x, y)\n    loss = sum(losses.values())",
        "losses = model(x, y)\n    loss = sum(each for each in losses.values())",
    ],
)
def test_models_of_other_files_are_taken_to_return_means(loss: str) -> None:
    assert "CL101" in codes(program(loss, before=OTHER_FILE))


@pytest.mark.parametrize(
    ("loss", "made", "before"),
    [
        ("_, loss = model(x, y)", "model = nn.Linear(4, 2)", ""),
        ("loss = model(x, y)", "model = nn.Linear(4, 2)", ""),
        ("loss = compute(x, y)", "model = Net()", OTHER_FILE),
        ("losses = compute(x)\n    loss = sum(losses.values())", "model = Net()", OTHER_FILE),
        ("loss = sum(model(x, y))", "model = Net()", OTHER_FILE),
        ("_, out = model(x, y)\n    loss = out", "model = Net()", OTHER_FILE),
        ("loss = model(x, y)['other']", "model = Net()", OTHER_FILE),
        ("loss = model(x, y).other", "model = Net()", OTHER_FILE),
        ("loss = model()", "model = Net()", OTHER_FILE),
        ("_, loss = model(x, y, num_tokens)", "model = Net()", OTHER_FILE),
        ("_, loss = model(x, y)", "model = Net(reduction='sum')", OTHER_FILE),
    ],
)
def test_what_may_be_no_mean(loss: str, made: str, before: str) -> None:
    assert "CL101" not in codes(program(loss, made, before))


@pytest.mark.parametrize(
    ("loss", "found"),
    [
        ("loss = own(model(x), y)", True),
        ("loss = F.cross_entropy(model(x), y, reduction='none')\n    loss = loss.mean()", True),
        ("each = F.mse_loss(model(x), y, reduction='none')\n    loss = torch.mean(each)", True),
        ("loss = F.mse_loss(model(x), y, reduction='none')\n    loss = loss.sum()", False),
        ("loss = F.mse_loss(model(x), y, reduction='none')\n    loss = loss * y", False),
    ],
)
def test_losses_of_elements_and_of_own_classes(loss: str, found: bool) -> None:
    own = (
        "class Focal(nn.Module):\n    def forward(self, p, t):\n"
        "        each = F.cross_entropy(p, t, reduction='none')\n"
        "        return ((1 - torch.exp(-each)) ** 2 * each).mean()\nown = Focal()\n"
    )
    assert ("CL101" in codes(program(loss, "model = nn.Linear(4, 2)", own))) is found


def test_functions_and_methods_of_the_program() -> None:
    function = "def compute(model, x, y):\n    return F.cross_entropy(model(x), y){}\n"
    for more, found in (("", True), (" / 8", False), (".sum()", False)):
        text = program(
            "loss = compute(model, x, y)", "model = nn.Linear(4, 2)", function.format(more)
        )
        assert ("CL101" in codes(text)) is found
    text = HEAD + (
        "class Trainer:\n    def loss_of(self, batch):\n"
        "        return F.mse_loss(self.model(batch[0]), batch[1])\n"
        "    def fit(self, loader):\n        for i, batch in enumerate(loader):\n"
        "            loss = self.loss_of(batch)\n            loss.backward()\n"
        "            if (i + 1) % self.every == 0:\n                self.optimizer.step()\n"
        "                self.optimizer.zero_grad()\n"
    )
    assert "CL101" in codes(text)


NESTED = """
def train(model, optimizer, batches, {parameter}):
    for step in range(1000):
        optimizer.zero_grad()
        for {inner}:
            {draw}
            loss = F.cross_entropy(model(x), y)
            loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("inner", "draw", "found"),
    [
        ("_ in range(n)", "x, y = next(batches)", True),
        ("j in range(n)", "x, y = get_batch('train')", True),
        ("j in range(n)", "x, y = batches.next_batch()", True),
        ("j in range(n)", "y = ys[j]", False),
        ("task in range(n)", "x, y = next(batches)", False),
        ("j in range(n_views)", "x, y = next(batches)", False),
        ("x, y in batches", "z = next(others)", False),
    ],
)
def test_windows_without_a_telling_name(inner: str, draw: str, found: bool) -> None:
    text = HEAD + NESTED.format(parameter="n", inner=inner, draw=draw)
    assert ("CL101" in codes(text)) is found


WHILE = """
def train(model, optimizer, batches, n):
    for step in range(1000):
        optimizer.zero_grad()
        done = 0
        while {test}:
            x, y = next(batches)
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            {count}
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("test", "count", "found"),
    [
        ("done < n", "done += 1", True),
        ("done != n", "done = done + 1", True),
        ("done < n", "done += len(x)", False),
        ("done < n", "other += 1", False),
        ("missing > n", "missing = missing + 1", False),
    ],
)
def test_windows_of_a_counting_while_loop(test: str, count: str, found: bool) -> None:
    assert ("CL101" in codes(HEAD + WHILE.format(test=test, count=count))) is found


TAPE = """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam(1e-3)
loss_fn = {made}
n = 4
total = [tf.Variable(tf.zeros_like(v)) for v in model.trainable_variables]
for i, (x, y) in enumerate(batches):
    with tf.GradientTape() as tape:
        loss = {loss}
    gradients = tape.gradient(loss, model.trainable_variables)
    for one, more in zip(total, gradients):
        one.assign_add({added})
    if (i + 1) % n == 0:
        optimizer.apply_gradients(zip({applied}, model.trainable_variables))
        for one in total:
            one.assign(tf.zeros_like(one))
"""
MSE = "tf.keras.losses.MeanSquaredError()"


@pytest.mark.parametrize(
    ("made", "loss", "added", "applied", "found"),
    [
        (MSE, "loss_fn(y, model(x))", "more", "total", True),
        (MSE, "tf.reduce_mean(tf.square(y - model(x)))", "more", "total", True),
        (MSE, "loss_fn(y, model(x)) / n", "more", "total", False),
        (MSE, "loss_fn(y, model(x))", "more / n", "total", False),
        (MSE, "loss_fn(y, model(x))", "more", "[one / n for one in total]", False),
        (MSE, "loss_fn(y, model(x))", "more", "[tf.divide(one, n) for one in total]", False),
        (MSE, "tf.reduce_sum(tf.square(y - model(x)))", "more", "total", False),
        (MSE, "compute(y, model(x))", "more", "total", False),
        (MSE[:-1] + "reduction='sum')", "loss_fn(y, model(x))", "more", "total", False),
        (MSE[:-1] + "reduction='none')", "loss_fn(y, model(x))", "more", "total", False),
    ],
)
def test_sums_that_tensorflow_programs_keep(
    made: str, loss: str, added: str, applied: str, found: bool
) -> None:
    text = TAPE.format(made=made, loss=loss, added=added, applied=applied)
    assert ("CL101" in codes(text)) is found


def test_gradients_of_a_tape_that_are_applied_at_once() -> None:
    text = TAPE.format(made=MSE, loss="loss_fn(y, model(x))", added="more", applied="total")
    head, rest = text.split("    if (i + 1)")
    once = "    optimizer.apply_gradients(zip(gradients, model.trainable_variables))\n"
    assert "CL101" not in codes(head.split("    for one")[0] + once)
    assert "if (i" not in rest


UNSEEN = "from models import make, build_criterion\nmodel, criterion = make(), build_criterion()"


@pytest.mark.parametrize(
    ("loss", "found"),
    [
        ("total, avg_loss, tokens = criterion(model(x), y)\n    loss = avg_loss", True),
        ("sums, mean_cost, n = criterion(model(x), y, sample_size=4)\n    loss = mean_cost", True),
        ("total, loss, sample_size = criterion(model(x), y)", False),
        ("total, avg_loss, tokens = prepare(model(x), y)\n    loss = avg_loss", False),
        ("out = model(x)\n    parts = out['losses']\n    loss = parts['loss']", True),
        ("out = model(x)\n    parts = out['losses']\n    loss = parts['weights']", False),
        ("out = prepare(x)\n    parts = out['losses']\n    loss = parts['loss']", False),
    ],
)
def test_what_names_say_of_a_container_of_losses(loss: str, found: bool) -> None:
    assert ("CL101" in codes(program(loss, UNSEEN))) is found


def test_a_name_that_a_round_assigns_anew_has_no_value_of_the_round_before() -> None:
    renewed = "if flag:\n        loss = F.cross_entropy(model(x), y)\n        loss.backward()"
    text = program(renewed, UNSEEN).replace("    loss.backward()\n    if", "    if")
    assert "CL101" in codes(text + "    loss, other = meter.update(loss)\n")
    kept = text.replace("        loss = F.cross_entropy(model(x), y)\n", "")
    kept = kept.replace("for i,", "loss = F.cross_entropy(model(0), 1)\nfor i,")
    assert "CL101" not in codes(kept + "    loss, other = meter.update(loss)\n")
