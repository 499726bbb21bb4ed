"""What Keras 3 does no longer, or does in another way than Keras 2."""

import tensorflow as tf


def divide_by_loss_scale(optimizer, gradients):
    """Divide gradients by the loss scale, as get_unscaled_gradients of Keras 2 did."""
    scale = optimizer.scale_loss(1.0)
    return [
        None if g is None else tf.math.scalar_mul(tf.cast(1.0 / scale, g.dtype), g)
        for g in gradients
    ]


def multiply_by_loss_scale(optimizer, gradients):
    """Multiply by the loss scale again: apply_gradients of Keras 3 divides by it."""
    scale = optimizer.scale_loss(1.0)
    return [
        None if g is None else tf.math.scalar_mul(tf.cast(scale, g.dtype), g) for g in gradients
    ]


def divide_by_replicas(gradients):
    """Divide reduced gradients by the number of replicas: Keras 3 adds them up once more."""
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    return [
        None if g is None else tf.math.scalar_mul(tf.cast(1.0 / replicas, g.dtype), g)
        for g in gradients
    ]


@tf.keras.utils.register_keras_serializable()
class ReplicaLossScaleOptimizer(tf.keras.mixed_precision.LossScaleOptimizer):
    """Gives every replica the same gradients: Keras 3 looks for overflow in replica 0 only.

    Keras adds the means up, which gives the sum of all replicas as before.
    """

    def apply(self, grads, trainable_variables=None):
        if not self.built:
            with tf.init_scope():
                self.build(trainable_variables)
        given = [g for g in grads if g is not None]
        replica = tf.distribute.get_replica_context()
        means = iter(replica.all_reduce(tf.distribute.ReduceOp.MEAN, given))
        super().apply([None if g is None else next(means) for g in grads], trainable_variables)


def replica_loss_scaling(optimizer):
    """Scale the loss if compile would, but safely with several replicas."""
    optimizer = tf.keras.optimizers.get(optimizer)
    scales = isinstance(optimizer, tf.keras.mixed_precision.LossScaleOptimizer)
    if scales or tf.keras.mixed_precision.global_policy().name != "mixed_float16":
        return optimizer
    return ReplicaLossScaleOptimizer(optimizer)


def averaging_optimizer(optimizer, average):
    """Average the gradients over all processes; under mixed_float16 while the loss is scaled.

    Keras 3 calls none of the methods by which DistributedOptimizer reduced them.
    """
    half = tf.keras.mixed_precision.global_policy().name == "mixed_float16"
    if half and not isinstance(optimizer, tf.keras.mixed_precision.LossScaleOptimizer):
        optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer)
    base = type(optimizer)

    def apply(self, grads, trainable_variables=None):
        grads = [None if g is None else average(g) for g in grads]
        return base.apply(self, grads, trainable_variables)

    optimizer.__class__ = type(base.__name__, (base,), {"apply": apply})
    return optimizer


class KerasModule(tf.Module):
    """A module with the variables of its layers and metrics: they are no modules in Keras 3."""

    @property
    def variables(self):
        layers = (tf.keras.layers.Layer, tf.keras.metrics.Metric)
        kinds = (tf.Variable, tf.keras.Variable, *layers)
        found = {}
        for leaf in self._flatten(predicate=lambda value: isinstance(value, kinds)):
            parts = leaf.variables if isinstance(leaf, layers) else [leaf]
            found.update((id(part), part) for part in parts)
        return tuple(found.values())

    @property
    def trainable_variables(self):
        return tuple(variable for variable in self.variables if variable.trainable)


def with_global_policy(function):
    """Give the threads of a strategy the dtype policy: Keras 3 has one for every thread."""
    policy = tf.keras.mixed_precision.global_policy()

    def replica(*args, **kwargs):
        tf.keras.mixed_precision.set_global_policy(policy)
        return function(*args, **kwargs)

    return replica


def clear_session_but_policy(**options):
    """Clear the session, but keep the dtype policy: Keras 3 resets it as well."""
    policy = tf.keras.mixed_precision.global_policy()
    tf.keras.backend.clear_session(**options)
    tf.keras.mixed_precision.set_global_policy(policy)


class ZeroStateCell(tf.keras.layers.Layer):
    """A recurrent cell that begins with zeros, as AbstractRNNCell of Keras 2 did."""

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        if inputs is not None:
            batch_size, dtype = tf.shape(inputs)[0], inputs.dtype

        def zeros(size):
            shape = [batch_size, *tf.TensorShape(size).as_list()]
            return tf.zeros(shape, dtype or self.compute_dtype)

        if isinstance(self.state_size, (list, tuple)):
            return [zeros(size) for size in self.state_size]
        return zeros(self.state_size)


def with_decay(optimizer, decay):
    """Divide the learning rate by 1 + decay * iterations, as the argument decay of Keras 2 did."""
    base = type(optimizer)

    def update_step(self, gradient, variable, learning_rate):
        steps = tf.cast(self.iterations, learning_rate.dtype)
        return base.update_step(self, gradient, variable, learning_rate / (1 + decay * steps))

    optimizer.__class__ = type(base.__name__, (base,), {"update_step": update_step})
    return optimizer


def with_summed_rows(optimizer):
    """Add up the gradients of rows that a batch repeats before they are squared, as Keras 2 did."""
    optimizer = tf.keras.optimizers.get(optimizer)
    base = type(optimizer)

    def update_step(self, gradient, variable, learning_rate):
        return base.update_step(self, tf.convert_to_tensor(gradient), variable, learning_rate)

    optimizer.__class__ = type(base.__name__, (base,), {"update_step": update_step})
    return optimizer


@tf.keras.utils.register_keras_serializable()
class RMSpropFromOnes(tf.keras.optimizers.RMSprop):
    """RMSprop whose mean squares begin at one, as those of tf.train.RMSPropOptimizer did."""

    def add_variable_from_reference(self, reference_variable, name=None, initializer="zeros"):
        initializer = "ones" if name == "velocity" else initializer
        return super().add_variable_from_reference(reference_variable, name, initializer)


@tf.keras.utils.register_keras_serializable()
class RMSpropOfKeras2(tf.keras.optimizers.RMSprop):
    """RMSprop that without momentum adds epsilon after the root, as Keras 2 did up to 2.10."""

    def update_step(self, gradient, variable, learning_rate):
        if self.momentum > 0:
            return super().update_step(gradient, variable, learning_rate)
        place = self._get_variable_index(variable)
        gradient = tf.cast(tf.convert_to_tensor(gradient), variable.dtype)
        squares = self._velocities[place]
        squares.assign(self.rho * squares + (1 - self.rho) * gradient**2)
        spread = tf.convert_to_tensor(squares)
        if self.centered:
            mean = self._average_gradients[place]
            mean.assign(self.rho * mean + (1 - self.rho) * gradient)
            spread -= tf.convert_to_tensor(mean) ** 2
        rate = tf.cast(learning_rate, variable.dtype)
        self.assign_sub(variable, rate * gradient / (spread**0.5 + self.epsilon))


@tf.keras.utils.register_keras_serializable()
def old_hard_sigmoid(x):
    """Return hard_sigmoid as it was before Keras 3, which gave it another slope."""
    return tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)


def name_in_keras_2(variable):
    """Return the name of a weight with its layer, as Keras 2 wrote it: dense/kernel:0."""
    of_keras = isinstance(variable, tf.keras.Variable)
    return f"{variable.path}:0" if of_keras else variable.name


@tf.keras.utils.register_keras_serializable()
class TensorFlowFunction(tf.keras.layers.Layer):
    """Calls a function of TensorFlow in a model, as Keras 2 did by itself."""

    def __init__(self, function, given, **options):
        super().__init__(autocast=False, **options)
        self.function = function
        self.given = given

    def call(self, tensors):
        rest = iter(tensors)

        def value(node):
            if isinstance(node, dict):
                return {key: value(part) for key, part in node.items()}
            if isinstance(node, (list, tuple)):
                return [value(part) for part in node]
            return next(rest) if isinstance(node, str) and node == "(tensor)" else node

        function = tf
        for part in self.function.split("."):
            function = getattr(function, part)
        return function(*value(self.given[0]), **value(self.given[1]))

    def get_config(self):
        return {**super().get_config(), "function": self.function, "given": self.given}


def with_keras_inputs(function, *args, **kwargs):
    """Call a function of TensorFlow, by a layer if an argument is an input of a model."""
    tensors = []

    def place(node):
        if isinstance(node, dict):
            return {key: place(part) for key, part in node.items()}
        if isinstance(node, (list, tuple)):
            return [place(part) for part in node]
        if not tf.keras.backend.is_keras_tensor(node):
            return node.name if isinstance(node, tf.DType) else node
        tensors.append(node)
        return "(tensor)"

    given = [place(args), place(kwargs)]
    if tensors:
        return TensorFlowFunction(function, given)(tensors)
    called = tf
    for part in function.split("."):
        called = getattr(called, part)
    return called(*args, **kwargs)
