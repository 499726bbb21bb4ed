"""What the readers of TensorFlow, Paddle and JAX programs say about small programs."""

from __future__ import annotations

import textwrap
from typing import Any

from crosscast.messages.source import Source
from crosscast_jax.reading import reader as py_jax
from crosscast_paddle.reading import amp as py_paddle_amp
from crosscast_paddle.reading import fleet as py_paddle_fleet
from crosscast_paddle.reading import optimizers as py_paddle_optimizers
from crosscast_paddle.reading import static as py_paddle_static
from crosscast_reading.facts.command import Command
from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.profile import profile_of
from crosscast_reading.lift.precedence import settle
from crosscast_reading.pysource.project import read_program
from crosscast_reading.readers.python import frameworks as py_frameworks
from crosscast_tensorflow.reading import garden as py_tf_garden
from crosscast_tensorflow.reading import keras as py_keras
from crosscast_tensorflow.reading import keras_optimizers as py_keras_optimizers
from crosscast_tensorflow.reading import loops as py_tf_loops
from crosscast_tensorflow.reading import optimizers as py_tf_optimizers
from crosscast_tensorflow.reading import rewrite as py_tf_rewrite
from reading_helpers.vocabulary_check import check_words

READERS = (
    py_frameworks.READER,
    py_jax.READER,
    py_keras.READER,
    py_keras_optimizers.READER,
    py_paddle_amp.READER,
    py_paddle_fleet.READER,
    py_paddle_optimizers.READER,
    py_paddle_static.READER,
    py_tf_garden.READER,
    py_tf_loops.READER,
    py_tf_optimizers.READER,
    py_tf_rewrite.READER,
)


def facts(text: str, *others: tuple[str, str], launch: Command | None = None) -> list[Fact]:
    """Return all facts about a program, with the files beside it (name, text)."""
    sources = [Source("train.py", textwrap.dedent(text))]
    sources += [Source(name, textwrap.dedent(more)) for name, more in others]
    program, problems = read_program(sources, launch)
    assert problems == ()
    found = [fact for reader in READERS for fact in reader.read(program)]
    check_words(found)
    return found


def values_of(text: str, *others: tuple[str, str], launch: Command | None = None) -> dict[str, Any]:
    """Return what counts: field, with `/subject` where there is one, and its value.

    What is not known is the text of the expression with a question mark before it.
    """
    found: dict[str, Any] = {}
    for (field, subject), settled in settle(
        profile_of(facts(text, *others, launch=launch))
    ).items():
        fact = settled.fact
        key = f"{field}/{subject}" if subject else field
        found[key] = fact.value if fact.known else f"?{fact.expression}"
    return found
