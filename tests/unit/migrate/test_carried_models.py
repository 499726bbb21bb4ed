"""Models that are read: what is carried, what is refused and why, and how it is written."""

from __future__ import annotations

import ast

import pytest

from carried_models import BACKENDS, CASES, Case, network_read
from crosscast_migrate.models.calls import COMPOSED
from crosscast_migrate.models.graph import KEPT
from crosscast_migrate.models.installed import model_tables
from crosscast_migrate.models.network import Initial, UnreadableError
from crosscast_migrate.models.writing import notes, written

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
LOOP = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, labels in loader:
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), labels)
    loss.backward()
    optimizer.step()
"""
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return {result}
"""


def program(made: str, result: str = "self.fc(x)") -> str:
    return f"{HEAD}{NET.format(result=result)}\n{made}\n{LOOP}"


def kinds(text: str) -> list[str]:
    network = network_read(text, "torch")
    return [network.kind_of(step) for step in network.steps]


REFUSED = {
    "model = Net() if flag else nn.Linear(4, 3)": "is not known",
    "model = Net()\nif flag:\n    model = nn.Linear(4, 3)": "a condition that is not known",
    "model = Net()\nif flag:\n    model.fc = nn.Linear(4, 5)": "a condition that is not known",
    "model = nn.Sequential(nn.Linear(4, 3))\nmodel[0] = other()": "is assigned to",
    "model = nn.Sequential(*layers_of(3))": "layers_of(3) is not known",
    "model = nn.Sequential(nn.Linear(4, width), nn.ReLU())": "out_features of a layer",
    "model = nn.Sequential(nn.Conv2d(3, 4, 3, padding_mode='reflect'))": "padding_mode",
    "model = nn.LSTMCell(4, 3)": "torch.nn.LSTMCell is not in the table",
    "model = wrapped(Net())": "wrapped(Net()) is not known",
    "model = nn.Sequential(dict(other()))": "",
    "net = Net()\nnet.fc.weight = other()\nmodel = nn.Sequential(net)": "is assigned to",
}


@pytest.mark.parametrize(("made", "reason"), REFUSED.items())
def test_what_is_not_certain_is_refused_with_a_reason(made: str, reason: str) -> None:
    with pytest.raises(UnreadableError) as refusal:
        network_read(program(made), "torch")
    assert reason in refusal.value.reason


STEPS = {
    "x.sort()": "the method sort of a value",
    "torch.fft.fft(x)": "torch.fft.fft is not in the table",
    "self.fc(x) if x.mean(1) > 0 else x": "is not known",
    "(self.fc(x), x)": "does not return one value",
    "self.fc(x).view(-1)": "the first axis must stay that of the rows",
    "F.relu(self.fc(x), unknown=True)": "the argument unknown is not in the table",
    "x[1:]": "this part of a value is not carried",
}


@pytest.mark.parametrize(("result", "reason"), STEPS.items())
def test_a_forward_pass_that_is_not_certain_is_refused(result: str, reason: str) -> None:
    with pytest.raises(UnreadableError) as refusal:
        network_read(program("model = Net()", result), "torch")
    assert reason in refusal.value.reason


@pytest.mark.parametrize(
    "made",
    [
        "model = Net().to('cuda')",
        "model = Net()\nif torch.cuda.is_available():\n    model = model.cuda()",
        "model = Net()\nif args.parallel:\n    model = nn.DataParallel(model)",
        "model = torch.compile(Net())",
        "net = Net()\nmodel = net\nprint(model)",
        "def make():\n    return Net()\n\nmodel = make()",
    ],
)
def test_what_does_not_change_a_model_is_followed(made: str) -> None:
    assert kinds(program(made)) == ["linear"]


def test_what_a_function_does_to_a_model_is_told_where_it_is_not_read() -> None:
    text = program("model = Net()\nlibrary.prepare(model)")
    network = network_read(text, "torch")
    assert network.notes == ()  # a library's function that is not known: it returns nothing here
    changed = "def prepare(m):\n    m.fc.weight.data[0] = 1\n\nmodel = Net()\nprepare(model)"
    assert "prepare(model)" in network_read(program(changed), "torch").notes[0]


def test_initial_weights_follow_the_source() -> None:
    fill = "model = Net()\nnn.init.xavier_uniform_(model.fc.weight)\nnn.init.zeros_(model.fc.bias)"
    (layer,) = network_read(program(fill), "torch").layers
    assert layer.initial["weight"] == Initial("uniform", (6 / 7) ** 0.5)
    assert layer.initial["bias"] == Initial("constant", 0.0)
    strange = "model = Net()\nnn.init.orthogonal_(model.fc.weight)"
    network = network_read(program(strange), "torch")
    assert network.layers[0].initial["weight"] is None
    assert network.notes == ("what the weight of fc starts from is not carried",)


NORMS = {
    "torch": ["nn.BatchNorm1d(3)", "nn.init.constant_(self.layer_1.weight, 0.0)"],
    "paddle": ["nn.BatchNorm1D(3, weight_attr=nn.initializer.Constant(0.0))"],
    "tensorflow": ["gamma_initializer=keras.initializers.Constant(0.0)"],
    "jax": ["scale_init=nnx.initializers.constant(0.0)"],
}


@pytest.mark.parametrize(("target", "expected"), NORMS.items())
def test_normalizations_start_as_in_the_source(target: str, expected: list[str]) -> None:
    fill = "model = nn.Sequential(nn.Linear(7, 3), nn.BatchNorm1d(3))\n"
    network = network_read(program(f"{fill}nn.init.zeros_(model[1].weight)"), "torch")
    text = written(network, target)
    assert all(part in text for part in expected)


IN_A_LOOP = {
    "layers = []\nfor _ in range(2):\n    layers.append(nn.Linear(4, 4))\n"
    "model = nn.Sequential(*layers)": 2,
    "model = nn.Sequential()\nfor n in range(3):\n    model.add_module(str(n), nn.Linear(4, 4))": 3,
    "layers = []\nfor _ in range(2):\n    layers += [nn.Linear(4, 4)]\nelse:\n"
    "    layers += [nn.Linear(4, 3)]\nmodel = nn.Sequential(*layers)": 3,
}


@pytest.mark.parametrize(("made", "layers"), IN_A_LOOP.items())
def test_a_script_may_make_its_layers_in_a_loop(made: str, layers: int) -> None:
    assert kinds(program(made)) == ["linear"] * layers


def test_a_loop_that_cannot_be_computed_leaves_its_layers_unknown() -> None:
    made = "layers = [nn.Linear(4, 4)]\nfor n in sizes:\n    layers.append(nn.Linear(n, 4))\n"
    with pytest.raises(UnreadableError):
        network_read(program(f"{made}model = nn.Sequential(*layers)"), "torch")
    fill = "model = Net()\nfor w in model.parameters():\n    nn.init.orthogonal_(w)"
    assert "nn.init.orthogonal_" in network_read(program(fill), "torch").notes[0]


CHANGED = {
    "with torch.no_grad():\n            x = self.fc(x)\n        return x": "is not trained",
    "h = self.fc(x)\n        F.relu_(h)\n        return h": "changed in place",
    "h = self.fc(x)\n        return F.relu(h, inplace=True) + h": "changed in place",
    "h = self.fc(x)\n        old = h\n        h += 1\n        return h * old": "changed in place",
}


@pytest.mark.parametrize(("body", "reason"), CHANGED.items())
def test_what_a_forward_pass_does_beside_its_values_is_refused(body: str, reason: str) -> None:
    text = program("model = Net()", "RESULT").replace("return RESULT", body)
    with pytest.raises(UnreadableError) as refusal:
        network_read(text, "torch")
    assert reason in refusal.value.reason


def test_a_value_that_is_not_used_again_may_be_changed_in_place() -> None:
    text = program("model = Net()", "F.relu(self.fc(x), inplace=True)")
    assert [step.kind for step in network_read(text, "torch").steps] == ["layer", "relu"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("nn.utils.spectral_norm(self.fc)", "spectral_norm does to a layer"),
        ("self.fc.register_forward_hook(print)", "register_forward_hook does to a layer"),
        ("self.fc.eval()", "always evaluates"),
    ],
)
def test_what_a_constructor_does_to_a_layer_is_refused(line: str, reason: str) -> None:
    made = "self.fc = nn.Linear(4, 3)"
    text = program("model = Net()").replace(made, f"{made}\n        {line}")
    with pytest.raises(UnreadableError) as refusal:
        network_read(text, "torch")
    assert reason in refusal.value.reason


def test_a_model_with_a_train_method_of_its_own_is_refused() -> None:
    own = "    def train(self, mode=True):\n        return super().train(False)\n\n    def forward"
    with pytest.raises(UnreadableError, match=r"train\(\) of its own"):
        network_read(program("model = Net()").replace("    def forward", own), "torch")


@pytest.mark.parametrize(
    ("used", "reason"),
    [
        ("model(x, 3.0)", "passes more"),
        ("model(x, scale=3.0)", "passes more"),
        ("model(x) / 2.0", "not what the model returns"),
        ("model(x)[:, ::-1]", "not what the model returns"),
        ("torch.log1p(model(x))", "not what the model returns"),
        ("model(x).squeeze()", "not what the model returns"),
    ],
)
def test_what_the_loop_computes_around_the_model_is_refused(used: str, reason: str) -> None:
    text = program("model = Net()").replace("forward(self, x)", "forward(self, x, scale=1.0)")
    with pytest.raises(UnreadableError) as refusal:
        network_read(text.replace("entropy(model(x)", f"entropy({used}"), "torch")
    assert reason in refusal.value.reason


@pytest.mark.parametrize("made", ["nn.Sequential(self, Net())", "self.build()"])
def test_a_model_that_depends_on_an_unseen_trainer_is_refused(made: str) -> None:
    step = LOOP.strip().replace("\n", "\n        ")
    trainer = (
        "class Trainer:\n    def build(self):\n        return Net(self)\n\n"
        f"    def fit(self, loader):\n        model = {made}\n        "
    )
    with pytest.raises(UnreadableError):
        network_read(f"{HEAD}{NET.format(result='self.fc(x)')}\n{trainer}{step}\n", "torch")


def between(line: str, loss: str) -> str:
    """Return a program that names what its model returns, with a line before the loss."""
    lines = ("outputs = model(x)", line, f"loss = {loss}")
    step = "".join(f"    {each}\n" for each in lines)
    return program("model = Net()").replace("    loss = F.cross_entropy(model(x), labels)\n", step)


@pytest.mark.parametrize(
    ("line", "loss"),
    [
        ("scaled = outputs / 2.0", "F.cross_entropy(scaled, labels)"),
        ("outputs = outputs / 2.0", "F.cross_entropy(outputs, labels)"),
        ("outputs /= 2.0", "F.cross_entropy(outputs, labels)"),
        ("chances = F.softmax(outputs, dim=axis)", "F.cross_entropy(chances, labels)"),
        ("outputs = outputs.squeeze()", "F.cross_entropy(outputs, labels)"),
        ("same = outputs", "F.cross_entropy(same * 2, labels)"),
        ("chances = F.softmax(outputs, dim=1)", "F.cross_entropy(chances / 2, labels)"),
    ],
)
def test_what_is_computed_under_a_name_before_the_loss_is_refused(line: str, loss: str) -> None:
    with pytest.raises(UnreadableError) as refusal:
        network_read(between(line, loss), "torch")
    assert "not what the model returns" in refusal.value.reason


@pytest.mark.parametrize(
    ("line", "loss"),
    [
        ("hits = (outputs.argmax(1) == labels).sum()", "F.cross_entropy(outputs, labels)"),
        ("error = (outputs - 1).abs().mean()", "F.cross_entropy(outputs, labels)"),
        ("logits = outputs", "F.cross_entropy(logits, labels)"),
        ("size = outputs.shape[0] * 2", "F.cross_entropy(outputs.float(), labels)"),
        ("chances = F.softmax(outputs, dim=1)", "F.cross_entropy(outputs, labels)"),
    ],
)
def test_what_is_measured_beside_the_loss_is_no_part_of_the_model(line: str, loss: str) -> None:
    assert network_read(between(line, loss), "torch").steps


KERAS = """
from tensorflow import keras
from tensorflow.keras import layers
i = keras.Input((4,))
h = {layer}
model = keras.Model(i, layers.Dense(3)(h))
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y)
"""


def test_a_layer_that_does_not_train_with_its_model_is_refused_or_told() -> None:
    with pytest.raises(UnreadableError, match="does not follow the model"):
        network_read(
            KERAS.format(layer="layers.BatchNormalization()(i, training=False)"), "tensorflow"
        )
    always = network_read(KERAS.format(layer="layers.Dropout(0.5)(i, training=True)"), "tensorflow")
    assert "training=True" in always.notes[0]
    assert kinds(program("model = Net()", "F.dropout(self.fc(x), training=False)")) == ["linear"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("target", BACKENDS)
def test_what_is_written_is_python(case: Case, target: str) -> None:
    if target in case.refused:
        with pytest.raises(UnreadableError, match=case.refused[target]):
            written(case.network(), target)
        return
    text = written(case.network(), target)
    assert max(map(len, text.splitlines())) <= 88
    names = [node.name for node in ast.parse(text).body if hasattr(node, "name")]
    assert names[-1] == "build_model"
    own = [name for name in case.network().inputs if name != "x"]
    assert all(name in text for name in own)


def test_every_row_of_reading_can_be_written_somewhere() -> None:
    """A kind without a row of writing would be refused everywhere."""
    # These become other operations.
    elsewhere = {"reshape_rows", "permute_rows", "identity", "pad_all", "pieces", "cell"}
    elsewhere |= set(COMPOSED)
    own = [model_tables()[backend] for backend in BACKENDS]
    for reading in (tables.reading for tables in own):
        assert reading is not None
        rows = (*reading.layers.values(), *reading.functions.values(), *reading.methods.values())
        for kind in {row.kind for row in rows} - elsewhere:
            for writing in (tables.writing for tables in own):
                assert writing is not None
                home = writing.layers if kind in KEPT else writing.operations
                assert kind in home or kind.startswith("adaptive"), kind


def test_every_row_of_writing_is_in_a_case() -> None:
    """What no case has is not compared with the source's model in a framework."""
    networks = [case.network() for case in CASES if set(case.refused) != set(BACKENDS)]
    used = {network.kind_of(step) for network in networks for step in network.steps}
    for tables in (model_tables()[backend] for backend in BACKENDS):
        assert tables.writing is not None
        elsewhere = {"zero_pad", "values", "recurrent_backward"}
        assert {*tables.writing.layers, *tables.writing.operations} - used <= elsewhere


FINE_TUNED = f"""{HEAD}from torchvision import models

model = models.resnet50(pretrained=True)
model.fc = nn.Linear(model.fc.in_features, 7)
{LOOP}"""


def test_a_model_of_a_library_is_its_namesake() -> None:
    network = network_read(FINE_TUNED, "torch")
    text = written(network, "paddle")
    assert "paddle.vision.models.resnet50(num_classes=7)" in text
    assert "keras.applications.ResNet50(" in written(network, "tensorflow")
    (told,) = notes(network, "paddle")
    assert told.startswith("the pretrained weights of resnet50")
    assert any("not the same function" in note for note in notes(network, "tensorflow"))
    with pytest.raises(UnreadableError, match="has no resnet18"):
        written(
            network_read(
                FINE_TUNED.replace("resnet50", "resnet18").replace(
                    "model.fc = nn.Linear(model.fc.in_features, 7)", ""
                ),
                "torch",
            ),
            "tensorflow",
        )
    other = FINE_TUNED.replace("nn.Linear(model.fc.in_features, 7)", "nn.Identity()")
    with pytest.raises(UnreadableError, match=r"resnet50.fc is replaced"):
        network_read(other, "torch")


DENSE = """
import paddle
from paddle import nn
from paddle.vision.models import densenet121

model = densenet121()
model.{head} = nn.Linear(1024, 7)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for x, labels in loader:
    loss = paddle.nn.functional.cross_entropy(model(x), labels)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


def test_the_last_layer_has_the_name_that_the_library_gives_it() -> None:
    network = network_read(DENSE.format(head="out"), "paddle")
    assert "torchvision.models.densenet121(num_classes=7)" in written(network, "torch")
    with pytest.raises(UnreadableError, match=r"densenet121.classifier is replaced"):
        network_read(DENSE.format(head="classifier"), "paddle")


@pytest.mark.parametrize(
    ("made", "result"),
    [
        ("nn.LSTMCell(4, 3)", "self.other(x)[0][:, -1, :]"),
        ("nn.Transformer(4, 3)", "self.fc(self.other(x)[0])"),
        ("nn.TransformerDecoderLayer(4, 2)", "x + self.other(x, x, x)[0]"),
        ("nn.Sequential(nn.GRUCell(4, 3))", "self.other(x).mean(1)"),
    ],
)
def test_a_layer_that_is_not_carried_is_named(made: str, result: str) -> None:
    text = program("model = Net()", result).replace(
        "        self.fc = nn.Linear(4, 3)\n",
        f"        self.fc = nn.Linear(4, 3)\n        self.other = {made}\n",
    )
    with pytest.raises(UnreadableError) as refusal:
        network_read(text, "torch")
    name = made.removeprefix("nn.Sequential(").partition("(")[0]
    assert f"torch.{name} is not in the table" in refusal.value.reason
