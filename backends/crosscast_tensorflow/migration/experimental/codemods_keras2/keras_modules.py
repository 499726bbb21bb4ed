"""CM212: modules of TensorFlow and replicas of strategies that use Keras."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Codemod, Example, Outcome, Refusal
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras import added_code
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.modules import (
    bases,
    cells,
    runs,
    sessions,
    units,
)
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import outcomes_of
from crosscast_tensorflow.migration.experimental.keras_names.scope import keeps_meanings

_MESSAGE = "modules and replicas find the layers and the dtype policy of Keras 3"
_CLEARED = "clear_session of Keras 3 resets the dtype policy, which Keras 2 kept"
_THREADS = "Keras 3 keeps the dtype policy for each thread; a strategy runs replicas in threads"


def run(subject: Subject) -> Iterator[Outcome]:
    """Change modules, runs of strategies and cells."""
    program = subject.program
    if keeps_meanings(program):
        return
    for module in program.modules:
        out = Outcomes()
        names = bases(module, program, out) | runs(module, program, out)
        names |= sessions(module, program, out)
        cells(module, out)
        units(module, out)
        added = added_code.additions(module, names)
        if isinstance(added, Refusal):
            yield added
            continue
        if out.edits:
            out.edits[:0] = added
            out.notes += [_THREADS] if added_code.POLICY in names else []
            out.notes += [_CLEARED] if added_code.CLEARED in names else []
        yield from outcomes_of(module, out, _MESSAGE)


_BEFORE = """\
import tensorflow as tf


class Net(tf.Module):
    def __init__(self):
        self.dense = tf.keras.layers.Dense(2)

    def __call__(self, x):
        return self.dense(x)


net = Net()
net(inputs)
print(net.trainable_variables)
"""
_AFTER = changed(
    _BEFORE,
    (
        "import tensorflow as tf\n\n\n",
        f"import tensorflow as tf\n\n\n{added_code.TEXTS[added_code.MODULES]}\n\n",
    ),
    ("class Net(tf.Module)", f"class Net({added_code.MODULES})"),
)
_PLAIN = """\
import tensorflow as tf


class Net(tf.Module):
    def __init__(self):
        self.weight = tf.Variable(1.0)


print(Net().trainable_variables)
"""
_SESSION = """\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
tf.keras.backend.clear_session()
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
"""
_CELL = """\
import tensorflow as tf

cell = tf.keras.layers.GRUCell(8)
state = cell.get_initial_state(inputs, 4, tf.float16)
"""

CODEMOD = Codemod(
    code="CM212",
    name="keras-modules",
    api="keras3",
    title="Classes of tf.Module find the variables of their Keras layers, replicas of a strategy "
    "the dtype policy, and clear_session keeps it",
    hints=("Module", "clear_session", "strategy", "Strategy", "Cell", "cell", "prod"),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(
            before=_SESSION,
            after=changed(
                _SESSION,
                ("tf.keras.backend.clear_session", added_code.CLEARED),
                (
                    "import tensorflow as tf\n",
                    f"import tensorflow as tf\n\n\n{added_code.TEXTS[added_code.CLEARED]}",
                ),
            ),
        ),
        Example(before=_PLAIN, after=_PLAIN),
        Example(before=_CELL, after=_CELL, refused="takes only batch_size"),
    ),
    run=run,
)
