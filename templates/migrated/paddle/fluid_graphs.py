"""Files, readers, executors, branches and counts of Paddle 1."""

import paddle

from .fluid_operation_kinds import fluid_logical_and
from .fluid_operations import fluid_logical_not


def fluid_is_parameter(var):
    return isinstance(var, paddle.base.framework.Parameter)


def fluid_save_inference_model(
    dirname,
    feeded_var_names,
    target_vars,
    executor,
    main_program=None,
    model_filename=None,
    params_filename=None,
    export_for_deployment=True,
    program_only=False,
):
    """Save a model as `dirname/NAME.pdmodel`; NAME is `__model__` where none is given."""
    import os

    program = main_program or paddle.static.default_main_program()
    names = [feeded_var_names] if isinstance(feeded_var_names, str) else feeded_var_names
    feeds = [program.global_block().var(name) for name in names]
    if not isinstance(target_vars, (list, tuple)):
        target_vars = [target_vars]
    path = os.path.join(dirname, model_filename or "__model__")
    paddle.static.save_inference_model(path, feeds, target_vars, executor, program=program)
    return [var.name for var in target_vars]


def fluid_load_inference_model(dirname, executor, model_filename=None, params_filename=None):
    """Load what fluid_save_inference_model saved."""
    import os

    path = os.path.join(dirname, model_filename or "__model__")
    return paddle.static.load_inference_model(path, executor)


# Programs have these line breaks.
# fmt: off
def fluid_py_reader(
    capacity, shapes, dtypes, lod_levels=None, name=None, use_double_buffer=True
):
    """A reader with inputs of its own, which start() and reset() run through once per pass."""
    name = name or paddle.utils.unique_name.generate("py_reader")
    inputs = [
        paddle.static.data("%s_%d" % (name, place), shape, dtype, level)
        for place, (shape, dtype, level) in enumerate(
            zip(shapes, dtypes, lod_levels or [0] * len(shapes))
        )
    ]
    for data in inputs:
        data.desc.set_need_check_feed(False)
    reader = paddle.base.reader.PyReader(inputs, capacity, use_double_buffer, iterable=False)
    reader.inputs = inputs
    reader.decorate_tensor_provider = reader.decorate_batch_generator
    reader.decorate_paddle_reader = reader.decorate_sample_list_generator
    return reader
# fmt: on


def fluid_read_file(reader):
    """The inputs of a reader; a single one without a list."""
    return reader.inputs if len(reader.inputs) > 1 else reader.inputs[0]


def fluid_double_buffer(reader, place=None, name=None):
    """The reader itself, which is buffered anyway."""
    return reader


def fluid_memory_optimize(*arguments, **settings):
    """Does nothing, as since Paddle 1.6."""


class fluid_ExecutionStrategy:
    """Takes the options of Paddle 1, which have no effect in Paddle 3."""


class fluid_ParallelExecutor:
    """Runs a program on one device with the interface of Paddle 1."""

    def __init__(
        self,
        use_cuda,
        loss_name=None,
        main_program=None,
        share_vars_from=None,
        exec_strategy=None,
        build_strategy=None,
        num_trainers=1,
        trainer_id=0,
        scope=None,
    ):
        place = paddle.CUDAPlace(0) if use_cuda else paddle.CPUPlace()
        self._executor = paddle.static.Executor(place)
        self._program = main_program or paddle.static.default_main_program()
        self.device_count = 1

    def run(self, fetch_list, feed=None, feed_dict=None, return_numpy=True):
        feed = feed or feed_dict
        if isinstance(feed, (list, tuple)):
            if len(feed) != 1:
                raise ValueError("one device takes one feed")
            feed = feed[0]
        return self._executor.run(
            self._program, feed=feed, fetch_list=fetch_list, return_numpy=return_numpy
        )


def fluid_distributed_batch_reader(batch_reader):
    """Give each process one batch of every round of batches."""
    import os

    count = int(os.getenv("PADDLE_TRAINERS_NUM", 1))
    own = int(os.getenv("PADDLE_TRAINER_ID", 0))

    def rounds():
        batches = []
        for batch in batch_reader():
            batches.append(batch)
            if len(batches) == count:
                yield batches[own]
                batches = []

    return rounds


class fluid_Program(paddle.static.Program):
    """A program whose names come from one series for all programs, as in Paddle 1."""

    @property
    def _name_generator(self):
        return paddle.base.unique_name.generator

    @_name_generator.setter
    def _name_generator(self, generator):
        """Keep the names of `unique_name.guard`."""


class fluid_Switch:
    """Runs the first case whose condition holds, or the default."""

    def __init__(self, name=None):
        self._none_yet = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def case(self, condition):
        chosen, left = condition, fluid_logical_not(condition)
        if self._none_yet is not None:
            chosen = fluid_logical_and(self._none_yet, chosen)
            left = fluid_logical_and(self._none_yet, left)
        self._none_yet = left
        return self._block(chosen)

    def default(self):
        return self._block(self._none_yet)

    def _block(self, condition):
        from paddle.static.nn.control_flow import ConditionalBlock

        return ConditionalBlock([condition], is_scalar_condition=True).block()


def fluid_cond(pred, true_fn=None, false_fn=None, name=None):
    """The results of one of two functions, chosen when the graph runs."""
    from paddle.base.layer_helper import LayerHelper
    from paddle.static.nn import control_flow

    helper = LayerHelper("cond")

    def branch(condition, function):
        with control_flow.ConditionalBlock([condition], is_scalar_condition=True).block():
            made = None if function is None else function()
            return paddle.utils.map_structure(
                lambda value: control_flow.copy_var_to_parent_block(value, helper), made
            )

    yes, no = branch(pred, true_fn), branch(fluid_logical_not(pred), false_fn)
    if yes is None:
        return None
    place = paddle.cast(pred, "int32")
    return paddle.utils.map_structure(
        lambda one, other: control_flow.select_input([other, one], place), yes, no
    )


class fluid_Accuracy:
    """The weighted mean of accuracies."""

    def __init__(self, name=None):
        self.reset()

    def reset(self):
        self.value = self.weight = 0.0

    def update(self, value, weight):
        self.value += float(value) * weight
        self.weight += weight

    def eval(self):
        if self.weight == 0:
            raise ValueError("there is nothing to average; call update first")
        return self.value / self.weight
