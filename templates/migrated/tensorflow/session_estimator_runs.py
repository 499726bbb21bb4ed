"""Inputs, and training with evaluation, for the estimators of session_estimator.py."""

import time

import tensorflow.compat.v1 as tf


def numpy_input_fn(
    x, y=None, batch_size=128, num_epochs=1, shuffle=None, queue_capacity=1000, num_threads=1
):
    """Return a function that feeds arrays; it shuffles among `queue_capacity` rows."""
    if not isinstance(shuffle, bool):
        raise ValueError("shuffle must be True or False.")
    del num_threads

    def input_fn():
        rows = tf.data.Dataset.from_tensor_slices(x if y is None else (x, y))
        if shuffle:
            rows = rows.shuffle(queue_capacity)
        batches = rows.repeat(num_epochs).batch(batch_size)
        return tf.data.make_one_shot_iterator(batches).get_next()

    return input_fn


class TrainSpec:
    """What train_and_evaluate trains with."""

    def __init__(self, input_fn, max_steps=None, hooks=None):
        self.input_fn, self.max_steps, self.hooks = input_fn, max_steps, tuple(hooks or ())


class EvalSpec:
    """What train_and_evaluate evaluates with."""

    def __init__(
        self,
        input_fn,
        steps=100,
        name=None,
        hooks=None,
        exporters=None,
        start_delay_secs=120,
        throttle_secs=600,
    ):
        if exporters:
            raise ValueError("Exporters are not supported.")
        self.input_fn, self.steps, self.name = input_fn, steps, name
        self.hooks = tuple(hooks or ())
        self.throttle_secs = throttle_secs


class _Evaluator(tf.train.CheckpointSaverListener):
    """Evaluates after a checkpoint, at most every `throttle_secs`."""

    def __init__(self, estimator, spec):
        self.estimator, self.spec = estimator, spec
        self.last = self.step = self.metrics = None

    def after_save(self, session, global_step_value):
        if self.last is None:  # the checkpoint before the first update
            self.last = time.time()
        elif time.time() - self.last >= self.spec.throttle_secs:
            self.evaluate(global_step_value)

    def end(self, session, global_step_value):
        if self.step != global_step_value:
            self.evaluate(global_step_value)

    def evaluate(self, step):
        spec = self.spec
        self.metrics = self.estimator.evaluate(
            spec.input_fn, steps=spec.steps, hooks=spec.hooks, name=spec.name
        )
        self.step, self.last = step, time.time()


def train_and_evaluate(estimator, train_spec, eval_spec):
    """Train, and evaluate the checkpoints; return the last metrics and no exports."""
    listener = _Evaluator(estimator, eval_spec)
    estimator.train(
        train_spec.input_fn,
        hooks=train_spec.hooks,
        max_steps=train_spec.max_steps,
        saving_listeners=[listener],
    )
    return listener.metrics, []
