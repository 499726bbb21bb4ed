"""Rows of `fit` and of pipelines that are carried, and look-alikes that are refused.

The programs are those of `across_fits.md`, which tests/frameworks/test_across_programs.py runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crosscast_migrate.pipelines import SEVERAL
from unit.migrate.across_changes import moved, reasons

DIVIDES = "def divide(a):\n    a /= 255\n\n\n"
TWO_CLASSES = """class Other(SeriesDataset):
    def __getitem__(self, index):
        return self.series[index : index + 12], self.series[index : index + 1]


rows = SeriesDataset("series.npy")
if small:
    rows = Other("series.npy")
loader = DataLoader(rows"""
ROWS_REFUSED = {
    "keras_fit": [
        ("verbose=0", "verbose=0, sample_weight=w", "fit has sample_weight"),
        ("verbose=0", "verbose=0, validation_split=0.1", "fit has validation_split"),
        ("verbose=0", "verbose=0, steps_per_epoch=3", "fit has steps_per_epoch"),
        ("model.fit(", "model.fit(x_train, y_train)\nmodel.fit(", "different rows or"),
        (
            'data["x"].astype("float32"), data["y"]',
            "keras.datasets.mnist.load_data()",
            "the rows need keras.datasets.mnist.load_data()",
        ),
        ("x_train, y_train, batch", "made(), y_train, batch", "the rows need made"),
        ("model.fit(", f"{DIVIDES}divide(x_train)\nmodel.fit(", "the rows need a /= 255"),
        ("model.fit(", "z = x_train\nz /= 255\nmodel.fit(", "the rows need z /= 255"),
    ],
    "keras_pipeline": [
        (".cache()", ".filter(keep)", "the rows need filter(keep)"),
        (".cache()", ".take(9)", "the rows need take(9)"),
        (".cache()", ".repeat().shuffle(80)", "need repeat() before shuffle(80)"),
        ("prefetch(tf.data.AUTOTUNE)", "shuffle(4)", "the rows need shuffle(4)"),
        ("(images, labels))", "(images, labels, w))", "has weights of its rows"),
        ("image, label):", "image, label, k=1):", "the rows need def prepare"),
        ("* 2.0, label", "* scale(), label", "the rows need (image - 0.5) * scale"),
        ("(image - 0.5)", "(image - image)", "the rows need image - image"),
        ("return (image - 0.5) * 2.0", "return image[0]", "the rows need image[0]"),
        (
            "tf.cast(image, tf.float32)",
            "tf.image.random_flip_left_right(image)",
            "the rows need tf.image.random_flip",
        ),
        ("inputs = keras", "if small:\n    train_ds = halved(train_ds)\ninputs = keras", SEVERAL),
        (
            "inputs = keras",
            "if small:\n    train_ds = train_ds.map(prepare)\ninputs = keras",
            SEVERAL,
        ),
        (
            "train_ds = train_ds.batch",
            "if small:\n    train_ds = halved(train_ds)\ntrain_ds = train_ds.batch",
            SEVERAL,
        ),
        ("train_ds = tf", f"{DIVIDES}divide(images)\ntrain_ds = tf", "need a /= 255"),
    ],
    "keras_two": [
        ('{"kind": data["classes"], "value"', '{"kind": data["classes"], "v"', "x, kind, v"),
        (
            '{"kind": data["classes"], "value": data["values"]}',
            '[data["classes"], data["values"]]',
            "which arrays of a row are which is not seen",
        ),
    ],
    "keras_listed": [
        (
            '[data["classes"], data["values"]]',
            '{"a": data["classes"], "b": data["values"]}',
            "which arrays of a row are which is not seen: a, b",
        ),
    ],
    "paddle_fit": [
        (
            'model.fit(Points("data.npz")',
            'rows = Points("data.npz")\nif small:\n    rows = read()\nmodel.fit(rows',
            SEVERAL,
        ),
        (
            'model.fit(Points("data.npz")',
            'rows = Points("data.npz")\nif small:\n'
            "    rows = paddle.io.DataLoader(rows)\nmodel.fit(rows",
            SEVERAL,
        ),
        ("verbose=0", "verbose=0, num_iters=4", "fit has num_iters"),
        ("self.y[index]\n", "self.y[index], 1\n", "does not return x, labels"),
    ],
    "paddle_arrays": [
        (
            "    model = paddle",
            '    if small:\n        rows = TensorDataset([data["z"], data["y"]])\n'
            "    model = paddle",
            SEVERAL,
        ),
    ],
    "mlp": [
        ("dataset =", "z = x\n    z /= 255\n    dataset =", "the rows need z /= 255"),
        ("dataset =", "z = x[:9]\n    z /= 255\n    dataset =", "the rows need z /= 255"),
        (
            "    model = MLP",
            "    if small:\n        loader = DataLoader(TensorDataset(x[:9], y))\n    model = MLP",
            SEVERAL,
        ),
    ],
    "rows": [
        ('loader = DataLoader(SeriesDataset("series.npy")', TWO_CLASSES, SEVERAL),
    ],
}


LABELS = 'labels = {"kind": data["classes"], "value": data["values"]}\n'
LABELS_REFUSED = [
    (f'{LABELS}labels["value"] = data["x"]\n', 'the rows need labels["value"] = data["x"]'),
    (f"{LABELS}if small:\n    labels = other\n", "the rows need labels"),
    (f"{LABELS}if small:\n    {LABELS.replace('values', 'small')}", "the rows need labels"),
]


@pytest.mark.parametrize(("before", "reason"), LABELS_REFUSED)
def test_labels_that_are_not_certain_are_refused(before: str, reason: str) -> None:
    given = '    {"kind": data["classes"], "value": data["values"]},'
    across = moved("keras_two", (given, "    labels,"), ("model.fit(", f"{before}model.fit("))
    assert reason in reasons(across, "data")
    assert moved("keras_two", (given, "    labels,"), ("model.fit(", f"{LABELS}model.fit(")).rows


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [(name, *row) for name, rows in ROWS_REFUSED.items() for row in rows],
)
def test_rows_that_are_others_are_refused_by_name(
    name: str, old: str, new: str, reason: str
) -> None:
    across = moved(name, (old, new))
    assert reason in reasons(across, "data")
    assert not [file for file in across.files if file.endswith("own_rows.py")]


ROWS_KEPT = [
    "z = x.clone()\n    z /= 255\n    ",
    "def divide(a):\n        a = a + 1\n        a /= 255\n\n    divide(x)\n    ",
    "def divide(a):\n        a /= 255\n\n    divide(z)\n    ",
    "length = 1\n    length += 1\n    ",
]


@pytest.mark.parametrize("before", ROWS_KEPT)
def test_rows_of_which_something_else_is_changed_are_carried(before: str) -> None:
    rows = moved("mlp", ("dataset =", f"{before}dataset =")).rows
    assert rows is not None
    assert rows.text


TOLD = [
    ("keras_pipeline", ".cache()", ".shuffle(20)", "notes", "shuffle(20) draws from a part"),
    ("keras_pipeline", ".cache()", ".repeat()", "undone", "repeat() stands before the batches"),
    (
        "keras_pipeline",
        ".cache()",
        ".shuffle(len(images), reshuffle_each_iteration=False)",
        "undone",
        "has the same order in every epoch",
    ),
    ("keras_pipeline", ".cache()", ".shuffle(80).cache()", "undone", "cache() has the same order"),
]


@pytest.mark.parametrize(("name", "old", "new", "where", "text"), TOLD)
def test_rows_that_come_otherwise_are_told_of(
    name: str, old: str, new: str, where: str, text: str
) -> None:
    rows = moved(name, (old, new)).rows
    assert rows is not None
    assert rows.text
    assert any(text in told for told in getattr(rows, where))


def test_a_shuffle_of_all_rows_is_only_a_shuffle() -> None:
    rows = moved("keras_pipeline", (".cache()", ".shuffle(len(images))")).rows
    assert rows is not None
    assert (rows.shuffle, len(rows.notes), rows.undone) == (True, 1, ())


BATCHES = [
    ("keras_fit", "batch_size=8, ", "", (32, "flush_renormalized", False)),
    ("keras_fit", ", shuffle=False", "", (8, "flush_renormalized", True)),
    ("keras_pipeline", ", drop_remainder=True", "", (8, "flush_renormalized", False)),
    ("keras_pipeline", "batch(8", "repeat(2).batch(16", (16, "drop", False)),
    ("paddle_fit", "batch_size=8, ", "", (1, "flush_renormalized", False)),
    ("paddle_fit", ", shuffle=False", "", (8, "flush_renormalized", True)),
    ("paddle_arrays", "drop_last=True, ", "", (8, "flush_renormalized", False)),
    (
        "paddle_fit",
        'Points("data.npz"), batch_size=8, epochs=2, shuffle=False',
        'paddle.io.DataLoader(Points("data.npz"), batch_size=4, shuffle=True, drop_last=True)',
        (4, "drop", True),
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "wanted"), BATCHES)
def test_batches_are_those_of_the_library(
    name: str, old: str, new: str, wanted: tuple[int, str, bool]
) -> None:
    data = moved(name, (old, new)).fields
    paths = ("batch.micro_batch_size", "accumulation.tail", "data.shuffle")
    assert tuple(data[path].value for path in paths) == wanted
    assert all(data[path].how != "assumed" for path in paths)


def test_rows_are_computed_as_the_pipeline_does(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    images = np.arange(0, 256, 2, dtype=np.uint8).reshape(2, 8, 8, 1)
    np.save("images.npy", images)
    np.save("labels.npy", np.array([3, 1]))
    rows = moved("keras_pipeline").rows
    assert rows is not None
    names: dict[str, Any] = {}
    exec(compile(rows.text, "own_rows.py", "exec"), names)  # our own text
    found = names["train_rows"]().rows(np.array([1, 0]))
    assert found["x"].dtype == np.float32
    wanted = (images.astype(np.float32) / 255.0 - 0.5) * 2.0
    np.testing.assert_allclose(found["x"], wanted[::-1], rtol=1e-6)
    np.testing.assert_array_equal(found["labels"], [1, 3])


STEP = (
    ("        squared = tf.reduce_mean(tf.square(value[:, 0] - values))\n", ""),
    ("cross_entropy(classes, logits) + 0.5 * squared", "cross_entropy(classes, logits)"),
    ("[layers.Dense(4)(hidden), layers.Dense(1)(hidden)]", "layers.Dense(4)(hidden)"),
    ("logits, value = model", "logits = model"),
    (", classes, values", ", classes"),
    ('data["classes"], data["values"]', 'data["classes"]'),
)
"""Changes that leave one output and one loss."""
IN_STEPS = [
    ("        logits =", "        x = x / 255.0\n        logits =", "x = x / 255.0"),
    ("        logits = model(x", "        z = x / 2.0\n        logits = model(z", "z = x / 2.0"),
    ("cross_entropy(classes, logits)", "cross_entropy(classes - 1, logits)", "classes - 1"),
    ("model(x, training", "model(x * 2.0, training", "x * 2.0"),
    ("        loss = train", "        x = x / 3.0\n        loss = train", "x = x / 3.0"),
]


@pytest.mark.parametrize(("old", "new", "text"), IN_STEPS)
def test_what_a_function_computes_of_its_batch_is_told(old: str, new: str, text: str) -> None:
    assert moved("tensorflow_loop", *STEP).fill_in == ()
    across = moved("tensorflow_loop", *STEP, (old, new))
    assert across.rows is not None
    assert any(text in told for told in across.rows.undone)


UNSEEN_BATCHES = [
    ("model.fit(Points(", "model.fit(read("),
    ("model.fit(Points(", "from rows import loader\nmodel.fit(loader or ("),
    (
        'model.fit(Points("data.npz")',
        'rows = Points("data.npz")\nif small:\n'
        "    rows = paddle.io.DataLoader(rows, batch_size=4)\nmodel.fit(rows",
    ),
]


@pytest.mark.parametrize(("old", "new"), UNSEEN_BATCHES)
def test_batches_of_what_may_be_a_loader_are_not_certain(old: str, new: str) -> None:
    assert "batch.micro_batch_size" in moved("paddle_fit", (old, new)).fill_in


PADDLE = [
    ("paddle.metric.Accuracy())", "None, amp_configs='O1')", "precision.mode"),
    ("verbose=0", "verbose=0, accumulate_grad_batches=4", "accumulation.normalize_by"),
    ("verbose=0", "verbose=0, callbacks=[Own()]", "schedule.name"),
    ("nn.CrossEntropyLoss()", "own_loss", "loss.kind"),
]


@pytest.mark.parametrize(("old", "new", "path"), PADDLE)
def test_what_prepare_and_fit_do_besides_is_to_be_filled_in(old: str, new: str, path: str) -> None:
    assert path in moved("paddle_fit", (old, new)).fill_in
