"""Roles of parameters as emitted code tells them: by module type and name."""

from __future__ import annotations

from collections.abc import Collection

# Layers that a role means, and the feature a dialect must have to know them.
_LAYERS = {
    "nn.LayerNorm": ("layer_norm", ""),
    "nn.RMSNorm": ("layer_norm", "rms_norm"),
    "nn.Embedding": ("embedding", ""),
}


def without_roles(roles: Collection[str], features: frozenset[str]) -> tuple[str, ...]:
    """Return the body of a function of `module` and `name`: whether a parameter has no role.

    Empty where there are no roles to have.
    """
    layers = [
        name
        for name, (role, feature) in _LAYERS.items()
        if role in roles and (not feature or feature in features)
    ]
    types = f"({', '.join(layers)})" if len(layers) > 1 else "".join(layers)
    if not layers:
        return ('return "bias" not in name.split("_")',) if "bias" in roles else ()
    first = ('if "bias" in name.split("_"):  # in_proj_bias too', "    return False")
    if len(layers) > 2:  # too long for one line
        last = [f"exempt = {types}", "return not isinstance(module, exempt)"]
    else:
        last = [f"return not isinstance(module, {types})"]
    return (*first, *last) if "bias" in roles else tuple(last)
