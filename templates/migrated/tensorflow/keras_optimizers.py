"""Classes that run the updates of optimizers written for Keras 2 in Keras 3."""

import tensorflow as tf


class Keras2Updates:
    """Runs the update methods that Keras 2 called: Keras 3 calls update_step instead."""

    _use_locking = False

    def __init__(self, *args, decay=0.0, **kwargs):
        super().__init__(*args, **kwargs)
        self._initial_decay = decay

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        paths = {self._var_key(v): v.path for v in variables if hasattr(v, "path")}
        vars(self).update(_paths=paths, _slots={})  # not tracked: the keys are no strings
        self._create_slots([v.value if hasattr(v, "path") else v for v in variables])

    def apply_gradients(self, grads_and_vars, name=None, experimental_aggregate_gradients=True):
        if not experimental_aggregate_gradients:
            raise NotImplementedError("Keras 3 adds up the gradients of the replicas by itself")
        grads, variables = zip(*grads_and_vars)
        super().apply(list(grads), list(variables))
        return self.iterations

    def apply(self, grads, trainable_variables=None):
        if trainable_variables is None:
            trainable_variables = self._trainable_variables
        self.apply_gradients(zip(grads, trainable_variables))

    def update_step(self, gradient, variable, learning_rate):
        place = (variable.device, variable.dtype.base_dtype)
        state = {place: {}}
        self._prepare_local(*place, state)
        if isinstance(gradient, tf.IndexedSlices):
            self._resource_apply_sparse_duplicate_indices(
                gradient.values, variable, gradient.indices, apply_state=state
            )
        else:
            self._resource_apply_dense(gradient, variable, apply_state=state)

    def _clip_gradients(self, grads):
        if self.global_clipnorm:
            return tf.clip_by_global_norm(grads, self.global_clipnorm)[0]
        return super()._clip_gradients(grads)

    def _apply_weight_decay(self, variables):
        """Do nothing: optimizers of Keras 2 decay weights by their own methods."""

    def _create_slots(self, var_list):
        """Create no slots, unless a class does."""

    def _prepare_local(self, var_device, var_dtype, apply_state):
        apply_state[(var_device, var_dtype)]["lr_t"] = self._decayed_lr(var_dtype)

    def _fallback_apply_state(self, var_device, var_dtype):
        state = {(var_device, var_dtype): {}}
        self._prepare_local(var_device, var_dtype, state)
        return state[(var_device, var_dtype)]

    def _decayed_lr(self, var_dtype):
        rate, step = self._learning_rate, tf.cast(self.iterations, var_dtype)
        if isinstance(rate, tf.keras.optimizers.schedules.LearningRateSchedule):
            rate = rate(step)
        elif callable(rate):
            rate = rate()
        rate = tf.cast(rate, var_dtype)
        decay = self._initial_decay
        return rate / (1.0 + tf.cast(decay, var_dtype) * step) if decay else rate

    def _resource_apply_dense(self, grad, var, apply_state=None):
        rate = apply_state[(var.device, var.dtype.base_dtype)]["lr_t"]
        super().update_step(grad, var, rate)
        return tf.no_op()  # may be given to control_dependencies

    def _resource_apply_sparse(self, grad, var, indices, apply_state=None):
        rate = apply_state[(var.device, var.dtype.base_dtype)]["lr_t"]
        super().update_step(tf.IndexedSlices(grad, indices, tf.shape(var)), var, rate)
        return tf.no_op()

    def _resource_apply_sparse_duplicate_indices(self, grad, var, indices, **kwargs):
        rows, places = tf.unique(indices)
        sums = tf.math.unsorted_segment_sum(grad, places, tf.shape(rows)[0])
        self._resource_apply_sparse(sums, var, rows, **kwargs)

    def _resource_scatter_add(self, x, i, v):
        tf.raw_ops.ResourceScatterAdd(resource=x.handle, indices=i, updates=v)
        return x.value()

    def _resource_scatter_update(self, x, i, v):
        tf.raw_ops.ResourceScatterUpdate(resource=x.handle, indices=i, updates=v)
        return x.value()

    def add_slot(self, var, slot_name, initializer="zeros"):
        key = (self._var_key(var), slot_name)
        if key not in self._slots:
            given = initializer
            if not isinstance(given, str) and not callable(given):
                initializer = lambda shape, dtype=None: tf.cast(given, dtype)
            self._slots[key] = self.add_variable_from_reference(var, slot_name, initializer)
        return self._slots[key].value

    def get_slot(self, var, slot_name):
        return self._slots[(self._var_key(var), slot_name)].value

    def name_in_keras_2(self, variable):
        """Return layer and weight, as Keras 2 named it: Keras 3 leaves the layer out."""
        path = getattr(variable, "path", None) or self._paths.get(self._var_key(variable))
        return f"{path}:0" if path else variable.name

    def _set_hyper(self, name, value):
        if name != "decay":
            setattr(self, name, value)

    def _hyper(self, name):
        private = {"decay": "_initial_decay", "learning_rate": "_learning_rate"}
        return getattr(self, private.get(name, name))

    def _get_hyper(self, name, dtype=None):
        value = self._hyper(name)
        if isinstance(value, tf.keras.optimizers.schedules.LearningRateSchedule):
            return value
        value = value() if callable(value) else value
        if dtype is None and isinstance(value, bool):
            return value
        return tf.cast(value, dtype or tf.float32)

    def _serialize_hyperparameter(self, name):
        value = self._hyper(name)
        if isinstance(value, tf.keras.optimizers.schedules.LearningRateSchedule):
            return tf.keras.optimizers.schedules.serialize(value)
        value = value() if callable(value) else value
        return value.numpy().item() if hasattr(value, "numpy") else value


class Keras2Optimizer(Keras2Updates, tf.keras.optimizers.Optimizer):
    """An optimizer with the arguments and the configuration of Keras 2."""

    def __init__(self, name, lr=None, **kwargs):
        super().__init__(learning_rate=0.0 if lr is None else float(lr), name=name, **kwargs)

    def get_config(self):
        clips = {clip: getattr(self, clip) for clip in ("clipnorm", "clipvalue", "global_clipnorm")}
        return {"name": self.name} | {clip: value for clip, value in clips.items() if value}
