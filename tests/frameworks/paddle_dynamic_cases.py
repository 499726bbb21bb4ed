"""Dynamic programs of Paddle 1.8, one for each form that the table of names knows.

Each leaves `result`, a tensor or a list of tensors and numbers. What 1.8.5 computed is recorded in
`paddle_dynamic_expected.json`; `test_paddle_dynamic.py` runs them there again.
"""

from __future__ import annotations

HEAD = """\
import numpy as np
import paddle
import paddle.fluid as fluid

rows = (np.arange(24).reshape(2, 3, 4) / 10 - 1).astype("float32")
image = (np.sin(np.arange(96)).reshape(2, 3, 4, 4)).astype("float32")
numbers = np.array([[1], [2]]).astype("int64")
"""
GUARD = """\
with fluid.dygraph.guard():
    x = fluid.dygraph.to_variable(rows)
    flat = fluid.dygraph.to_variable(rows[0])
    other = fluid.dygraph.to_variable(rows[::-1] * 2 + 0.05)
    vector = fluid.dygraph.to_variable(rows[0, :, 0])
    images = fluid.dygraph.to_variable(image)
    labels = fluid.dygraph.to_variable(numbers)
    shares = fluid.layers.softmax(flat)
"""
ATTRS = "param_attr=constant((0.1)), bias_attr=constant((0.2))"

_LAYERS = "fluid.layers."
EXPRESSIONS = {
    # Binary functions.
    **{
        f"elementwise_{name}": f"fluid.layers.elementwise_{name}(x, other)"
        for name in ("add", "sub", "mul", "div", "max", "min")
    },
    "elementwise_pow": "fluid.layers.elementwise_pow(fluid.layers.exp(x), other)",
    "elementwise_axis": "fluid.layers.elementwise_add(x, vector, axis=1)",
    "elementwise_act": "fluid.layers.elementwise_add(x=x, y=other, act='relu')",
    "elementwise_axis_act": "fluid.layers.elementwise_mul(x, vector, axis=1, act='tanh')",
    "matmul": "fluid.layers.matmul(x, other, transpose_y=True)",
    "matmul_alpha": "fluid.layers.matmul(x, other, False, True, alpha=0.5)",
    "mul": "fluid.layers.mul(x, tensor(rows.reshape(4, 6)), x_num_col_dims=2)",
    # Unary functions.
    **{
        name: f"fluid.layers.{name}(x)"
        for name in (
            *("relu", "sigmoid", "tanh", "exp", "abs", "square", "ceil", "floor", "cos", "sin"),
            *("sign", "softplus", "softsign", "elu", "gelu", "mean", "relu6", "softmax"),
            *("leaky_relu", "hard_sigmoid", "hard_swish", "swish", "logsigmoid", "tanh_shrink"),
            *("brelu", "scale", "log_softmax", "erf", "reciprocal"),
        )
    },
    "round": "fluid.layers.round(x + 0.05)",  # not halves: see test_halves_have_no_fixed_result
    "sqrt": "fluid.layers.sqrt(fluid.layers.exp(x))",
    "rsqrt": "fluid.layers.rsqrt(fluid.layers.exp(x))",
    "log": "fluid.layers.log(fluid.layers.exp(x))",
    "pow": "fluid.layers.pow(x, 2.0)",
    "clip": "fluid.layers.clip(x, -0.5, 0.5)",
    "softmax_axis": "fluid.layers.softmax(x, axis=1)",
    "leaky_relu_alpha": "fluid.layers.leaky_relu(x, 0.2)",
    # Reductions.
    **{
        f"reduce_{name}": f"fluid.layers.reduce_{name}(x, dim=1, keep_dim=True)"
        for name in ("mean", "sum", "max", "min", "prod")
    },
    "reduce_sum_positional": "fluid.layers.reduce_sum(x, [0, 2], True)",
    "reduce_mean_all": "fluid.layers.reduce_mean(x)",
    # Shapes.
    "concat": "fluid.layers.concat([x, other], 1)",
    "concat_named": "fluid.layers.concat(input=[x, other], axis=-1)",
    "split": "fluid.layers.split(x, 2)",
    "split_dim": "fluid.layers.split(x, num_or_sections=3, dim=1)",
    "stack": "fluid.layers.stack([x, other], axis=1)",
    "unstack": "fluid.layers.unstack(x, axis=1)",
    "squeeze": "fluid.layers.squeeze(fluid.layers.unsqueeze(x, [1]), axes=[1])",
    "unsqueeze": "fluid.layers.unsqueeze(input=x, axes=[0])",
    "reshape": "fluid.layers.reshape(x, [-1, 6])",
    "reshape_act": "fluid.layers.reshape(x, shape=[0, -1], act='relu')",
    "transpose": "fluid.layers.transpose(x, [2, 0, 1])",
    "flatten": "fluid.layers.flatten(x)",
    "flatten_axis": "fluid.layers.flatten(x, axis=2)",
    "expand": "fluid.layers.expand(x, expand_times=[1, 2, 1])",
    "gather": "fluid.layers.gather(x, tensor(np.array([1, 0, 1])))",
    "gather_nd": "fluid.layers.gather_nd(x, tensor(np.array([[0, 1], [1, 2]])))",
    "slice": "fluid.layers.slice(x, axes=[1], starts=[0], ends=[2])",
    "cast": "fluid.layers.cast(x, 'int64')",
    "argmax": "fluid.layers.argmax(x)",
    "argmax_axis": "fluid.layers.argmax(x, axis=-1)",
    "argsort": "fluid.layers.argsort(x, axis=1, descending=True)",
    "topk": "fluid.layers.topk(x, k=2)",
    "cumsum": "fluid.layers.cumsum(x)",
    "where": "fluid.layers.where(x > 0.5)",
    "one_hot": "fluid.layers.one_hot(labels, 4)",
    "one_hot_new": "fluid.one_hot(labels, 4)",
    "shape": "fluid.layers.shape(x)",
    "index_select": "fluid.layers.index_select(x, tensor(np.array([2, 0])), dim=1)",
    "scatter": "fluid.layers.scatter(flat, tensor(np.array([2, 0])), tensor(rows[1, :2]))",
    "sum": "fluid.layers.sum([x, other])",
    "sums": "fluid.layers.sums([x, other])",
    # Created tensors.
    "fill_constant": "fluid.layers.fill_constant([2, 3], 'float32', 0.5)",
    "fill_constant_named": "fluid.layers.fill_constant(shape=[2], dtype='int64', value=3)",
    "zeros": "fluid.layers.zeros([2, 3], 'float32')",
    "ones_like": "fluid.layers.ones_like(x)",
    "range": "fluid.layers.range(0, 6, 2, 'int32')",
    "linspace": "fluid.layers.linspace(0, 1, 5, 'float32')",
    "assign": "fluid.layers.assign(x)",
    # Comparisons.
    **{
        name: f"fluid.layers.cast(fluid.layers.{name}(x, other), 'int32')"
        for name in ("equal", "less_than", "less_equal", "greater_than", "greater_equal")
    },
    "logical_not": "fluid.layers.cast(fluid.layers.logical_not(x > 0), 'int32')",
    "isfinite": "fluid.layers.cast(fluid.layers.isfinite(x), 'int32')",
    # Losses.
    "cross_entropy": "fluid.layers.cross_entropy(shares[:2], labels)",
    "cross_entropy_soft": "fluid.layers.cross_entropy(shares, shares, soft_label=True)",
    "cross_entropy_ignored": "fluid.layers.cross_entropy(shares[:2], labels, ignore_index=2)",
    "cross_entropy_zero": "fluid.layers.cross_entropy(tensor(np.array([[0, 1.0]], 'float32')), "
    "tensor(np.array([[0]])))",
    "softmax_with_cross_entropy": "fluid.layers.softmax_with_cross_entropy(flat[:2], labels)",
    "softmax_with_cross_entropy_both": "fluid.layers.softmax_with_cross_entropy("
    "logits=flat[:2], label=labels, return_softmax=True)",
    "sigmoid_cross_entropy": "fluid.layers.sigmoid_cross_entropy_with_logits(x, "
    "fluid.layers.ceil(other))",
    "square_error_cost": "fluid.layers.square_error_cost(x, other)",
    "mse_loss": "fluid.layers.mse_loss(x, other)",
    "log_loss": "fluid.layers.log_loss(shares[:, :1], fluid.layers.round(shares[:, :1]))",
    "kldiv_loss": "fluid.layers.kldiv_loss(fluid.layers.log(shares), shares, "
    "reduction='batchmean')",
    "kldiv_loss_mean": "fluid.layers.kldiv_loss(x, fluid.layers.exp(other))",
    "accuracy": "fluid.layers.accuracy(input=shares[:2], label=labels)",
    "accuracy_k": "fluid.layers.accuracy(shares[:2], labels, k=2)",
    "label_smooth": "fluid.layers.label_smooth(fluid.layers.one_hot(labels, 4), "
    "epsilon=0.2, dtype='float32')",
    "l2_normalize": "fluid.layers.l2_normalize(x, axis=-1)",
    # Images.
    "pool2d": "fluid.layers.pool2d(images, 2, 'avg', 2)",
    "pool2d_global": "fluid.layers.pool2d(images, pool_type='max', global_pooling=True)",
    "pool2d_padded": "fluid.layers.pool2d(images, 3, 'avg', 1, 1, exclusive=False)",
    "pad": "fluid.layers.pad(x, [0, 0, 1, 0, 0, 2], pad_value=0.5)",
    "pad2d": "fluid.layers.pad2d(images, [1, 0, 2, 0])",
    "pad2d_edge": "fluid.layers.pad2d(images, paddings=[1, 1, 0, 2], mode='edge')",
    "resize_bilinear": "fluid.layers.resize_bilinear(images, out_shape=[6, 6])",
    "resize_bilinear_plain": "fluid.layers.resize_bilinear(images, scale=2.0, align_corners=False)",
    "resize_nearest": "fluid.layers.resize_nearest(images, [6, 7])",
    "resize_nearest_plain": "fluid.layers.resize_nearest(images, scale=2.0, align_corners=False)",
    "image_resize": "fluid.layers.image_resize(images, [7, 3])",
    "image_resize_nearest": "fluid.layers.image_resize(images, [3, 5], resample='NEAREST')",
    "grid_sampler": "fluid.layers.grid_sampler(images, "
    "tensor(np.sin(np.arange(64)).reshape(2, 4, 4, 2).astype('float32')))",
    "pixel_shuffle": "fluid.layers.pixel_shuffle(tensor(image.reshape(2, 12, 2, 2)), 2)",
    # Layers.
    "Linear": f"fluid.dygraph.Linear(4, 3, {ATTRS})(x)",
    "Linear_act": f"fluid.dygraph.Linear(4, 3, {ATTRS}, act='relu')(x)",
    "Linear_named": f"fluid.dygraph.Linear(input_dim=4, output_dim=3, act='softmax', {ATTRS})(x)",
    "Linear_no_bias": "fluid.dygraph.Linear(4, 2, constant((0.1)), False, None, 'float32')(x)",
    "Conv2D": f"fluid.dygraph.Conv2D(3, 2, 3, 2, 1, {ATTRS}, use_cudnn=False, "
    f"act='sigmoid')(images)",
    "Conv2D_groups": f"fluid.dygraph.Conv2D(num_channels=3, num_filters=3, filter_size=2, "
    f"groups=3, {ATTRS})(images)",
    "Conv2D_no_groups": f"fluid.dygraph.Conv2D(3, 2, 1, groups=None, {ATTRS})(images)",
    "Conv2DTranspose": f"fluid.dygraph.Conv2DTranspose(3, 2, 2, stride=2, {ATTRS})(images)",
    "Conv2DTranspose_padded": f"fluid.dygraph.Conv2DTranspose(3, 2, 3, None, 1, 2, {ATTRS}, "
    f"act='relu')(images)",
    "Pool2D": "fluid.dygraph.Pool2D(2, 'max', 2)(images)",
    "Pool2D_default_stride": "fluid.dygraph.Pool2D(pool_size=2, pool_type='avg')(images)",
    "Pool2D_padded": "fluid.dygraph.Pool2D(pool_size=3, pool_stride=2, pool_padding=1, "
    "pool_type='max')(images)",
    "Pool2D_exclusive": "fluid.dygraph.Pool2D(3, 'avg', 1, 1, exclusive=False)(images)",
    "Pool2D_global": "fluid.dygraph.Pool2D(pool_type='avg', global_pooling=True)(images)",
    "Pool2D_ceil": "fluid.dygraph.Pool2D(pool_size=3, pool_type='max', pool_stride=2, "
    "ceil_mode=True)(images)",
    "BatchNorm": "fluid.dygraph.BatchNorm(3, act='relu')(images)",
    "LayerNorm": f"fluid.dygraph.LayerNorm(4, {ATTRS})(x)",
    "LayerNorm_act": "fluid.dygraph.LayerNorm([3, 4], epsilon=1e-3, act='tanh')(x)",
    "GroupNorm": "fluid.dygraph.GroupNorm(channels=3, groups=3)(images)",
    "InstanceNorm": "fluid.dygraph.InstanceNorm(3)(images)",
    "Embedding": "fluid.dygraph.Embedding([5, 2], param_attr=constant((0.3)))(labels)",
    "Embedding_padded": "fluid.dygraph.Embedding(size=[5, 2], is_sparse=True, padding_idx=2, "
    "param_attr=constant((0.3)))(labels)",
    "PRelu": "fluid.dygraph.PRelu(mode='all')(x)",
    "Sequential": f"fluid.dygraph.Sequential(fluid.dygraph.Linear(4, 3, {ATTRS}), "
    f"fluid.dygraph.Linear(3, 2, {ATTRS}, act='tanh'))(x)",
    "in_mode": "[int(fluid.in_dygraph_mode()), int(fluid.dygraph.enabled())]",
}

NET = f"""\
class Net(fluid.dygraph.Layer):
    def __init__(self):
        super(Net, self).__init__()
        self.first = fluid.dygraph.Linear(4, 3, {ATTRS}, act="tanh")
        self.drop = fluid.dygraph.Dropout(0.4)

    def forward(self, inputs):
        hidden = self.drop(self.first(inputs))
        return fluid.layers.dropout(hidden, 0.3)


"""
_TRAIN = """\
    net = fluid.dygraph.Linear(4, 1, param_attr=constant((0.1)))
    {schedule}optimizer = fluid.optimizer.{optimizer}
    result = []
    for step in range(6):
        loss = fluid.layers.mean(fluid.layers.square(net(x) - 1.0) * (step + 1))
        loss.backward()
        optimizer.minimize(loss)
        net.clear_gradients()
        result.append(loss)
    result += list(net.parameters())
"""
_PARAMETERS = "parameter_list=net.parameters()"
OPTIMIZERS = {
    "SGD": f"SGD(0.1, {_PARAMETERS})",
    "SGDOptimizer": "SGDOptimizer(0.1, net.parameters(), fluid.regularizer.L2Decay(0.3))",
    "Adam": f"AdamOptimizer(learning_rate=0.01, {_PARAMETERS}, "
    "regularization=fluid.regularizer.L2DecayRegularizer(regularization_coeff=0.1))",
    "Adam_clip": f"Adam(0.01, 0.8, 0.9, 1e-8, {_PARAMETERS}, "
    "grad_clip=fluid.clip.GradientClipByGlobalNorm(0.5), lazy_mode=True)",
    "Momentum": f"MomentumOptimizer(0.1, 0.9, {_PARAMETERS}, use_nesterov=True, "
    "regularization=fluid.regularizer.L1Decay(0.01))",
    "Momentum_clip": f"Momentum(0.1, momentum=0.9, {_PARAMETERS}, "
    "grad_clip=fluid.clip.GradientClipByNorm(clip_norm=0.2))",
    "Adagrad": f"Adagrad(0.1, {_PARAMETERS}, grad_clip=fluid.clip.GradientClipByValue(0.3))",
    "Adamax": f"Adamax(0.1, {_PARAMETERS})",
    "RMSProp": f"RMSProp(0.01, {_PARAMETERS})",
}
SCHEDULES = {
    "PiecewiseDecay": "fluid.dygraph.PiecewiseDecay([2, 4], [0.2, 0.1, 0.05], 0)",
    "CosineDecay": "fluid.dygraph.CosineDecay(0.2, 2, 4)",
    "ExponentialDecay": "fluid.dygraph.ExponentialDecay(0.2, 2, 0.5, staircase=True)",
    "exponential_decay": "fluid.layers.exponential_decay(learning_rate=0.2, decay_steps=3, "
    "decay_rate=0.5)",
    "NaturalExpDecay": "fluid.dygraph.NaturalExpDecay(0.2, 2, 0.5)",
    "InverseTimeDecay": "fluid.dygraph.InverseTimeDecay(0.2, 2, 0.5)",
    "PolynomialDecay": "fluid.dygraph.PolynomialDecay(0.2, 4, 0.01, power=2.0)",
    "polynomial_decay": "fluid.layers.polynomial_decay(0.2, 3, end_learning_rate=0.02, cycle=True)",
    "NoamDecay": "fluid.dygraph.NoamDecay(16, 3)",
    "noam_decay": "fluid.layers.noam_decay(16, 3)",
}
PROGRAMS = {
    **{f"train_{n}": _TRAIN.format(schedule="", optimizer=o) for n, o in OPTIMIZERS.items()},
    **{
        f"schedule_{name}": _TRAIN.format(
            schedule=f"rate = {schedule}\n    ", optimizer=f"SGD(rate, {_PARAMETERS})"
        )
        for name, schedule in SCHEDULES.items()
    },
    "schedule_inline": _TRAIN.format(
        schedule="",
        optimizer=f"SGD(fluid.dygraph.PiecewiseDecay([1], [0.1, 0.01], 0), {_PARAMETERS})",
    ),
    "eval_dropout": "    net = Net()\n    net.eval()\n    result = net(x)\n",
    "saved": """\
    import os, tempfile
    folder = tempfile.mkdtemp()
    net = Net()
    optimizer = fluid.optimizer.Adam(0.1, parameter_list=net.parameters())
    loss = fluid.layers.mean(net(x))
    loss.backward()
    optimizer.minimize(loss)
    fluid.save_dygraph(net.state_dict(), os.path.join(folder, "net"))
    fluid.save_dygraph(optimizer.state_dict(), folder + "/net")
    layer, state = fluid.load_dygraph(os.path.join(folder, "net"))
    net.set_dict(layer)
    result = [sorted(os.listdir(folder)) == ["net.pdopt", "net.pdparams"], state is not None]
    result.append(sorted(layer) == sorted(net.state_dict()))
""",
    "loader": """\
    def samples():
        for number in range(6):
            yield rows[0] * number, number
    loader = fluid.io.DataLoader.from_generator(capacity=4)
    loader.set_sample_list_generator(paddle.batch(samples, batch_size=3), places=fluid.CPUPlace())
    result = [tensor for batch in loader() for tensor in batch]
""",
    "loader_of_batches": """\
    def batches():
        for number in range(3):
            yield image * number, numbers + number
    loader = fluid.io.DataLoader.from_generator(capacity=4, return_list=True)
    loader.set_batch_generator(batches, places=fluid.CPUPlace())
    result = [tensor for batch in loader() for tensor in batch]
""",
    "to_variable_of_a_tensor": """\
    x.stop_gradient = False
    doubled = fluid.dygraph.to_variable(x * 2)
    loss = fluid.layers.mean(doubled * doubled)
    loss.backward()
    result = [loss, x.gradient()]
""",
    "no_grad": """\
    @fluid.dygraph.no_grad
    def double(value):
        return value * 2
    with fluid.dygraph.no_grad():
        result = double(x)
""",
}
UNGUARDED = {
    "guard_with_place": """\
place = fluid.CPUPlace()
with fluid.dygraph.guard(place):
    result = fluid.layers.mean(fluid.dygraph.to_variable(rows))
""",
    "enabled": """\
fluid.enable_dygraph(fluid.CPUPlace())
result = fluid.layers.mean(fluid.dygraph.to_variable(rows))
""",
}


def _written_out(expression: str) -> str:
    """Return an expression without the short names of this file."""
    return expression.replace("tensor(", "fluid.dygraph.to_variable(").replace(
        "constant((", "fluid.ParamAttr(initializer=fluid.initializer.ConstantInitializer("
    )


def programs() -> dict[str, str]:
    """Return name to the text of each program."""
    found = {
        name: f"{HEAD}{GUARD}    result = {_written_out(expression)}\n"
        for name, expression in EXPRESSIONS.items()
    }
    found |= {name: _written_out(f"{HEAD}{NET}{GUARD}{text}") for name, text in PROGRAMS.items()}
    return found | {name: f"{HEAD}{text}" for name, text in UNGUARDED.items()}
