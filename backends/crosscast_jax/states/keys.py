"""Names of the parts of states in JAX programs, and of what optax keeps.

From the guides and examples of Flax, Orbax and optax.
"""

from __future__ import annotations

from collections.abc import Mapping

PARTS: Mapping[str, tuple[str, ...]] = {
    "weights": ("params", "model", "model_state", "variables", "weights", "state_dict", "net"),
    "optimizer": ("opt_state", "optimizer", "optimizer_state", "optim_state", "opt", "optim"),
    "loss scale": ("dynamic_scale", "loss_scale", "dynamic_loss_scale", "scaler"),
    "averages": ("ema_params", "ema", "params_ema", "ema_state", "averages", "avg_params"),
    "statistics": ("batch_stats",),
    "position": ("step", "global_step"),
}
WRAPPERS = ("state", "train_state", "default", "items")
"""Names that programs and Orbax give to a whole state."""
RANDOM = "rngs"
"""Where NNX keeps random numbers."""
STATISTICS = ("mean", "var")
"""Last parts of the names of running statistics."""
SLOTS: Mapping[str, str] = {"mu": "exp_avg", "nu": "exp_avg_sq", "trace": "momentum_buffer"}
"""Fields of the states of optax to slots of a state."""
WITHIN_WINDOW = ("acc_grads", "skip_state")
"""Fields of optax.MultiSteps that a window begins with again."""
