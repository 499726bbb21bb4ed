"""Report as JSON what Paddle can do on this machine. Run as a program, never imported."""

from __future__ import annotations

import json
import warnings


def main() -> None:
    """Try one mixed-precision training step per type on the best device."""
    warnings.simplefilter("ignore")
    import paddle

    count = paddle.device.cuda.device_count() if paddle.is_compiled_with_cuda() else 0
    paddle.set_device("gpu" if count else "cpu")
    names = [paddle.device.cuda.get_device_name(i) for i in range(count)]
    native = {}
    for name in ("float32", "bfloat16", "float16"):
        try:
            weight = paddle.ones([4, 4])
            weight.stop_gradient = False
            with paddle.amp.auto_cast(enable=name != "float32", dtype=_half(name)):
                product = paddle.matmul(weight, weight)
            product.sum().backward()
            native[name] = product.dtype == getattr(paddle, name)
        except (RuntimeError, ValueError, NotImplementedError):
            native[name] = False
    note = "" if count else "AMP is not native on CPU: Paddle switches it off"
    build = {"version": paddle.__version__, "devices": names or ["cpu"]}
    print(json.dumps(build | {"native": native, "note": note}))


def _half(name: str) -> str:
    return "float16" if name == "float32" else name


if __name__ == "__main__":
    main()
