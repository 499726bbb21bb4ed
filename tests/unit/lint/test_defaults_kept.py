"""Functions that make an optimizer and never get the flags that are named like their parameters."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

SCRIPT = """\
import argparse

import tensorflow as tf


def make_optimizer(rate=1e-3, beta_1=0.9, beta_2=0.999, eps=1e-7):
    return tf.keras.optimizers.Adam(rate, beta_1=beta_1, beta_2=beta_2, epsilon=eps)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--beta_1", type=float, default=0.9)
    parser.add_argument("--beta_2", type=float, default=0.999)
    parser.add_argument("--width", type=int, default=8)
    return parser.parse_args()


def run(args, rows):
    name = f"rate-{args.rate}"
    wandb.init(name=name, config=vars(args))
    model = tf.keras.Sequential([tf.keras.layers.Dense(args.width)])
    model.compile(make_optimizer(), loss="mse")
    model.fit(rows)


if __name__ == "__main__":
    run(parse(), load())
"""


def lines(text: str) -> list[str]:
    """Return the lines at which CL912 is found."""
    found = lint_sources([Source("train.py", text)])
    spans = [d.span for d in found if d.code == "CL912" and d.span]
    return [text.splitlines()[span.line - 1].strip() for span in spans]


def test_parameters_that_keep_their_defaults() -> None:
    assert lines(SCRIPT) == ['model.compile(make_optimizer(), loss="mse")']


def test_arrays_are_no_namespaces() -> None:
    text = SCRIPT.replace(
        "    model.fit(rows)\n", "    args = tf.range(8)\n    show(args)\n    model.fit(rows)\n"
    )
    assert lines(text.replace("args = tf", "opts = tf").replace("show(args)", "show(opts)"))
    product = text.replace("args = tf.range(8)", "opts = tf.range(8) * 0.5")
    assert lines(product.replace("show(args)", "show(opts)"))
    assert lines(text.replace("args = tf", "opts = own").replace("show(args)", "show(opts)")) == []


METHOD = """

class Saved(tf.keras.Model):
    def save_weights(self, path, options=None):
        self.inner.save_weights(path, options)


def parse"""


def test_parameters_of_methods_that_nothing_gives() -> None:
    text = SCRIPT.replace("\n\ndef parse", METHOD)
    assert lines(text)
    given = text.replace("    model.fit(rows)\n", "    Saved().save_weights('w', args)\n")
    assert lines(given) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("make_optimizer(),", "make_optimizer(beta_1=args.beta_1, beta_2=args.beta_2),"),
        ("make_optimizer(),", "make_optimizer(**vars(args)),"),
        ("    model.fit(rows)\n", "    print(args.beta_1)\n    model.fit(rows)\n"),
        ("wandb.init(name=name, config=vars(args))", "configure(args)"),
        ('"--beta_2"', '"--beta2"'),
        ("beta_1=beta_1, beta_2=beta_2", "beta_1=0.9, beta_2=beta_2"),
    ],
)
def test_look_alikes(old: str, new: str) -> None:
    assert SCRIPT.count(old) == 1
    assert lines(SCRIPT.replace(old, new)) == []
