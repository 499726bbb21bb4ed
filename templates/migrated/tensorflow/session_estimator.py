"""Estimators for tf.compat.v1: TensorFlow itself has none since version 2.16.

The classes have the names, arguments and files of tf.estimator, and train in one process on the CPU
or on one GPU. Distribution strategies and exports are not supported.
"""

import copy
import inspect
import os
import tempfile
import typing

import numpy as np
import tensorflow.compat.v1 as tf


class ModeKeys:
    """The modes of a model function."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


class EstimatorSpec:
    """What a model function returns."""

    def __init__(
        self,
        mode,
        predictions=None,
        loss=None,
        train_op=None,
        eval_metric_ops=None,
        export_outputs=None,
        training_chief_hooks=None,
        training_hooks=None,
        scaffold=None,
        evaluation_hooks=None,
        prediction_hooks=None,
    ):
        if mode == ModeKeys.TRAIN and train_op is None:
            raise ValueError("Missing train_op.")
        if mode != ModeKeys.PREDICT and loss is None:
            raise ValueError("Missing loss.")
        if mode == ModeKeys.PREDICT and predictions is None:
            raise ValueError("Missing predictions.")
        self.mode = mode
        self.predictions = {} if predictions is None else predictions
        self.loss = None if loss is None else tf.reshape(tf.convert_to_tensor(loss), [])
        self.train_op = train_op
        self.eval_metric_ops = eval_metric_ops or {}
        self.export_outputs = export_outputs
        self.training_hooks = [*(training_chief_hooks or ()), *(training_hooks or ())]
        self.scaffold = scaffold
        self.evaluation_hooks = list(evaluation_hooks or ())
        self.prediction_hooks = list(prediction_hooks or ())


class RunConfig:
    """The settings of a run."""

    def __init__(
        self,
        model_dir=None,
        tf_random_seed=None,
        save_summary_steps=100,
        save_checkpoints_steps=None,
        save_checkpoints_secs=None,
        session_config=None,
        keep_checkpoint_max=5,
        keep_checkpoint_every_n_hours=10000,
        log_step_count_steps=100,
        train_distribute=None,
        device_fn=None,
        protocol=None,
        eval_distribute=None,
        experimental_distribute=None,
        experimental_max_worker_delay_secs=None,
        session_creation_timeout_secs=7200,
    ):
        if train_distribute or eval_distribute or experimental_distribute:
            raise ValueError("A distribution strategy needs a loop of its own.")
        if save_checkpoints_steps is not None and save_checkpoints_secs is not None:
            raise ValueError("Set one of save_checkpoints_steps and save_checkpoints_secs.")
        if save_checkpoints_steps is None and save_checkpoints_secs is None:
            save_checkpoints_secs = 600
        self.model_dir = model_dir
        self.tf_random_seed = tf_random_seed
        self.save_summary_steps = save_summary_steps
        self.save_checkpoints_steps = save_checkpoints_steps
        self.save_checkpoints_secs = save_checkpoints_secs
        self.session_config = session_config
        self.keep_checkpoint_max = keep_checkpoint_max
        self.keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self.log_step_count_steps = log_step_count_steps
        self.device_fn = device_fn
        self.train_distribute = self.eval_distribute = None
        self.is_chief = True
        self.num_worker_replicas = 1
        self.num_ps_replicas = 0
        self.global_id_in_cluster = self.task_id = 0
        self.task_type = "worker"
        self.master = self.evaluation_master = ""

    def replace(self, **changes):
        """Return a copy with other values."""
        changed = object.__new__(type(self))
        changed.__dict__.update(self.__dict__, **changes)
        return changed


class WarmStartSettings(typing.NamedTuple):
    """Which variables start from which checkpoint."""

    ckpt_to_initialize_from: str
    vars_to_warm_start: object = ".*"
    var_name_to_vocab_info: object = None
    var_name_to_prev_var_name: object = None


class PredictOutput(typing.NamedTuple):
    """The outputs of an exported model; exports themselves are not supported."""

    outputs: object


class ServingInputReceiver(typing.NamedTuple):
    """The inputs of an exported model; exports themselves are not supported."""

    features: object
    receiver_tensors: object
    receiver_tensors_alternatives: object = None


TensorServingInputReceiver = ServingInputReceiver


class Estimator:
    """Trains, evaluates and predicts with a model function."""

    def __init__(self, model_fn, model_dir=None, config=None, params=None, warm_start_from=None):
        if isinstance(warm_start_from, str):
            warm_start_from = WarmStartSettings(warm_start_from)
        self._warm_start = warm_start_from
        self.config = config or RunConfig()
        self.model_dir = model_dir or self.config.model_dir or tempfile.mkdtemp()
        self.config = self.config.replace(model_dir=self.model_dir)
        self.model_fn = model_fn
        self._params = copy.deepcopy(params or {})

    @property
    def params(self):
        """Return a copy of the hyperparameters."""
        return copy.deepcopy(self._params)

    def train(self, input_fn, hooks=None, steps=None, max_steps=None, saving_listeners=None):
        """Train until the input ends, `steps` more steps or `max_steps` in all."""
        if steps is not None and max_steps is not None:
            raise ValueError("Set one of steps and max_steps.")
        latest = self.latest_checkpoint()
        done = tf.train.load_variable(latest, "global_step") if latest and max_steps else 0
        if max_steps is not None and done >= max_steps:
            tf.logging.info("Skipping training since max_steps has already been reached.")
            return self
        hooks = list(hooks or ())
        if steps is not None or max_steps is not None:
            hooks.append(tf.train.StopAtStepHook(steps, max_steps))
        with tf.Graph().as_default(), tf.device(self.config.device_fn):
            tf.set_random_seed(self.config.tf_random_seed)
            step = tf.train.get_or_create_global_step()
            features, labels, input_hooks = self._inputs(input_fn, ModeKeys.TRAIN)
            spec = self._model(features, labels, ModeKeys.TRAIN)
            self._train(spec, step, [*input_hooks, *hooks], saving_listeners)
        return self

    def _train(self, spec, step, hooks, saving_listeners):
        config = self.config
        if self._warm_start is not None:
            tf.train.warm_start(*self._warm_start)
        tf.summary.scalar("loss", spec.loss)
        hooks.append(tf.train.NanTensorHook(spec.loss))
        if config.log_step_count_steps is not None:
            shown = {"loss": spec.loss, "step": step}
            every = config.log_step_count_steps
            hooks.append(tf.train.LoggingTensorHook(shown, every_n_iter=every))
        hooks += spec.training_hooks
        scaffold = spec.scaffold or tf.train.Scaffold()
        if not (scaffold.saver or tf.get_collection(tf.GraphKeys.SAVERS)):
            saver = tf.train.Saver(
                sharded=True,
                max_to_keep=config.keep_checkpoint_max,
                keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
                defer_build=True,
                save_relative_paths=True,
            )
            tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
        saves = [hook for hook in hooks if isinstance(hook, tf.train.CheckpointSaverHook)]
        if not saves and (config.save_checkpoints_secs or config.save_checkpoints_steps):
            saves = [
                tf.train.CheckpointSaverHook(
                    self.model_dir,
                    save_secs=config.save_checkpoints_secs,
                    save_steps=config.save_checkpoints_steps,
                    scaffold=scaffold,
                )
            ]
            hooks += saves
        if saving_listeners:
            if not saves:
                raise ValueError("saving_listeners need checkpoints, which the config turns off.")
            saves[0]._listeners.extend(saving_listeners)
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=self.model_dir,
            scaffold=scaffold,
            hooks=hooks,
            save_checkpoint_secs=0,
            save_summaries_steps=config.save_summary_steps,
            config=_session_config(config),
            log_step_count_steps=config.log_step_count_steps,
        ) as session:
            loss = None
            while not session.should_stop():
                _, loss = session.run([spec.train_op, spec.loss])
        tf.logging.info("Loss for final step: %s.", loss)

    def evaluate(self, input_fn, steps=None, hooks=None, checkpoint_path=None, name=None):
        """Return the metrics of a checkpoint, the latest one by default."""
        path = checkpoint_path or self.latest_checkpoint()
        with tf.Graph().as_default(), tf.device(self.config.device_fn):
            tf.set_random_seed(self.config.tf_random_seed)
            step = tf.train.get_or_create_global_step()
            features, labels, input_hooks = self._inputs(input_fn, ModeKeys.EVAL)
            spec = self._model(features, labels, ModeKeys.EVAL)
            metrics = {**spec.eval_metric_ops, "loss": tf.metrics.mean(spec.loss)}
            metrics = {key: _value_and_update(metric) for key, metric in metrics.items()}
            updates = tf.group(*(update for _, update in metrics.values()))
            values = {key: value for key, (value, _) in metrics.items()}
            values["global_step"] = step
            creator = tf.train.ChiefSessionCreator(
                scaffold=spec.scaffold,
                checkpoint_filename_with_path=path,
                config=_session_config(self.config),
            )
            results = _Results(updates, values, steps)
            hooks = [*input_hooks, *(hooks or ()), *spec.evaluation_hooks, results]
            with tf.train.MonitoredSession(creator, hooks) as session:
                while not session.should_stop():
                    session.run(updates)
            found = results.found
            self._write_summary(found, f"eval_{name}" if name else "eval")
        tf.logging.info("Saving dict for global step %s: %s", found["global_step"], found)
        return found

    def predict(
        self,
        input_fn,
        predict_keys=None,
        hooks=None,
        checkpoint_path=None,
        yield_single_examples=True,
    ):
        """Yield the predictions of every example, or of every batch."""
        path = checkpoint_path or self.latest_checkpoint()
        if not path:
            raise ValueError(f"Could not find trained model in model_dir: {self.model_dir}.")
        with tf.Graph().as_default(), tf.device(self.config.device_fn):
            tf.set_random_seed(self.config.tf_random_seed)
            tf.train.get_or_create_global_step()
            features, _, input_hooks = self._inputs(input_fn, ModeKeys.PREDICT)
            spec = self._model(features, None, ModeKeys.PREDICT)
            wanted = spec.predictions
            if predict_keys:
                wanted = {key: value for key, value in wanted.items() if key in predict_keys}
            creator = tf.train.ChiefSessionCreator(
                scaffold=spec.scaffold,
                checkpoint_filename_with_path=path,
                config=_session_config(self.config),
            )
            hooks = [*input_hooks, *(hooks or ()), *spec.prediction_hooks]
            with tf.train.MonitoredSession(creator, hooks) as session:
                while not session.should_stop():
                    batch = session.run(wanted)
                    if not yield_single_examples:
                        yield batch
                    elif isinstance(batch, dict):
                        count = len(next(iter(batch.values())))
                        for row in range(count):
                            yield {key: value[row] for key, value in batch.items()}
                    else:
                        yield from batch

    def latest_checkpoint(self):
        """Return the path of the latest checkpoint; None if there is none."""
        return tf.train.latest_checkpoint(self.model_dir)

    def get_variable_names(self):
        """Return the names of the variables of the latest checkpoint."""
        return [name for name, _ in tf.train.list_variables(self.model_dir)]

    def get_variable_value(self, name):
        """Return the value of a variable of the latest checkpoint."""
        return tf.train.load_variable(self.model_dir, name)

    def export_savedmodel(self, *_, **__):
        """Raise an error: write the export with tf.saved_model.simple_save in a session."""
        raise NotImplementedError("Export with tf.saved_model.simple_save in a session.")

    export_saved_model = export_savedmodel

    def _arguments(self, mode):
        return {"mode": mode, "params": self.params, "config": self.config}

    def _inputs(self, input_fn, mode):
        """Return features, labels and the hooks that start the input."""
        accepted = _accepted(input_fn)
        given = {key: value for key, value in self._arguments(mode).items() if key in accepted}
        with tf.device("/cpu:0"):
            found = input_fn(**given)
            if isinstance(found, tf.data.Dataset):
                iterator = tf.data.make_initializable_iterator(found)
                tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
                found = iterator.get_next()
        if isinstance(found, (list, tuple)):
            if len(found) != 2:
                raise ValueError("input_fn must return features and labels.")
            return found[0], found[1], []
        return found, None, []

    def _model(self, features, labels, mode):
        accepted = _accepted(self.model_fn)
        given = {key: value for key, value in self._arguments(mode).items() if key in accepted}
        if "labels" in accepted:
            given["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn takes no labels, but input_fn returns some.")
        spec = self.model_fn(features=features, **given)
        return spec.as_estimator_spec() if hasattr(spec, "as_estimator_spec") else spec

    def _write_summary(self, found, folder):
        writer = tf.summary.FileWriterCache.get(os.path.join(self.model_dir, folder))
        summary = tf.Summary()
        for key, value in found.items():
            if key != "global_step" and np.ndim(value) == 0:
                summary.value.add(tag=key, simple_value=float(value))
        writer.add_summary(summary, found["global_step"])
        writer.flush()


class _Results(tf.train.SessionRunHook):
    """Ends an evaluation after some batches and keeps its metrics."""

    def __init__(self, updates, values, steps):
        self.updates, self.values, self.steps = updates, values, steps
        self.done = 0
        self.found = None

    def after_run(self, run_context, run_values):
        self.done += 1
        if self.steps is not None and self.done >= self.steps:
            run_context.request_stop()

    def end(self, session):
        self.found = session.run(self.values)


def _accepted(function):
    """Return the names of the arguments of a function."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return {"labels", "mode", "params", "config"}
    return {parameter.name for parameter in parameters}


def _value_and_update(metric):
    return (metric.result(), metric.updates[0]) if hasattr(metric, "result") else metric


def _session_config(config):
    return config.session_config or tf.ConfigProto(allow_soft_placement=True)
