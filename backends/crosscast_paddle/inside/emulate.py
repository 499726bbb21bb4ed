"""Emulated half precision in Paddle, which on CPU has no half kernels and switches auto_cast off.

Half tensors exist on CPU (cast, reshape and transpose have kernels), so the script's own casts, the
real auto_cast and the real GradScaler with its real kernels run, told that there is a GPU. The
operations are those of `emulate`.

Casts to float16 are mended, both ways: what rounds to 0 is made 0 before Paddle's kernel sees it.
On CPU that kernel turns numbers between 2**-89 and 2**-77 into up to 8e-5.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import paddle
from paddle.amp import amp_lists
from paddle.base import core, framework

from crosscast_paddle.inside.on_cpu import allow_cpu
from crosscast_parity.inside import emulate

KINDS = {paddle.float32: "float32", paddle.float16: "float16", paddle.bfloat16: "bfloat16"}
GPU = SimpleNamespace(
    is_gpu_place=lambda: True, is_xpu_place=lambda: False, is_custom_place=lambda: False
)
RENAMED = {"p_norm": "norm", "linear_v2": "linear"}
"""What operations are called in Paddle and in the policy, where that differs."""
OPERATORS = {
    "__add__": "add",
    "__radd__": "add",
    "__sub__": "subtract",
    "__rsub__": "subtract",
    "__mul__": "multiply",
    "__rmul__": "multiply",
    "__truediv__": "divide",
    "__rtruediv__": "divide",
    "__pow__": "pow",
    "__matmul__": "matmul",
}


LOST = 2.0**-25
"""The largest number that is 0 in float16: half of the smallest one, and 0 is even."""


class TracerOnGpu:
    """The real tracer on a place that passes for a GPU, with the state of auto_cast kept here.

    Paddle's own casts, which would act on that state, stay off: made for this machine, they would
    turn halves into float32 wherever it lacks a kernel.
    """

    _expected_place = GPU

    def __init__(self, tracer: Any, listed: Callable[[frozenset[str]], None]) -> None:
        state = {
            "_tracer": tracer,
            "_amp_level": tracer._amp_level,
            "_amp_dtype": tracer._amp_dtype,
            "_use_promote": tracer._use_promote,
            "_listed": listed,
        }
        self.__dict__.update(state)
        self._set_amp_op_list(*tracer._get_amp_op_list())

    def _get_amp_op_list(self) -> Any:
        return self._lists

    def _set_amp_op_list(self, white: Any, black: Any) -> None:
        state = {"_lists": (white, black), "white": policy_names(white)}
        self.__dict__.update(state, black=policy_names(black))
        self._listed(self.white | self.black)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tracer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            self.__dict__[name] = value
        else:
            setattr(self._tracer, name, value)


class PaddleTensors:
    """Paddle for the policy. Autocast is read from the script's own auto_cast."""

    tracer: TracerOnGpu

    def kind(self, value: Any) -> str | None:
        """Return the float type of a tensor."""
        return KINDS.get(value.dtype) if isinstance(value, paddle.Tensor) else None

    def cast(self, value: Any, kind: str) -> Any:
        """Return the tensor in another type."""
        return value if self.kind(value) == kind else value.astype(kind)

    def casts_to(self, name: str) -> str | None:
        """Return the type to which the surrounding auto_cast casts, by its level and its lists.

        As Paddle decides (`GetAmpDestDtype`), except that all of the class matmul that is not on
        the black list counts as on the white one. None: half if all inputs are.
        """
        tracer = self.tracer
        level, half = tracer._amp_level, str(tracer._amp_dtype)
        if level == core.AmpLevel.O0:
            return None
        if name in tracer.black:
            return "float32"
        if name in tracer.white | emulate.MATMUL:
            return half
        if level == core.AmpLevel.OD:
            return "float32"
        return half if level == core.AmpLevel.O2 and not tracer._use_promote else None

    def compute(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function without auto_cast; one of several operations would ask for it."""
        level, self.tracer._amp_level = self.tracer._amp_level, core.AmpLevel.O0
        try:
            return function(*args, **kwargs)
        finally:
            self.tracer._amp_level = level


def policy_names(listed: Iterable[str]) -> frozenset[str]:
    """Return the policy's names of the operations on a list of auto_cast.

    Its names are those of old programs: `matmul_v2` is matmul, and `matmul` none that runs.
    """
    names = map(core._get_phi_kernel_name, listed)  # type: ignore[attr-defined]
    operations = {RENAMED.get(name, name) for name in names}
    dense = "linear_v2" in amp_lists.WHITE_LIST  # before, a dense layer was a product and a sum
    return frozenset(operations | ({"linear"} if "matmul" in operations and not dense else set()))


def install() -> Callable[[Any], None]:
    """Emulate from now on; the returned function lifts the script's refusal of the CPU."""
    operations = paddle._C_ops
    operations.cast = _mended_cast(operations)
    policies = {name: RENAMED.get(name, name) for name in dir(operations)}
    wrapped: set[str] = set()

    tensors = PaddleTensors()

    def wrap(ours: frozenset[str]) -> None:
        new = ours - wrapped
        wrapped.update(new)
        for name, policy in policies.items():
            if policy in new:
                setattr(operations, name, _wrapped(tensors, policy, getattr(operations, name)))

    tensors.tracer = tracer = TracerOnGpu(framework._dygraph_tracer(), wrap)
    wrap(emulate.MATMUL | emulate.POINTWISE | emulate.BY_FIRST_INPUT)
    for name, policy in OPERATORS.items():
        original = getattr(paddle.Tensor, name)
        setattr(paddle.Tensor, name, _wrapped(tensors, policy, original))
    functional, attention = paddle.nn.functional, "scaled_dot_product_attention"
    if hasattr(functional, attention):  # of several operations on a CPU, and one to the policy
        fused = _wrapped(tensors, attention, getattr(functional, attention))
        setattr(functional, attention, fused)
    # They ask the tracer for its place or for the state of auto_cast, and what the GPU can do.
    paddle.framework._dygraph_tracer = lambda: tracer  # for recompute
    for name in ("auto_cast", "grad_scaler"):
        module: Any = importlib.import_module(f"paddle.amp.{name}")
        module._dygraph_tracer = lambda: tracer
        module._is_gpu_float16_supported = module._is_gpu_bfloat16_supported = lambda: True
    return allow_cpu


def _mended_cast(operations: Any) -> Callable[[Any, Any], Any]:
    """Return the cast of the framework, with numbers that float16 cannot hold made 0 first."""
    cast, shrink = operations.cast, operations.hardshrink

    def flushed(value: Any) -> Any:
        return shrink(value, LOST)  # times 0 or 1: signs, inf and nan stay

    class MendedCast(paddle.autograd.PyLayer):  # type: ignore[misc]
        """A cast between float32 and float16; its gradient is cast back the same way."""

        @staticmethod
        def forward(context: Any, value: Any, dtype: Any) -> Any:
            context.back = value.dtype
            return cast(value if dtype == paddle.float32 else flushed(value), dtype)

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            to_half = context.back == paddle.float16
            return cast(flushed(gradient) if to_half else gradient, context.back)

    pairs = {(paddle.float32, paddle.float16), (paddle.float16, paddle.float32)}

    def mended(value: Any, dtype: Any) -> Any:
        if (value.dtype, dtype) not in pairs:
            return cast(value, dtype)
        if not value.stop_gradient and paddle.is_grad_enabled():
            return MendedCast.apply(value, dtype)
        return cast(value if dtype == paddle.float32 else flushed(value), dtype)

    return mended


def _wrapped(tensors: PaddleTensors, name: str, function: Callable[..., Any]) -> Any:
    def operation(*args: Any, **kwargs: Any) -> Any:
        return emulate.call(tensors, name, function, args, kwargs)

    return operation
