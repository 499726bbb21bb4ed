"""Optimizer classes for Keras 2, migrated and compared."""

import re

import tensorflow as tf


class NormDecay(tf.keras.optimizers.Adam):
    """Decays weights by their names and clips all gradients together."""

    def __init__(self, learning_rate=0.001, epsilon=1e-6, decay_rate=0.0, name="ND", **kwargs):
        super(NormDecay, self).__init__(learning_rate, 0.9, 0.99, epsilon, False, name, **kwargs)
        self.decay_rate = decay_rate

    def _prepare_local(self, var_device, var_dtype, apply_state):
        super()._prepare_local(var_device, var_dtype, apply_state)
        apply_state["decay_rate"] = tf.constant(self.decay_rate)

    def apply_gradients(self, grads_and_vars, name=None, **kwargs):
        grads, variables = zip(*grads_and_vars)
        grads, _ = tf.clip_by_global_norm(grads, 0.5)
        return super().apply_gradients(zip(grads, variables), name=name, **kwargs)

    def _decay(self, var, apply_state):
        if any(re.search(pattern, var.name) for pattern in ("layer_norm", "bias:0$")):
            return tf.no_op()
        rate = apply_state[(var.device, var.dtype.base_dtype)]["lr_t"]
        return var.assign_sub(rate * apply_state["decay_rate"] * var, self._use_locking)

    def _resource_apply_dense(self, grad, var, apply_state=None):
        with tf.control_dependencies([self._decay(var, apply_state)]):
            return super()._resource_apply_dense(grad, var, apply_state=apply_state)

    def _resource_apply_sparse(self, grad, var, indices, apply_state=None):
        with tf.control_dependencies([self._decay(var, apply_state)]):
            return super()._resource_apply_sparse(grad, var, indices, apply_state=apply_state)


class SlowMomentum(tf.keras.optimizers.Optimizer):
    """Momentum, lazily in sparse rows, and a slow copy of the weights."""

    def __init__(self, learning_rate=0.01, momentum=0.9, name="SlowMomentum", **kwargs):
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("momentum", momentum)

    def _create_slots(self, var_list):
        for var in var_list:
            self.add_slot(var, "momentum")
            self.add_slot(var, "slow", initializer=var)

    def _resource_apply_dense(self, grad, var):
        rate, momentum = self._decayed_lr(var.dtype), self._get_hyper("momentum", var.dtype)
        slot, slow = self.get_slot(var, "momentum"), self.get_slot(var, "slow")
        slot.assign(momentum * slot + grad)
        var.assign_sub(rate * slot)
        turn = tf.equal((self.iterations + 1) % 3, 0)
        slow.assign(tf.where(turn, slow + 0.5 * (var - slow), slow))
        return var.assign(tf.where(turn, slow, var))

    def _resource_apply_sparse(self, grad, var, indices):
        rate, momentum = self._decayed_lr(var.dtype), self._get_hyper("momentum", var.dtype)
        slot = self.get_slot(var, "momentum")
        rows = momentum * tf.gather(slot, indices) + grad
        updates = self._resource_scatter_update(slot, indices, rows)
        with tf.control_dependencies([updates]):
            return self._resource_scatter_add(var, indices, -rate * rows)

    def get_config(self):
        config = super().get_config()
        for name in ("learning_rate", "decay", "momentum"):
            config[name] = self._serialize_hyperparameter(name)
        return config


RATE = tf.keras.optimizers.schedules.PolynomialDecay(0.05, 6, 0.01)
OPTIMIZERS = {
    "decayed": lambda: NormDecay(RATE, decay_rate=0.3),
    "decayed rate": lambda: NormDecay(0.05, decay_rate=0.3, decay=0.5),
    "again": lambda: SlowMomentum.from_config(SlowMomentum(RATE).get_config()),
    "slow": lambda: SlowMomentum(0.05, decay=0.5, global_clipnorm=0.7),
}
