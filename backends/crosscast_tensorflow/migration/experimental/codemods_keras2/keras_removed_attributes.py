"""CM221: attributes and methods of models, layers, weights and optimizers that are gone."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_migrate.codemod import Codemod, Example, Outcome, Refusal
from crosscast_reading.lint.rules._examples import changed
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.migration.experimental.keras import added_code
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes
from crosscast_tensorflow.migration.experimental.keras_names.outcomes import outcomes_of
from crosscast_tensorflow.migration.experimental.keras_names.removed_attributes import (
    removed_attributes,
)
from crosscast_tensorflow.migration.experimental.keras_names.scope import (
    imports_keras,
    stays_as_it_is,
)


def run(subject: Subject) -> Iterator[Outcome]:
    """Change the attributes in every module."""
    program = subject.program
    if stays_as_it_is(program) or not any(map(imports_keras, program.modules)):
        return
    for module in program.modules:
        out = Outcomes()
        added = added_code.additions(module, removed_attributes(module, program, out))
        if isinstance(added, Refusal):
            yield added
            continue
        out.edits[:0] = added
        yield from outcomes_of(module, out, "attributes and names of weights as in Keras 3")


_BEFORE = """\
import tensorflow as tf

model = tf.keras.applications.MobileNetV2(weights=None)
model._name = "body"
for layer in model.layers:
    print(layer.name, layer.output_shape)
decayed = [v for v in model.trainable_weights if "bn" not in v.name]
optimizer = tf.keras.optimizers.Adam(1e-3)
print(len(optimizer.variables()))
"""
_AFTER = changed(
    _BEFORE,
    (
        "import tensorflow as tf\n",
        f"import tensorflow as tf\n\n\n{added_code.TEXTS[added_code.NAMED]}",
    ),
    ("model._name", "model.name"),
    ("layer.output_shape", "layer.output.shape"),
    ("v.name", f"{added_code.NAMED}(v)"),
    ("variables()", "variables"),
)
_OTHER = """\
import tensorflow as tf


class Net(tf.Module):
    def names(self):
        self._name = "net"
        return [v.ref() for v in self.trainable_variables]


print(dataset.output_shape, model.output_shape, box.minimize(loss))
"""
_GONE = """\
import tensorflow as tf

optimizer = tf.keras.optimizers.Adam(1e-3)
optimizer.minimize(lambda: loss(x), [x])
"""

CODEMOD = Codemod(
    code="CM221",
    name="keras-removed-attributes",
    api="keras3",
    title="Attributes and methods of models, layers, weights and optimizers that Keras 3 does not "
    "have (output_shape, names of weights with their layer, minimize) are replaced or named",
    hints=("keras", "tensorflow"),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_OTHER, after=_OTHER),
        Example(before=_GONE, after=_GONE, refused="minimize of an optimizer is not in Keras 3"),
    ),
    run=run,
)
