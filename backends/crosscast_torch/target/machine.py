"""Report as JSON what PyTorch can do on this machine. Run as a program, never imported."""

from __future__ import annotations

import json


def main() -> None:
    """Try one mixed-precision training step per type on the best device."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    native = {}
    for name in ("float32", "bfloat16", "float16"):
        dtype = getattr(torch, name)
        try:
            weight = torch.ones(4, 4, device=device, requires_grad=True)
            with torch.autocast(device, dtype=dtype, enabled=name != "float32"):
                product = torch.matmul(weight, weight)
            product.sum().backward()
            native[name] = product.dtype == dtype
        except (RuntimeError, ValueError):
            native[name] = False
    note = "" if device == "cuda" else "float16 on CPU is real and slow"
    build = {"version": torch.__version__, "devices": names or ["cpu"]}
    print(json.dumps(build | {"native": native, "note": note}))


if __name__ == "__main__":
    main()
