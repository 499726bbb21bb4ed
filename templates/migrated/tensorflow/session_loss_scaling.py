"""Loss scaling of tf.contrib.mixed_precision, which TensorFlow lacks since 2.0.

An update with a gradient that is not finite is skipped, and the scale follows the same rules.
"""

import tensorflow.compat.v1 as tf


class LossScaleManager:
    """Decides the loss scale; subclasses define both methods."""

    def get_loss_scale(self):
        """Return the loss scale as a tensor."""
        raise NotImplementedError("a loss scale manager defines get_loss_scale")

    def update_loss_scale(self, finite_grads):
        """Return the operation that adapts the scale after a step."""
        raise NotImplementedError("a loss scale manager defines update_loss_scale")


class FixedLossScaleManager(LossScaleManager):
    """A loss scale that never changes."""

    def __init__(self, loss_scale):
        if loss_scale < 1:
            raise ValueError("loss scale must be at least 1.")
        self._loss_scale = tf.convert_to_tensor(loss_scale, tf.float32)

    def get_loss_scale(self):
        return self._loss_scale

    def update_loss_scale(self, finite_grads):
        return tf.no_op()


class ExponentialUpdateLossScaleManager(LossScaleManager):
    """A loss scale that grows after good steps and shrinks after bad ones."""

    def __init__(
        self,
        init_loss_scale,
        incr_every_n_steps,
        decr_every_n_nan_or_inf=2,
        incr_ratio=2,
        decr_ratio=0.8,
    ):
        self._incr_every_n_steps = incr_every_n_steps
        self._decr_every_n_nan_or_inf = decr_every_n_nan_or_inf
        self._incr_ratio = incr_ratio
        self._decr_ratio = decr_ratio
        initial = tf.convert_to_tensor(init_loss_scale, tf.float32)
        self._loss_scale = tf.Variable(initial, trainable=False, name="loss_scale")
        self._good_steps = tf.Variable(0, trainable=False, name="good_steps")
        self._bad_steps = tf.Variable(0, trainable=False, name="bad_steps")

    def get_loss_scale(self):
        return self._loss_scale

    def update_loss_scale(self, finite_grads):
        return tf.cond(finite_grads, self._after_good_step, self._after_bad_step)

    def _after_good_step(self):
        def grow():
            grown = self._loss_scale * self._incr_ratio
            return self._set(tf.where(tf.is_finite(grown), grown, tf.identity(self._loss_scale)))

        return tf.cond(
            self._good_steps + 1 >= self._incr_every_n_steps,
            grow,
            lambda: tf.group(tf.assign_add(self._good_steps, 1)),
        )

    def _after_bad_step(self):
        return tf.cond(
            self._bad_steps + 1 >= self._decr_every_n_nan_or_inf,
            lambda: self._set(tf.maximum(1.0, self._loss_scale * self._decr_ratio)),
            lambda: tf.group(tf.assign_add(self._bad_steps, 1), tf.assign(self._good_steps, 0)),
        )

    def _set(self, loss_scale):
        return tf.group(
            tf.assign(self._loss_scale, loss_scale),
            tf.assign(self._good_steps, 0),
            tf.assign(self._bad_steps, 0),
        )


class LossScaleOptimizer(tf.train.Optimizer):
    """Scales the loss for another optimizer, and skips updates that are not finite."""

    def __init__(self, opt, loss_scale_manager):
        super().__init__(use_locking=False, name="LossScaleOptimizer")
        self._opt = opt
        self._loss_scale_manager = loss_scale_manager

    def compute_gradients(self, loss, *args, **kwargs):
        """Return the gradients of a loss, without the scale."""
        loss = loss() if callable(loss) else loss
        loss_scale = self._loss_scale_manager.get_loss_scale()
        scaled = loss * tf.cast(loss_scale, loss.dtype.base_dtype)
        inverse = tf.math.reciprocal(loss_scale)
        return [
            (grad if grad is None else grad * tf.cast(inverse, grad.dtype.base_dtype), variable)
            for grad, variable in self._opt.compute_gradients(scaled, *args, **kwargs)
        ]

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Return the operation that updates the variables and the scale."""
        grads_and_vars = list(grads_and_vars)
        finite = tf.reduce_all(
            [tf.reduce_all(tf.is_finite(grad)) for grad, _ in grads_and_vars if grad is not None]
        )
        update = tf.cond(
            finite,
            lambda: tf.group(self._opt.apply_gradients(grads_and_vars, global_step, name)),
            tf.no_op,
        )
        return tf.group(update, self._loss_scale_manager.update_loss_scale(finite))
