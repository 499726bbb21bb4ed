"""Changes of the emitted files that keep their meaning: none of them may be called a difference.

They are written like bugs and are none: equal formulas, other kernels, compiled and eager code,
another number of threads, another order of independent operations.
"""

from __future__ import annotations

from collections.abc import Mapping

from crosscast.targets.harness import Edit
from crosscast_parity.self_test.mutation import Mutation
from mutants.jax_update import DECAYED
from mutants.jax_window import ADD, AVERAGED, WHOLE
from mutants.jax_window import CLIPPED as JAX_CLIPPED
from mutants.jax_window import COEFFICIENT as JAX_COEFFICIENT
from mutants.jax_window import DIVIDE as JAX_DIVIDE
from mutants.jax_window import LOSSES as JAX_LOSSES
from mutants.jax_window import NORM as JAX_NORM
from mutants.jax_window import UPDATES as JAX_UPDATES
from mutants.paddle_single import MOVED as PADDLE_MOVED
from mutants.paddle_window import CLIP as PADDLE_CLIP
from mutants.shared_late import UPDATES
from mutants.spelling import runtime, train
from mutants.tensorflow_window import MOVED as TENSORFLOW_MOVED
from mutants.tensorflow_window import NORM
from mutants.torch_single import CLIP_BY_HAND
from mutants.torch_single import MOVED as TORCH_MOVED
from mutants.torch_update import by_hand
from mutants.torch_window import CLIP, DIVIDE

TORCH_STEP = "torch.tensor(float(state.updates))"
TENSORFLOW_STEP = "state.optimizer.iterations.assign(state.updates)"
PADDLE_POWER = (
    "    return np.broadcast_to(factor, [min(exponent, int(needed))]).prod(keepdims=True)\n"
)
PADDLE_LOOP = """\
    power = np.ones(1, np.float32)
    for _ in range(min(exponent, int(needed))):
        power = power * factor
    return power
"""
FUSED = "        fused=True,\n"
BUILT = "    model = build_model().to(run.device).train()\n"
FUNCTION = "@tf.function(reduce_retracing=True)\n"
PRODUCT = "        loss = loss * (1.0 / rows)\n"
DECAY = "weight.assign_sub(self.learning_rate * WEIGHT_DECAY * weight)"
SCAN = "add, empty_sums(graph, arrays, numbers), micro_batches"
GRAD = "gradients, (loss, rest) = jax.grad(forward, has_aux=True)(weights)"
JAX_COUNT = "        count = jnp.asarray(state.updates, jnp.int32)\n"
LOOP = "in zip(self.variables, gradients, moments):"
SIZE = "    size = settings.micro_batch_size\n    for i in"


def _rewrite(name: str, title: str, *edits: Edit) -> Mutation:
    return Mutation(name=name, title=title, field="", expected=(), forms=(edits,))


WIDE = _rewrite(
    "evaluated_wide",
    "evaluation in larger batches",
    runtime("rows", SIZE, SIZE.replace("= ", "= 2 * ")),
)
COUNTED = _rewrite(
    "counted",
    "updates counted by a condition",
    train(UPDATES, "    if not skipped:\n        state.updates = state.updates + 1\n"),
)
SAVED = "    save_file(arrays, partial,"
REVERSED = _rewrite(
    "saved_reversed",
    "checkpoint written in reverse order",
    runtime("checkpoint", SAVED, SAVED.replace("arrays,", "dict(reversed(arrays.items())),")),
)
EMA = 'restore_ema(state, part_of(arrays, "ema/"))'
RESTORED = _rewrite(
    "restored_reversed",
    "averages restored in reverse order",
    runtime(
        "checkpoint", EMA, 'restore_ema(state, dict(reversed(part_of(arrays, "ema/").items())))'
    ),
)
HELD = '    counters: dict[str, Any] = {"windows": state.windows, "updates": state.updates}\n'
COPIED = _rewrite(
    "saved_copies",
    "checkpoint of copies in Fortran order",
    runtime(
        "checkpoint",
        HELD,
        f"    arrays = {{n: np.array(a, order='F') for n, a in arrays.items()}}\n{HELD}",
    ),
)
STUCK = "self.stuck = self.stuck + 1 if hopeless else 0"
COUNTED_STUCK = _rewrite(
    "stuck_by_product",
    "overflows at the lowest scale counted by a product",
    runtime("run", STUCK, "self.stuck = (self.stuck + 1) * int(hopeless)"),
)
STORED = (REVERSED, RESTORED, COPIED, COUNTED_STUCK)
"""Other ways to write and to restore the same state."""
INVERSE = _rewrite("inverse", "loss times the inverse of the rows", train(DIVIDE, PRODUCT))
REWRITES: Mapping[str, tuple[Mutation, ...]] = {
    "torch": (
        WIDE,
        COUNTED,
        *STORED,
        _rewrite(
            "steps_from_list",
            "numbers of updates made from lists",
            runtime("state", TORCH_STEP, "torch.tensor([float(state.updates)]).squeeze(0)"),
        ),
        INVERSE,
        _rewrite(
            "for_loop", "optimizer tensor by tensor", train(FUSED, "        foreach=False,\n")
        ),
        _rewrite("foreach", "optimizer over lists", train(FUSED, "        foreach=True,\n")),
        _rewrite("by_hand", "optimizer of single operations", *by_hand()),
        _rewrite("clipped", "clipping of single operations", train(CLIP, CLIP_BY_HAND)),
        _rewrite(
            "log_softmax",
            "cross-entropy by log-softmax and gather",
            train(
                '    return nn.functional.cross_entropy(logits, labels, reduction="sum")\n',
                "    return -logits.log_softmax(-1).gather(1, labels[:, None]).sum()\n",
            ),
        ),
        _rewrite(
            "lerp",
            "averages by interpolation",
            train(TORCH_MOVED, "        average.lerp_(weight, 1.0 - EMA_DECAY)\n"),
        ),
        _rewrite(
            "averages_reversed",
            "averages in reverse order",
            train("in state.averages.items():", "in reversed(state.averages.items()):"),
        ),
        _rewrite(
            "threads",
            "three threads",
            runtime("device", "torch.set_num_threads(args.threads)", "torch.set_num_threads(3)"),
        ),
    ),
    "tensorflow": (
        WIDE,
        COUNTED,
        *STORED,
        _rewrite(
            "steps_added",
            "the number of updates added to zero",
            runtime(
                "state",
                TENSORFLOW_STEP,
                f"{TENSORFLOW_STEP[:-14]}0)\n    {TENSORFLOW_STEP.replace('assign', 'assign_add')}",
            ),
        ),
        _rewrite(
            "square",
            "square for product",
            train(
                "(1.0 - BETAS[1]) * gradient * gradient", "(1.0 - BETAS[1]) * tf.square(gradient)"
            ),
        ),
        _rewrite(
            "decay_factor",
            "decay as a factor",
            train(DECAY, "weight.assign(weight * (1.0 - self.learning_rate * WEIGHT_DECAY))"),
        ),
        _rewrite(
            "step_reversed",
            "optimizer in reverse order",
            train(LOOP, f"in reversed(list({LOOP[3:-1]})):"),
        ),
        _rewrite(
            "norm",
            "norm of single operations",
            train(
                NORM,
                "    squares = [tf.reduce_sum(gradient * gradient) for gradient in gradients]\n"
                "    grad_norm = tf.sqrt(tf.add_n(squares))\n",
            ),
        ),
        _rewrite(
            "log_softmax",
            "cross-entropy by log-softmax and gather",
            train(
                "tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)",
                "-tf.gather(tf.nn.log_softmax(logits), labels, batch_dims=1)",
            ),
        ),
        _rewrite(
            "difference",
            "averages by a difference",
            train(TENSORFLOW_MOVED, "average.assign_sub((1.0 - EMA_DECAY) * (average - weight))"),
        ),
        _rewrite(
            "compiled",
            "step compiled by XLA",
            train(
                f"{FUNCTION}def window_step(",
                "@tf.function(reduce_retracing=True, jit_compile=True)\ndef window_step(",
            ),
        ),
        _rewrite(
            "eager",
            "eager",
            train(f"{FUNCTION}def micro_step(", "def micro_step("),
            train(f"{FUNCTION}def window_step(", "def window_step("),
            train(f"{FUNCTION}def full_window(", "def full_window("),
            train(f"{FUNCTION}def evaluate_batch(", "def evaluate_batch("),
        ),
    ),
    "paddle": (
        WIDE,
        COUNTED,
        *STORED,
        _rewrite(
            "powers_in_a_loop",
            "powers of the betas factor by factor",
            runtime("state", PADDLE_POWER, PADDLE_LOOP),
        ),
        INVERSE,
        _rewrite(
            "norm_reversed",
            "norm in reverse order",
            train("for p in parameters if", "for p in reversed(list(parameters)) if"),
        ),
        _rewrite(
            "clipped",
            "clipping out of place",
            train(
                PADDLE_CLIP,
                PADDLE_CLIP.replace(
                    "multiply_(coefficient)", "set_value(parameter.grad * coefficient)"
                ),
            ),
        ),
        _rewrite(
            "log_softmax",
            "cross-entropy by log-softmax and negative log-likelihood",
            train(
                '    return F.cross_entropy(logits, labels, reduction="sum")\n',
                '    return F.nll_loss(F.log_softmax(logits, axis=-1), labels, reduction="sum")\n',
            ),
        ),
        _rewrite(
            "difference",
            "averages by a difference",
            train(
                PADDLE_MOVED,
                "        average.subtract_((1 - EMA_DECAY) * (average - weights[name]))\n",
            ),
        ),
        _rewrite(
            "threads",
            "three threads",
            runtime("device", "set_num_threads(args.threads)", "set_num_threads(3)"),
        ),
    ),
    "jax": (
        WIDE,
        _rewrite(
            "counted",
            "updates counted by a condition",
            train(
                JAX_UPDATES,
                '    if not row["skipped"]:\n        state.updates = state.updates + 1\n',
            ),
        ),
        *STORED,
        _rewrite(
            "steps_added",
            "the number of updates added to zero",
            runtime(
                "state",
                JAX_COUNT,
                "        count = jnp.zeros((), jnp.int32) + np.int32(state.updates)\n",
            ),
        ),
        _rewrite(
            "inverse",
            "loss times the inverse of the rows",
            train(JAX_DIVIDE, '        loss = loss * (1.0 / numbers["divisor"])\n'),
        ),
        _rewrite(
            "norm",
            "norm of single operations",
            train(
                JAX_NORM,
                "    squares = [(g * g).sum() for g in jax.tree.leaves(gradients)]\n"
                "    grad_norm = jnp.sqrt(sum(squares))\n",
            ),
        ),
        _rewrite(
            "clipped",
            "clipping by a condition",
            train(
                JAX_COEFFICIENT + JAX_CLIPPED,
                "    small = grad_norm + CLIP_EPS <= MAX_NORM\n"
                "    gradients = jax.tree.map(\n"
                "        lambda g: jnp.where(small, g, g * MAX_NORM / (grad_norm + CLIP_EPS)),\n"
                "        gradients,\n"
                "    )\n",
            ),
        ),
        _rewrite(
            "log_softmax",
            "cross-entropy by log-softmax and gather",
            train(
                JAX_LOSSES,
                "    logs = jax.nn.log_softmax(logits)\n"
                "    losses = -jnp.take_along_axis(logs, labels[:, None], axis=-1)[:, 0]\n",
            ),
        ),
        _rewrite(
            "difference",
            "averages by a difference",
            train(
                AVERAGED,
                "        lambda average, weight: (\n"
                "            average - (1.0 - EMA_DECAY) * (average - weight)\n"
                "        ),\n",
            ),
        ),
        _rewrite(
            "decay_last",
            "decay as a mask over all weights",
            train(
                DECAYED,
                "        optax.masked(optax.add_decayed_weights(WEIGHT_DECAY), decays(model)),\n",
            ),
        ),
        _rewrite(
            "value_and_grad",
            "loss and gradients in one call",
            train(
                GRAD,
                "(_, (loss, rest)), gradients = jax.value_and_grad(forward, has_aux=True)(\n"
                "        weights\n"
                "    )",
            ),
        ),
        _rewrite(
            "sums_from_gradients",
            "gradients added from the right",
            train(ADD, "    totals = jax.tree.map(lambda t, g: g + t, totals, gradients)\n"),
        ),
        _rewrite(
            "micro_batch_calls",
            "one call for every micro-batch",
            train(WHOLE, "    if not shapes:\n"),
        ),
        _rewrite("unrolled", "micro-batches unrolled", train(SCAN, f"{SCAN}, unroll=True")),
    ),
}
"""By framework; each fits the scripts with and without half precision, but for `counted`.

TensorFlow sets its number of threads once in a process, which several programs of a comparison
share; `settings.THREADS` varies that.
"""
COMPILED: Mapping[str, tuple[Mutation, ...]] = {
    "torch": (
        _rewrite("compiled", "compiled model", train(BUILT, f"{BUILT}    model.compile()\n")),
    )
}
"""Those for scripts in float32 only: half precision is not emulated in compiled models.

None for Paddle: a model made static loses gradients (`probes/paddle/test_to_static`).
"""
