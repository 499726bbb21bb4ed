"""Report as JSON what JAX can do on this machine. Run as a program, never imported."""

from __future__ import annotations

import json


def main() -> None:
    """Differentiate a product in each type on the best device."""
    import jax
    import jax.numpy as jnp

    devices = jax.devices()
    native = {}
    for name in ("float32", "bfloat16", "float16"):
        try:
            weight = jnp.ones((4, 4), name)
            gradient = jax.grad(lambda w: (w @ w).sum().astype(jnp.float32))(weight)
            native[name] = bool(jnp.isfinite(gradient).all()) and str(gradient.dtype) == name
        except (RuntimeError, ValueError, NotImplementedError):
            native[name] = False
    on_cpu = devices[0].platform == "cpu"
    note = "XLA computes half precision on a CPU in float32, and rounds" if on_cpu else ""
    kinds = ["cpu"] if on_cpu else [device.device_kind for device in devices]
    build = {"version": jax.__version__, "devices": kinds}
    print(json.dumps(build | {"native": native, "note": note}))


if __name__ == "__main__":
    main()
