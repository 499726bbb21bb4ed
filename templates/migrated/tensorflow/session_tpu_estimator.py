"""The TPUEstimator of tf.contrib.tpu without a TPU: one process on the CPU or on one GPU."""

import session_estimator
import tensorflow.compat.v1 as tf


class InputPipelineConfig:
    """How the input of a TPU is fed; without effect here."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4


class TPUConfig:
    """The settings of a TPU; without effect here."""

    def __init__(self, *_, **__):
        pass


class TPURunConfig(session_estimator.RunConfig):
    """The settings of a run that could also use a TPU."""

    def __init__(self, tpu_config=None, evaluation_master=None, master=None, cluster=None, **given):
        super().__init__(**given)
        if master or evaluation_master or cluster is not None:
            raise ValueError("TPUs and clusters are not supported.")
        self.tpu_config = tpu_config or TPUConfig()


class TPUEstimatorSpec:
    """What the model function of a TPUEstimator returns."""

    def __init__(
        self,
        mode,
        predictions=None,
        loss=None,
        train_op=None,
        eval_metrics=None,
        export_outputs=None,
        scaffold_fn=None,
        host_call=None,
        training_hooks=None,
        evaluation_hooks=None,
        prediction_hooks=None,
    ):
        self.mode, self.predictions, self.loss, self.train_op = mode, predictions, loss, train_op
        self.eval_metrics, self.export_outputs = eval_metrics, export_outputs
        self.scaffold_fn, self.host_call = scaffold_fn, host_call
        self.training_hooks = training_hooks
        self.evaluation_hooks, self.prediction_hooks = evaluation_hooks, prediction_hooks

    def as_estimator_spec(self):
        """Return the specification of an Estimator."""
        hooks = []
        if self.host_call:
            hooks.append(_Runs(_called(self.host_call)))
        metrics = _called(self.eval_metrics) if self.eval_metrics else None
        return session_estimator.EstimatorSpec(
            self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=metrics,
            export_outputs=self.export_outputs,
            training_hooks=[*(self.training_hooks or ()), *hooks],
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
            evaluation_hooks=[*(self.evaluation_hooks or ()), *hooks],
            prediction_hooks=self.prediction_hooks,
        )


class _Runs(tf.train.SessionRunHook):
    """Runs a tensor in every step."""

    def __init__(self, tensor):
        self.tensor = tensor

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self.tensor)


class TPUEstimator(session_estimator.Estimator):
    """An Estimator whose functions get the batch size in `params`, without a TPU."""

    def __init__(
        self,
        model_fn=None,
        model_dir=None,
        config=None,
        params=None,
        use_tpu=True,
        train_batch_size=None,
        eval_batch_size=None,
        predict_batch_size=None,
        **_,
    ):
        if use_tpu:
            raise ValueError("TPUs are not supported: pass use_tpu=False.")
        super().__init__(model_fn, model_dir, config or TPURunConfig(), dict(params or {}))
        self.batch_sizes = {
            session_estimator.ModeKeys.TRAIN: train_batch_size,
            session_estimator.ModeKeys.EVAL: eval_batch_size,
            session_estimator.ModeKeys.PREDICT: predict_batch_size,
        }

    def _arguments(self, mode):
        size = self.batch_sizes[mode]
        params = {**self.params, "use_tpu": False}
        if size is not None:
            params["batch_size"] = size
        return {**super()._arguments(mode), "params": params}


def _called(call):
    function, tensors = call
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)
