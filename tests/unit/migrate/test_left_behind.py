"""What a script does besides its steps is told, and what only looks like it is not."""

from __future__ import annotations

import pytest

import migration_sources
from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import migrate_across
from crosscast_migrate.left_behind import KINDS, left_behind
from crosscast_migrate.report import report

LEFT = {
    'torch.save(model.state_dict(), "model.pt")': "checkpoints",
    'model.load_state_dict(torch.load("model.pt"))': "pretrained or saved weights",
    "for weight in model.parameters():\n    weight.requires_grad = False": "frozen weights",
    "for weight in model.parameters():\n    weight.requires_grad = not fixed": "frozen weights",
    "for weight in model.parameters():\n    weight.requires_grad_(False)": "frozen weights",
    "with torch.no_grad():\n    model(inputs)": "evaluation",
    "import wandb\nwandb.init()": "logging",
    "from torch.utils.tensorboard import SummaryWriter\nSummaryWriter()": "logging",
    "from torchvision import transforms\ntransforms.ToTensor()": "preparation of the data",
    "torch.utils.data.random_split(rows, [1, 2])": "sampling of rows",
    "torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)": "schedule by a callback",
}
KERAS = """
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True){compile})
model.fit(x, y{fit})
"""


def told(text: str) -> list[str]:
    across = migrate_across([Source("train.py", text)], ["paddle"])
    return [entry["what"] for entry in report(across)["not_carried"]]


@pytest.mark.parametrize(("line", "what"), LEFT.items())
def test_it_is_told(line: str, what: str) -> None:
    text = f"{migration_sources.TORCH}\n{line}\n"
    assert what in told(text)
    assert what not in told(migration_sources.TORCH)


@pytest.mark.parametrize(
    ("fit", "what"),
    [
        (", validation_split=0.1", "evaluation"),
        (", sample_weight=weights", "weights of rows"),
        (", callbacks=[keras.callbacks.EarlyStopping()]", "early stopping"),
        (', callbacks=[keras.callbacks.ModelCheckpoint("m")]', "checkpoints"),
        (", callbacks=[keras.callbacks.LearningRateScheduler(rate)]", "schedule by a callback"),
    ],
)
def test_arguments_of_fit_are_told(fit: str, what: str) -> None:
    assert what in told(KERAS.format(compile="", fit=fit))
    assert what not in told(KERAS.format(compile="", fit=""))


def test_metrics_are_told() -> None:
    assert "metrics" in told(KERAS.format(compile=', metrics=["accuracy"]', fit=""))


def test_look_alikes_are_not() -> None:
    more = (
        "def evaluate(model):\n    return model\n\nevaluate(model)\nweight.requires_grad = True\n"
    )
    assert told(migration_sources.TORCH + more) == told(migration_sources.TORCH)


def test_a_kind_is_told_once_with_its_first_places() -> None:
    text = migration_sources.TORCH + '\ntorch.save(model, "a")' * 5
    across = migrate_across([Source("train.py", text)], ["paddle"])
    (found,) = left_behind(across.lifted.analysis.subject.program)
    assert len(found.places) == 3
    assert {kind.instead for kind in KINDS if kind.what == "checkpoints"} == {found.kind.instead}


def test_rows_that_a_loop_reads_from_a_file_are_no_weights() -> None:
    for rows in (
        'for a, b in torch.load("rows.pt"):\n    print(a)',
        'rows = torch.load("rows.pt")\nfor number, row in enumerate(rows):\n    print(row)',
    ):
        assert "pretrained or saved weights" not in told(f"{migration_sources.TORCH}\n{rows}\n")
    weights = 'saved = torch.load("model.pt")\nmodel.load_state_dict(saved)'
    assert "pretrained or saved weights" in told(f"{migration_sources.TORCH}\n{weights}\n")


FLUID = """
import paddle.fluid as fluid

mask = fluid.layers.matmul(words, words, transpose_y=True)
mask.stop_gradient = True
kept = {{}}
for weight in program.global_block().all_parameters():
    kept[weight.name] = weight * 1.0
    kept[weight.name].stop_gradient = True
{line}
loss = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, labels))
fluid.optimizer.SGD(0.1).minimize(loss)
"""


@pytest.mark.parametrize(
    ("line", "frozen"),
    [
        ("", False),
        ("weight.stop_gradient = True", True),
        ("model.embedding.weight.stop_gradient = True", True),
    ],
)
def test_results_that_pass_no_gradient_are_no_frozen_weights(line: str, frozen: bool) -> None:
    across = migrate_across([Source("train.py", FLUID.format(line=line))], ["torch"])
    found = [entry["what"] for entry in report(across)["not_carried"]]
    assert ("frozen weights" in found) is frozen


CLASSES = """
import keras
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
model.compile("sgd", keras.losses.{loss}(from_logits=True))
model.fit(x, y, class_weight={weights})
"""


@pytest.mark.parametrize(
    ("loss", "weights", "found", "left"),
    [
        ("SparseCategoricalCrossentropy", "{0: 1.0, 2: 3.0, 1: 2}", (1.0, 2.0, 3.0), set()),
        ("SparseCategoricalCrossentropy", "None", (), set()),
        ("SparseCategoricalCrossentropy", "weights", (), {"loss.class_weights"}),
        ("SparseCategoricalCrossentropy", "{1: 2.0}", (), {"loss.class_weights"}),
        ("BinaryCrossentropy", "{0: 1.0, 1: 2.0}", None, {"loss.kind"}),
    ],
)
def test_weights_of_classes_are_those_of_the_recipe(
    loss: str, weights: str, found: tuple[float, ...] | None, left: set[str]
) -> None:
    text = CLASSES.format(loss=loss, weights=weights)
    across = migrate_across([Source("train.py", text)], ["paddle"])
    assert tuple(getattr(across.recipe.loss, "class_weights", ())) == (found or ())
    assert {path for path in across.fill_in if path.startswith("loss.")} == left


AGAIN = """
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y)
"""


@pytest.mark.parametrize(
    ("more", "told_of"),
    [
        (AGAIN, True),
        (AGAIN.replace("model.fit(x, y)", ""), False),
        ("model.fit(x, y)\n", False),
        (AGAIN.replace("model.", "other."), False),
    ],
)
def test_a_second_training_with_other_settings_is_told(more: str, told_of: bool) -> None:
    text = KERAS.format(compile="", fit="") + more
    across = migrate_across([Source("train.py", text)], ["paddle"])
    assert any(d.code == "CC937" for d in across.diagnostics) == told_of


SAVED = {
    f"{migration_sources.TORCH}\nmodel.eval()\n": "evaluation",
    KERAS.format(compile="", fit="") + 'model.save("m.keras")\n': "checkpoints",
    f"{migration_sources.TORCH}\nimage.save('a.png')\n": "",
}


@pytest.mark.parametrize(("text", "what"), SAVED.items())
def test_evaluation_mode_and_whole_models_are_told(text: str, what: str) -> None:
    found = set(told(text)) & {"evaluation", "checkpoints"}
    assert found == ({what} if what else set())
