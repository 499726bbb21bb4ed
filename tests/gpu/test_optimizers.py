"""Optimizers of PyTorch on a GPU, whose kernels are others than those on a CPU."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gpu.gpu_runs import python

PROGRAM = """
import json

import torch

shares = {}
for beta in (0.999, 0.9999, 0.99999):
    weight = torch.nn.Parameter(torch.zeros(1, device="cuda"))
    optimizer = torch.optim.Adam([weight], betas=(beta, beta), fused=FUSED)
    weight.sum().backward()
    optimizer.step()
    shares[beta] = [optimizer.state[weight][name].item() for name in ("exp_avg", "exp_avg_sq")]
print(json.dumps(shares))
"""


@pytest.mark.parametrize("fused", [False, True])
def test_fused_adam_takes_one_minus_beta_in_float32(tmp_path: Path, fused: bool) -> None:
    program = tmp_path / "shares.py"
    program.write_text(PROGRAM.replace("FUSED", str(fused)))
    for beta, shares in json.loads(python(program, cwd=tmp_path)).items():
        rounded = 1 - float(np.float32(beta)) if fused else 1 - float(beta)
        assert shares == [pytest.approx(rounded, rel=1e-6)] * 2  # 1.4e-3 apart for 0.99999
