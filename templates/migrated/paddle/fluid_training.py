"""Learning rates in the graph, averages of weights, and clipping of Paddle 1."""

import paddle

from .fluid_operations import fluid_op


def fluid_optimizer(kind, learning_rate, regularization=None, parameter_list=None, **settings):
    """An optimizer whose learning rate may be a variable of the graph, as in Paddle 1."""
    known = isinstance(learning_rate, (int, float, paddle.optimizer.lr.LRScheduler))
    if regularization is not None:
        settings["weight_decay"] = regularization
    rate = learning_rate if known else 0.0
    rate = float(rate) if isinstance(rate, int) else rate
    optimizer = kind(learning_rate=rate, parameters=parameter_list, **settings)
    if not known:
        optimizer._learning_rate = learning_rate
        optimizer._learning_rate_map[paddle.static.default_main_program()] = learning_rate
    return optimizer


class fluid_ExponentialMovingAverage:
    """A moving average of the weights; apply() puts it in their place, corrected for its start."""

    def __init__(self, decay=0.999, thres_steps=None, name=None):
        def variable(shape, value, dtype, name):
            return paddle.static.create_global_var(shape, value, dtype, True, name=name)

        program = paddle.static.default_main_program()
        with program._lr_schedule_guard():
            self._decay = variable([1], float(decay), "float32", "scheduled_ema_decay_rate")
            if thres_steps is not None:
                rising = (thres_steps + 1.0) / (thres_steps + 10.0)
                limits = {"X": rising, "Y": paddle.full([1], float(decay), "float32")}
                paddle.assign(fluid_op("elementwise_min", limits, axis=-1), self._decay)
        self._averages = []
        for weight in program.global_block().all_parameters():
            if weight.do_model_average:
                own = paddle.utils.unique_name.generate((name or "") + weight.name + "_ema")
                average = variable(weight.shape, 0.0, weight.dtype, own)
                self._averages.append((weight, average))
        self.apply_program, self.restore_program = (paddle.static.Program() for _ in range(2))
        with paddle.static.program_guard(self.apply_program):
            block = self.apply_program.global_block()
            step = paddle.cast(variable([1], 0, "int64", "@EMA_STEP_COUNTER@"), "float32")
            powers = {"X": block._clone_variable(self._decay), "Y": step}
            started = paddle.cast(step > 0.0, "float32")
            share = 1.0 - fluid_op("elementwise_pow", powers, axis=-1) * started
            for weight, average in self._averages:
                weight, kept = block._clone_variable(weight), self._kept(block, weight)
                paddle.assign(weight, kept)
                paddle.assign(block._clone_variable(average) / share, weight)
        with paddle.static.program_guard(self.restore_program):
            block = self.restore_program.global_block()
            for weight, _ in self._averages:
                paddle.assign(self._kept(block, weight), block._clone_variable(weight))

    @staticmethod
    def _kept(block, weight):
        name, dtype = weight.name + "@EMA_KEPT", weight.dtype
        return block.create_var(name=name, shape=weight.shape, dtype=dtype, persistable=True)

    def update(self):
        paddle.optimizer.lr.autoincreased_step_counter("@EMA_STEP_COUNTER@")
        for weight, average in self._averages:
            with weight.block.program._optimized_guard([weight, average]):
                new = average * self._decay + weight * (1 - self._decay)
                paddle.assign(new, average)

    def apply(self, executor, need_restore=True):
        from contextlib import contextmanager

        @contextmanager
        def applied():
            executor.run(self.apply_program)
            try:
                yield
            finally:
                if need_restore:
                    self.restore(executor)

        return applied()

    def restore(self, executor):
        executor.run(self.restore_program)


def fluid_noam_decay(d_model, warmup_steps, learning_rate=1.0):
    with paddle.static.default_main_program()._lr_schedule_guard():
        step = paddle.optimizer.lr._decay_step_counter(1)
        falling = step**-0.5
        rising = (warmup_steps**-1.5) * step
        smaller = fluid_op("elementwise_min", {"X": falling, "Y": rising}, axis=-1)
        return learning_rate * (d_model**-0.5) * smaller


def fluid_exponential_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    with paddle.static.default_main_program()._lr_schedule_guard():
        passed = paddle.optimizer.lr._decay_step_counter() / decay_steps
        passed = fluid_op("floor", {"X": passed}) if staircase else passed
        return learning_rate * (decay_rate**passed)


def fluid_natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    with paddle.static.default_main_program()._lr_schedule_guard():
        passed = paddle.optimizer.lr._decay_step_counter() / decay_steps
        passed = fluid_op("floor", {"X": passed}) if staircase else passed
        return learning_rate * fluid_op("exp", {"X": -1 * decay_rate * passed})


def fluid_inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    with paddle.static.default_main_program()._lr_schedule_guard():
        passed = paddle.optimizer.lr._decay_step_counter() / decay_steps
        passed = fluid_op("floor", {"X": passed}) if staircase else passed
        return learning_rate / (1 + decay_rate * passed)


def fluid_polynomial_decay(
    learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False
):
    with paddle.static.default_main_program()._lr_schedule_guard():
        step = paddle.optimizer.lr._decay_step_counter()
        last = paddle.full([1], float(decay_steps), "float32")
        if cycle:
            rounds = fluid_op("ceil", {"X": step / decay_steps})
            one = paddle.full([1], 1.0, "float32")
            last = last * fluid_op("elementwise_max", {"X": rounds, "Y": one}, axis=-1)
        else:
            step = fluid_op("elementwise_min", {"X": step, "Y": last}, axis=-1)
        left = (1 - step / last) ** power
        return (learning_rate - end_learning_rate) * left + end_learning_rate


def fluid_piecewise_decay(boundaries, values):
    with paddle.static.default_main_program()._lr_schedule_guard():
        step = paddle.optimizer.lr._decay_step_counter()
        rate = paddle.full([1], float(values[0]), "float32")
        for boundary, before, after in zip(boundaries, values, values[1:]):
            reached = paddle.cast(step >= float(boundary), "float32")
            rate = rate + reached * (float(after) - float(before))
        return rate


def fluid_cosine_decay(learning_rate, step_each_epoch, epochs):
    import math

    with paddle.static.default_main_program()._lr_schedule_guard():
        step = paddle.optimizer.lr._decay_step_counter()
        epoch = fluid_op("floor", {"X": step / step_each_epoch})
        return learning_rate * 0.5 * (fluid_op("cos", {"X": epoch * math.pi / epochs}) + 1)


def fluid_linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr):
    with paddle.static.default_main_program()._lr_schedule_guard():
        step = paddle.optimizer.lr._decay_step_counter()
        warm = paddle.cast(step < float(warmup_steps), "float32")
        rising = start_lr + (float(end_lr) - float(start_lr)) * (step / float(warmup_steps))
        return warm * rising + (1.0 - warm) * learning_rate


class fluid_GradientClipByGlobalNorm(paddle.nn.ClipGradByGlobalNorm):
    """Clips by the norm of all gradients together."""

    def __init__(self, clip_norm, group_name="default_group", need_clip=None):
        super().__init__(clip_norm, group_name)
        self._wanted = need_clip

    def _factor(self, squares):
        norm = fluid_op("sqrt", {"X": paddle.add_n(squares)})
        limit = paddle.full([1], self.clip_norm, norm.dtype)
        return limit / fluid_op("elementwise_max", {"X": limit, "Y": norm}, axis=-1)

    def _static_clip(self, params_grads):
        clipped = [
            (parameter, gradient)
            for parameter, gradient in params_grads
            if gradient is not None and (self._wanted is None or self._wanted(parameter))
        ]
        if not clipped:
            return params_grads
        with clipped[0][0].block.program._optimized_guard(list(clipped[0])):
            context = {}
            for parameter, gradient in clipped:
                self._process_context(context, parameter, gradient)
            factor = self._factor(context[self.group_name])
        done = {}
        for parameter, gradient in clipped:
            with parameter.block.program._optimized_guard([parameter, gradient]):
                scaled = {"X": gradient, "Y": factor}
                parameter.block.append_op(
                    type="elementwise_mul", inputs=scaled, outputs={"Out": gradient}
                )
            done[parameter.name] = gradient
        return [(p, done.get(p.name, g)) for p, g in params_grads if g is not None]

    def _create_operators(self, param, grad):
        name = self.group_name + "_scale"
        if name not in self.context:
            self.context[name] = self._factor(self.context[self.group_name])
        param.block.append_op(
            type="elementwise_mul",
            inputs={"X": grad, "Y": self.context[name]},
            outputs={"Out": grad},
        )
        return param, grad
