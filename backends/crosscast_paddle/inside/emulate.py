"""Emulated half precision in Paddle, which on CPU has no half kernels and switches auto_cast off.

Half tensors exist on CPU (cast, reshape and transpose have kernels), so the script's own casts, the
real auto_cast and the real GradScaler with its real kernels run, told that there is a GPU. The
operations are those of `emulate`.

Casts to float16 are mended, both ways: what rounds to 0 is made 0 before Paddle's kernel sees it.
On CPU that kernel turns numbers between 2**-89 and 2**-77 into up to 8e-5.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import paddle
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

    def __init__(self, tracer: Any) -> None:
        lists = tracer._get_amp_op_list()
        state = {
            "_tracer": tracer,
            "_amp_level": tracer._amp_level,
            "_amp_dtype": tracer._amp_dtype,
            "_use_promote": tracer._use_promote,
            "_get_amp_op_list": lambda: lists,
            "_set_amp_op_list": lambda *lists: None,
        }
        self.__dict__.update(state)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tracer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            self.__dict__[name] = value
        else:
            setattr(self._tracer, name, value)


class PaddleTensors:
    """Paddle for the policy. Autocast is read from the script's own auto_cast."""

    def __init__(self, tracer: TracerOnGpu) -> None:
        self.tracer = tracer

    def kind(self, value: Any) -> str | None:
        """Return the float type of a tensor."""
        return KINDS.get(value.dtype) if isinstance(value, paddle.Tensor) else None

    def cast(self, value: Any, kind: str) -> Any:
        """Return the tensor in another type."""
        return value if self.kind(value) == kind else value.astype(kind)

    def autocast(self) -> str | None:
        """Return the type of the surrounding auto_cast."""
        tracer = self.tracer
        return None if tracer._amp_level == core.AmpLevel.O0 else str(tracer._amp_dtype)

    def compute(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function; Paddle's own casts are off."""
        return function(*args, **kwargs)


def install() -> Callable[[Any], None]:
    """Emulate from now on; the returned function lifts the script's refusal of the CPU."""
    tracer = TracerOnGpu(framework._dygraph_tracer())
    tensors = PaddleTensors(tracer)
    operations = paddle._C_ops
    operations.cast = _mended_cast(operations)
    ours = emulate.MATMUL | emulate.POINTWISE | emulate.BY_FIRST_INPUT
    for name in dir(operations):
        policy = RENAMED.get(name, name)
        if policy in ours:
            setattr(operations, name, _wrapped(tensors, policy, getattr(operations, name)))
    for name, policy in OPERATORS.items():
        original = getattr(paddle.Tensor, name)
        setattr(paddle.Tensor, name, _wrapped(tensors, policy, original))
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
