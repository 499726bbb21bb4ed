"""How models are written with Keras."""

from __future__ import annotations

from crosscast_migrate.models.rows import ARITHMETIC, calls
from crosscast_migrate.models.tables import LossWriting, ModelWriting

_CELL = '''def {name}(gates, state, *, backward):
    """The outputs of {article}; `gates`: inputs, projected; `state` projects a state."""

{step}

    start = ops.zeros_like(gates[:, 0, : gates.shape[-1] // {count}])
    steps = ops.transpose(gates, (1, 0, 2))
    _, {result} = ops.scan(step, {begun}, steps, reverse=backward)
    return ops.transpose(outputs, (1, 0, 2))'''
_LSTM = """    def step(carry, x):
        hidden, cell = carry
        enter, forget, new, leave = ops.split(x + state(hidden), 4, axis=-1)
        cell = ops.sigmoid(forget) * cell + ops.sigmoid(enter) * ops.tanh(new)
        hidden = ops.sigmoid(leave) * ops.tanh(cell)
        return (hidden, cell), (hidden, cell)"""
_GRU = """    def step(hidden, x):
        x_reset, x_update, x_new = ops.split(x, 3, axis=-1)
        reset, update, new = ops.split(state(hidden), 3, axis=-1)
        update = ops.sigmoid(x_update + update)
        new = ops.tanh(x_new + ops.sigmoid(x_reset + reset) * new)
        hidden = (1 - update) * new + update * hidden
        return hidden, hidden"""
_RNN = """    def step(hidden, x):
        hidden = ops.tanh(x + state(hidden))
        return hidden, hidden"""
_CELLS = {
    name: _CELL.format(
        name=name, article=article, step=step, count=count, begun=begun, result=result
    )
    for name, article, step, count, begun, result in (
        ("lstm", "an LSTM", _LSTM, 4, "(start, start)", "(outputs, _)"),
        ("gru", "a GRU", _GRU, 3, "start", "outputs"),
        ("recurrence", "an RNN", _RNN, 1, "start", "outputs"),
    )
}

WRITING = ModelWriting(
    imports=("import keras", "from keras import layers, ops"),
    helpers=_CELLS,
    cells={"lstm": "lstm", "gru": "gru", "rnn": "recurrence"},
    size="ops.shape({value})[{axis}]",
    base="keras.Model",
    signature="def call(self, inputs{training}):",
    prepared='{name} = inputs["{name}"]',
    training=", training=None",
    training_argument=", training=training",
    constructor_end=("self.built = True",),
    layers=calls(
        linear="layers.Dense({units}, use_bias={bias}|True, kernel_initializer={weight}, "
        "bias_initializer={b}, name={name})",
        conv="layers.Conv{rank}D({filters}, {kernel}, strides={stride}|1, "
        'padding="{padding}"|"valid", dilation_rate={dilation}|1, groups={groups}|1, '
        "use_bias={bias}|True, kernel_initializer={weight}, bias_initializer={b}, name={name})",
        batch_norm="layers.BatchNormalization(axis={axis}|-1, momentum={keep}|0.99, "
        "epsilon={eps}|0.001, center={affine}|True, scale={affine}|True, beta_initializer={b}, "
        "gamma_initializer={weight}, name={name})",
        layer_norm="layers.LayerNormalization(axis={norm_axes}|-1, epsilon={eps}|0.001, "
        "center={shift}|True, scale={affine}|True, beta_initializer={b}, "
        "gamma_initializer={weight}, name={name})",
        embedding="layers.Embedding({count}, {width}, embeddings_initializer={weight}, "
        "name={name})",
        dropout="layers.Dropout({rate}, name={name})",
    ),
    built={
        "linear": "self.{layer}.build((None, {inputs}))",
        "conv": "self.{layer}.build((None, {nones}, {inputs}))",
        "batch_norm": "self.{layer}.build({norm_shape})",
        "layer_norm": "self.{layer}.build((None, {shape_items}))",
        "embedding": "self.{layer}.build((None, None))",
    },
    operations={
        **ARITHMETIC,
        "relu": "ops.relu({0})",
        "relu6": "ops.relu6({0})",
        "leaky_relu": "ops.leaky_relu({0}, {slope})",
        "elu": "ops.elu({0}, {alpha})",
        "selu": "ops.selu({0})",
        "silu": "ops.silu({0})",
        "softplus": "ops.softplus({0})",
        "gelu": "ops.gelu({0}, approximate={tanh})",
        "sigmoid": "ops.sigmoid({0})",
        "tanh": "ops.tanh({0})",
        "softmax": "ops.softmax({0}, axis={axis})",
        "log_softmax": "ops.log_softmax({0}, axis={axis})",
        "exp": "ops.exp({0})",
        "sin": "ops.sin({0})",
        "cos": "ops.cos({0})",
        "log": "ops.log({0})",
        "not": "ops.logical_not({0})",
        "number": 'ops.cast({0}, "float32")',
        "fill": "ops.where({1}, {value}, {0})",
        "choose": "ops.where({0}, {1}, {2})",
        "swap": "ops.swapaxes({0}, {first}, {second})",
        "causal": "ops.tril(ops.ones((ops.shape({0})[-2], ops.shape({1})[-2]), bool))",
        "positions": "ops.arange({size})",
        "constant": "ops.convert_to_tensor({numbers})",
        "expand_rows": "ops.broadcast_to({0}, (ops.shape({1})[0], *{0}.shape[1:]))",
        "abs": "ops.abs({0})",
        "sign": "ops.sign({0})",
        "sqrt": "ops.sqrt({0})",
        "flatten": "ops.reshape({0}, (-1, {features}))",
        "reshape": "ops.reshape({0}, {shape})",
        "permute": "ops.transpose({0}, {axes})",
        "unsqueeze": "ops.expand_dims({0}, {axis})",
        "squeeze": "ops.squeeze({0}, {axis})",
        "mean": "ops.mean({0}, {axis}, keepdims={keepdims})",
        "sum": "ops.sum({0}, {axis}, keepdims={keepdims})",
        "max": "ops.max({0}, {axis}, keepdims={keepdims})",
        "concat": "ops.concatenate([{all}], axis={axis})",
        "stack": "ops.stack([{all}], axis={axis})",
        "matmul": "ops.matmul({0}, {1})",
        "max_pool": 'ops.max_pool({0}, {kernel}, {stride}, padding="{padding}")',
        "avg_pool": 'ops.average_pool({0}, {kernel}, {stride}, padding="{padding}")',
        "global_avg": "ops.mean({0}, {image}, keepdims={keepdims})",
        "global_max": "ops.max({0}, {image}, keepdims={keepdims})",
        "zero_pad": "ops.pad({0}, {all_pairs}, constant_values={value})",
    },
    initials={
        "uniform": "keras.initializers.RandomUniform(-{n}, {n})",
        "normal": "keras.initializers.RandomNormal(stddev={n})",
        "truncated_normal": "keras.initializers.TruncatedNormal(stddev={n})",
        "constant": "keras.initializers.Constant({n})",
    },
    pads=frozenset({"same"}),
    loss=LossWriting(
        imported="import tensorflow as tf",
        signature="def own_losses(model, batch, training):",
        outputs="tf.cast(model(inputs, training=training), tf.float32)",
        targets='tf.cast(batch["labels"], tf.float32)',
        elements={
            "l1": ("tf.abs(outputs - targets)",),
            "smooth_l1": (
                "size = tf.abs(outputs - targets)",
                "tf.where(size < 1.0, 0.5 * size * size, size - 0.5)",
            ),
            "one_hot": ("-targets * tf.nn.log_softmax(outputs)",),
        },
        kinds={
            "cross_entropy": (
                "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=outputs)",
            ),
            "mse": ("tf.square(outputs - targets)",),
            "binary_cross_entropy": (
                "tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=outputs)",
            ),
        },
        called="model(inputs, training=training)",
        in_float="tf.cast({0}, tf.float32)",
        rows="tf.reduce_{total}(tf.reshape(losses, [tf.shape(losses)[0], -1]), axis=1)",
    ),
)
