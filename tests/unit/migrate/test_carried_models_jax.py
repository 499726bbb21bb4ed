"""Models of Flax NNX that are read: from the derivatives of a loop to layers; what is refused."""

from __future__ import annotations

import pytest

from carried_models import CASES, Case, network_read, program_of_jax
from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import migrate_across
from crosscast_migrate.models.network import Initial, Network, UnreadableError
from crosscast_migrate.models.writing import written

HEAD = """
from functools import partial

import jax
import jax.numpy as jnp
import optax
from flax import nnx

"""
NET = """
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 8, rngs=rngs)
        self.layer = {layer}
        self.head = nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, x):
        x = self.fc(x)
        return {result}

"""
STEP = """
def loss_fn(model, batch):
    logits = model(batch["x"])
    return optax.softmax_cross_entropy_with_integer_labels(logits, batch["labels"]).mean()


@nnx.jit
def train_step(model, optimizer, batch):
    loss, gradients = nnx.value_and_grad(loss_fn)(model, batch)
    optimizer.update(model, gradients)
    return loss

"""
LOOP = """
model = Net(rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
for batch in loader:
    train_step(model, optimizer, batch)
"""
RESULT = "self.head(self.layer(x))"


def read(
    layer: str = "nnx.Dropout(0.5, rngs=rngs)",
    result: str = RESULT,
    step: str = STEP,
    loop: str = LOOP,
) -> Network:
    return network_read(HEAD + NET.format(layer=layer, result=result) + step + loop, "jax")


def kinds(network: Network) -> list[str]:
    return [network.kind_of(step) for step in network.steps]


USUAL = ["linear", "dropout", "linear"]
GRADIENTS = "loss, gradients = nnx.value_and_grad(loss_fn)(model, batch)"
CALL = 'logits = model(batch["x"])'
FORMS = {
    "a name for the derivative": (
        GRADIENTS,
        "derivative = nnx.value_and_grad(loss_fn)\n    loss, gradients = derivative(model, batch)",
    ),
    "gradients alone": (GRADIENTS, "loss, gradients = 0.0, nnx.grad(loss_fn)(model, batch)"),
    "a function inside": (
        GRADIENTS,
        "def inner(model):\n        return loss_fn(model, batch)\n\n"
        "    loss, gradients = nnx.value_and_grad(inner)(model)",
    ),
    "a lambda": (
        GRADIENTS,
        "loss, gradients = nnx.value_and_grad(lambda m: loss_fn(m, batch))(model)",
    ),
    "a part of the weights": (
        GRADIENTS,
        "part = nnx.DiffState(0, nnx.Param)\n"
        "    loss, gradients = nnx.value_and_grad(loss_fn, argnums=part)(model, batch)",
    ),
    "JAX' own": (GRADIENTS, "loss, gradients = jax.value_and_grad(loss_fn)(model, batch)"),
    "random numbers of the call": (CALL, 'logits = model(batch["x"], rngs=batch["rngs"])'),
    "a type": (CALL, 'logits = model(batch["x"]).astype(jnp.float32)'),
    "a measure beside the loss": (
        CALL,
        f'{CALL}\n    right = jnp.argmax(logits, -1) == batch["labels"]',
    ),
}


@pytest.mark.parametrize(("old", "new"), FORMS.values(), ids=FORMS)
def test_a_model_is_found_in_what_is_differentiated(old: str, new: str) -> None:
    assert STEP.count(old) == 1
    assert kinds(read(step=STEP.replace(old, new))) == USUAL


COMPUTED = {
    "before": (CALL, f"{CALL} / 2.0"),
    "by a name": (CALL, f"{CALL}\n    scaled = logits / 2.0\n    logits = scaled"),
    "by a function": (CALL, f"{CALL}\n    logits = jnp.log1p(logits)"),
    "in what is returned": ("integer_labels(logits,", "integer_labels(logits / 2.0,"),
    "in one of two results": (
        'return optax.softmax_cross_entropy_with_integer_labels(logits, batch["labels"]).mean()',
        "return optax.softmax_cross_entropy_with_integer_labels(logits[:, ::-1], y).mean(), logits",
    ),
}


@pytest.mark.parametrize(("old", "new"), COMPUTED.values(), ids=COMPUTED)
def test_what_a_loss_computes_of_the_outputs_is_refused(old: str, new: str) -> None:
    assert STEP.count(old) == 1
    with pytest.raises(UnreadableError, match="not what the model returns"):
        read(step=STEP.replace(old, new))


def test_an_operation_of_a_table_before_the_loss_is_part_of_the_model() -> None:
    step = STEP.replace(CALL, f"{CALL}\n    logits = nnx.tanh(logits)")
    assert kinds(read(step=step)) == [*USUAL, "tanh"]


TEACHER = """
class Other(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)


teacher = Other(rngs=nnx.Rngs(1))
"""


def test_a_second_model_in_the_loss_is_refused() -> None:
    with pytest.raises(UnreadableError, match="calls several models"):
        read(step=TEACHER + STEP.replace(CALL, f'{CALL}\n    t = teacher(batch["x"])'))
    handed = STEP.replace("(model, batch):", "(model, batch, other):", 1)
    handed = handed.replace(CALL, f'{CALL}\n    t = other(batch["x"])')
    step = handed.replace("(loss_fn)(model, batch)", "(loss_fn)(model, batch, teacher)")
    with pytest.raises(UnreadableError, match="calls several models"):
        read(step=TEACHER + step)
    sorted_ones = STEP.replace(CALL, f"{CALL}\n    names = sorted(batch)")
    assert kinds(read(step=sorted_ones)) == USUAL


UNSEEN = {
    "many models at once": STEP.replace(CALL, 'logits = jax.vmap(model)(batch["x"])'),
    "another parameter": STEP.replace("(loss_fn)", "(loss_fn, argnums=1)"),
    "a parameter that is not known": STEP.replace("(loss_fn)", "(loss_fn, argnums=which)"),
}


@pytest.mark.parametrize("step", UNSEEN.values(), ids=UNSEEN)
def test_a_model_that_is_not_seen_is_refused(step: str) -> None:
    with pytest.raises(UnreadableError):
        read(step=step)


REFUSED = {
    "nnx.ConvTranspose(8, 8, (3,), rngs=rngs)": "flax.nnx.ConvTranspose is not in the table",
    "nnx.GroupNorm(8, num_groups=2, rngs=rngs)": "flax.nnx.GroupNorm is not in the table",
    "nnx.RMSNorm(8, rngs=rngs)": "flax.nnx.RMSNorm is not in the table",
    "nnx.MultiHeadAttention(2, 8, normalize_qk=True, rngs=rngs)": "normalize_qk other than",
    "nnx.LinearGeneral(8, (2, 4), rngs=rngs)": "flax.nnx.LinearGeneral is not in the table",
    "nnx.RNN(nnx.ConvLSTMCell(8, 8, rngs=rngs))": "flax.nnx.ConvLSTMCell is not in the table",
    "nnx.RNN(nnx.LSTMCell(8, 8, rngs=rngs), reverse=True)": "in the order backwards",
    "nnx.Param(jnp.zeros((8, 8)))": "",
    'nnx.Conv(8, 8, (3,), padding="CIRCULAR", rngs=rngs)': "padding 'CIRCULAR' is not carried",
    'nnx.Conv(8, 8, (3,), padding="CAUSAL", rngs=rngs)': "padding 'CAUSAL' is not carried",
    "nnx.Conv(8, 8, (3,), mask=mask, rngs=rngs)": "mask other than its default",
    "nnx.Conv(8, 8, (3,), input_dilation=2, rngs=rngs)": "input_dilation other than its default",
    "nnx.Conv(8, 8, (3, 3), padding=((1, 1),), rngs=rngs)": "is no size of 2 axes",
    "nnx.Linear(8, 8, dot_general=own, rngs=rngs)": "dot_general other than its default",
    "nnx.BatchNorm(8, use_scale=False, rngs=rngs)": "with either a weight or a bias",
    'nnx.BatchNorm(8, axis_name="batch", rngs=rngs)': "axis_name other than its default",
    "nnx.BatchNorm(8, use_running_average=True, rngs=rngs)": "use_running_average other than",
    "nnx.LayerNorm(8, reduction_axes=(-2, -1), rngs=rngs)": "reduction_axes other than",
    "nnx.Dropout(0.5, broadcast_dims=(1,), rngs=rngs)": "broadcast_dims other than its default",
    "nnx.Dropout(0.5, deterministic=True, rngs=rngs)": "deterministic other than its default",
}


@pytest.mark.parametrize(("layer", "reason"), REFUSED.items())
def test_a_layer_that_means_something_else_is_refused(layer: str, reason: str) -> None:
    with pytest.raises(UnreadableError) as refusal:
        read(layer)
    assert reason in refusal.value.reason


STEPS = {
    "self.head(self.layer(x, deterministic=True))": "deterministic of the call of a layer",
    "self.head(jax.lax.stop_gradient(x))": "jax.lax.stop_gradient is not in the table",
    "self.head(jax.checkpoint(self.layer)(x))": "",
    "jnp.where(x, x, x * 0.1)": "a choice between two values",
    "jnp.where(x > 0, 1.0, 0.0)": "a choice between two values",
    "self.head(x).flatten()": "the method flatten of a value",
    "jnp.mean(self.head(x))": "over all numbers is not carried",
    "jnp.pad(x, ((0, 0), (1, 1)))": "padding of the rows or the channels",
    "jnp.pad(x, 1)": "padding of the rows or the channels",
    'jnp.pad(x, ((0, 0), (1, 1), (0, 0)), mode="edge")': "mode other than its default",
    "nnx.softmax(x, where=x > 0)": "where other than its default",
    "self.head(x.T)": "",
    "self.head(x.astype(jnp.int32))": "made a whole number",
    "self.head(jnp.squeeze(x, axis=(-1, 1)))": "counted from the first",
    "self.head(jnp.squeeze(x))": "axis is missing",
}


@pytest.mark.parametrize(("result", "reason"), STEPS.items())
def test_a_forward_pass_that_is_not_certain_is_refused(result: str, reason: str) -> None:
    with pytest.raises(UnreadableError) as refusal:
        read(result=result)
    assert reason in refusal.value.reason


INITIALS = {
    "": Initial("truncated_normal", 0.5 / 0.87962566103423978),
    "kernel_init=nnx.initializers.zeros": Initial("constant", 0.0),
    "kernel_init=nnx.initializers.zeros_init()": Initial("constant", 0.0),
    "kernel_init=nnx.initializers.constant(0.3)": Initial("constant", 0.3),
    "kernel_init=nnx.initializers.normal()": Initial("normal", 0.01),
    "kernel_init=jax.nn.initializers.normal(0.02)": Initial("normal", 0.02),
    "kernel_init=nnx.initializers.truncated_normal(stddev=0.1)": Initial("truncated_normal", 0.1),
    "kernel_init=nnx.initializers.xavier_uniform()": Initial("uniform", 0.5**0.5),
    "kernel_init=nnx.initializers.variance_scaling(2.0, 'fan_out', 'normal')": Initial(
        "normal", 0.5
    ),
    "kernel_init=even": Initial("uniform", 0.2),
    "kernel_init=nnx.initializers.uniform(0.1)": None,
    "kernel_init=nnx.initializers.orthogonal()": None,
    "kernel_init=nnx.initializers.normal(std)": None,
    "kernel_init=nnx.initializers.he_normal(in_axis=0)": None,
    "kernel_init=nnx.initializers.variance_scaling(2.0, 'fan_in')": None,
    "kernel_init=nnx.initializers.truncated_normal(0.1, lower=-1.0)": None,
}
EVEN = """
def even(key, shape, dtype=jnp.float32):
    return jax.random.uniform(key, shape, dtype, -0.2, 0.2)

"""


@pytest.mark.parametrize(("argument", "initial"), INITIALS.items())
def test_initial_weights_follow_the_source(argument: str, initial: Initial | None) -> None:
    fc = f"nnx.Linear(4, 8, {argument}{', ' if argument else ''}rngs=rngs)"
    net = NET.format(layer="nnx.Linear(8, 8, rngs=rngs)", result=RESULT)
    text = HEAD + EVEN + net.replace("nnx.Linear(4, 8, rngs=rngs)", fc) + STEP + LOOP
    network = network_read(text, "jax")
    drawn = network.layers[0].initial["weight"]
    if initial is None:
        assert drawn is None
        assert network.notes == ("what the weight of fc starts from is not carried",)
        return
    assert drawn is not None
    assert drawn.name == initial.name
    assert drawn.number == pytest.approx(initial.number)
    assert network.layers[0].initial["bias"] == Initial("constant", 0.0)


def test_an_embedding_starts_from_its_width() -> None:
    net = "nnx.Embed(10, 4, rngs=rngs)"
    text = HEAD + NET.format(layer="nnx.Linear(8, 8, rngs=rngs)", result="self.head(x)")
    text = text.replace("nnx.Linear(4, 8, rngs=rngs)", net).replace("Linear(8, 3", "Linear(4, 3")
    assert network_read(text + STEP + LOOP, "jax").layers[0].initial == {
        "weight": Initial("normal", 0.5)
    }


def test_normalizations_start_as_in_the_source() -> None:
    layer = "nnx.BatchNorm(8, scale_init=nnx.initializers.zeros, rngs=rngs)"
    text = written(read(layer), "torch")
    assert "nn.init.constant_(self.layer.weight, 0.0)" in text
    assert "nn.BatchNorm1d(8, momentum=0.01)" in text


def test_a_padding_of_tensorflow_needs_the_size_of_the_image() -> None:
    """Flax pads so by default, and no program of Flax says how large its images are."""
    layer = "nnx.Conv(4, 8, (3, 3), strides=2, rngs=rngs)"
    net = NET.format(layer="nnx.relu", result="self.head(self.layer(x).mean((1, 2)))")
    text = HEAD + net.replace("nnx.Linear(4, 8, rngs=rngs)", layer) + STEP + LOOP
    network = network_read(text, "jax")
    assert 'padding="SAME"' in written(network, "jax")
    assert 'padding="same"' in written(network, "tensorflow")
    with pytest.raises(UnreadableError, match="depends on the size of the image"):
        written(network, "torch")


def test_the_derivative_of_its_leaky_relu_at_zero_is_told() -> None:
    network = read("nnx.leaky_relu")
    assert "derivative of leaky_relu at 0" in network.notes[0]
    assert "F.leaky_relu(x, 0.01)" in written(network, "torch")


@pytest.mark.parametrize(
    "case", [case for case in CASES if "jax" not in case.refused], ids=lambda case: case.name
)
def test_what_is_written_is_read_as_it_was_written(case: Case) -> None:
    text = written(case.network(), "jax")
    unread = (
        "jax.lax.scan(",
        "jnp.tril(",
        "jnp.broadcast_to(",
    )  # of shapes, and of recurrent layers
    if any(word in text for word in unread):
        with pytest.raises(UnreadableError):
            network_read(program_of_jax(text, case.network().inputs), "jax")
        return
    text = text.replace("pe_numbers", "constant_numbers").replace("`pe`", "`constant`")
    again = network_read(program_of_jax(text, case.network().inputs), "jax")
    assert written(again, "jax") == text
    assert again.notes == ()


SAID = {"schedule.total_steps": 10, "batch.micro_batch_size": 8}


def test_what_a_program_of_jax_does_not_say_is_left_to_the_user() -> None:
    text = HEAD + NET.format(layer="nnx.Dropout(0.5, rngs=rngs)", result=RESULT) + STEP + LOOP
    across = migrate_across([Source("train.py", text)], ["torch"], settings=SAID)
    assert "self.layer = nn.Dropout(0.5)" in across.files["torch/own_model.py"].text
    assert "data.train" in across.fill_in
    assert "loss.kind" not in across.fill_in
    assert across.recipe.loss.kind == "cross_entropy"
    assert "model.factory.torch" not in across.fill_in
    assert across.recipe.optimizer.name == "sgd"


FILTERS = {
    "wrt=nnx.Param": 0,
    "wrt=nnx.LoRAParam": 1,
    'wrt=nnx.All(nnx.Param, nnx.PathContains("head"))': 1,
}


@pytest.mark.parametrize(("argument", "told"), FILTERS.items())
def test_weights_that_are_not_trained_are_told(argument: str, told: int) -> None:
    net = NET.format(layer="nnx.Dropout(0.5, rngs=rngs)", result=RESULT)
    text = HEAD + net + STEP + LOOP.replace("wrt=nnx.Param", argument)
    across = migrate_across([Source("train.py", text)], ["torch"], settings=SAID)
    messages = [d.message for d in across.diagnostics if d.code == "CC938"]
    assert len(messages) == told
    assert all("the new script trains every weight" in message for message in messages)


AXES = {
    "jnp.squeeze(x.reshape(-1, 1, 8, 1), axis=(1, 3))": ["squeeze", "squeeze"],
    "jnp.expand_dims(x, (1, 2)).squeeze(2).squeeze(1)": ["unsqueeze"] * 2 + ["squeeze"] * 2,
}


@pytest.mark.parametrize(("value", "expected"), AXES.items())
def test_several_axes_of_one_are_taken_one_by_one(value: str, expected: list[str]) -> None:
    network = read("nnx.relu", f"self.head({value})")
    assert [kind for kind in kinds(network) if "squeeze" in kind] == expected
    axes = [step.settings["axis"] for step in network.steps if step.kind == "squeeze"]
    assert axes == sorted(axes, reverse=True)
