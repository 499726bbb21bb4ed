"""What the parity harness must know of PyTorch."""

from __future__ import annotations

from crosscast.targets.harness import Bugs, Edit, Harness, Updates

HARNESS = Harness(
    inside="crosscast_torch.inside",
    numeric_variables=("TORCH", "PYTORCH_"),
    bugs=Bugs(
        half_mark="torch.autocast(",
        tanh_gelu=Edit("(x).float()), x)", '(x).float(), approximate="tanh"), x)', file="model.py"),
        no_autocast=(
            Edit(
                "torch.autocast(device.type, ",
                "torch.autocast(device.type, enabled=False, ",
                times=2,
                or_more=True,
            ),
        ),
        # Without autocast, which computes losses in float32 whatever it is given.
        half_loss=(
            Edit(
                "logits = model(**inputs).float()",
                "logits = model(**inputs)\n"
                "    torch.set_autocast_enabled(logits.device.type, False)",
            ),
        ),
    ),
    updates=Updates(
        modules=("torch",),
        forced_scaler="GradScaler",
        stand_ins=("apex",),
        stays_on_cpu=True,
    ),
)
