"""Fused optimizers and layers of apex and what replaces them in torch."""

from __future__ import annotations

import ast

from crosscast_migrate.allowed_changes import or_allow
from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.layout import Draft
from crosscast_torch.migration.experimental.apex.moved_names import (
    Name,
    change_arguments,
    is_constant,
    keywords_of,
    removable,
)
from crosscast_torch.migration.experimental.torch_name import torch_in

_NO_FORM = {
    "FusedLAMB": "torch has no LAMB: a recipe with optimizer `lamb` compiles to one",
    "FusedMixedPrecisionLamb": "torch has no LAMB: see the recipe's optimizer `lamb`",
    "FusedNovoGrad": "torch has no NovoGrad",
    "FusedAdagrad": "torch.optim.Adagrad is similar; compare lr, eps and the decay by hand",
    "FusedRMSNorm": "torch.nn.RMSNorm has another default for eps: pass eps=1e-5",
}
_KEPT: dict[str, frozenset[str]] = {
    "FusedAdam": frozenset({"params", "lr", "betas", "eps", "weight_decay"}),
    "FusedSGD": frozenset({"params", "lr", "momentum", "dampening", "weight_decay", "nesterov"}),
    "FusedLayerNorm": frozenset({"normalized_shape", "eps", "elementwise_affine"}),
}
_USUAL: dict[str, dict[str, tuple[bool, ...]]] = {
    "FusedAdam": {
        "bias_correction": (True,),
        "amsgrad": (False,),
        "adam_w_mode": (True, False),
        "set_grad_none": (True,),
        "capturable": (False,),
        "eps_inside_sqrt": (False,),
        "use_mt": (True, False),
        "master_weights": (False,),
    },
    "FusedSGD": {"wd_after_momentum": (False,)},
    "FusedLayerNorm": {},
}
"""Arguments that torch lacks or names differently, with the values that torch always uses."""
_OWN_WORDS: dict[str, tuple[str, ...]] = {
    "FusedLayerNorm": ("memory_efficient",),
    "FusedSGD": ("wd_after_momentum", "materialize_master_grads", "set_grad_none"),
}
"""Classes with the arguments of torch in the same order, and their arguments beyond those."""
_UNCORRECTED = "adam-bias-correction"
_BY_PLACE = {"FusedAdam": 2, "FusedSGD": 2, "FusedLayerNorm": 3}
NOTE = (
    "The fused optimizers of apex make the same updates as those of torch, which are as fast with "
    "fused=True. Their saved states have other keys: older checkpoints of FusedAdam do not contain "
    "the step of every weight."
)


def new_name(name: Name) -> str:
    """Return what replaces a name."""
    if name.what == "FusedAdam":
        coupled = any(_is_coupled(call) for call in name.calls())
        return "torch.optim.Adam" if coupled else "torch.optim.AdamW"
    return "torch.optim.SGD" if name.what == "FusedSGD" else "torch.nn.LayerNorm"


def _is_coupled(call: ast.Call) -> bool:
    return is_constant((keywords_of(call) or {}).get("adam_w_mode"), False)


def _refuse(name: Name, node: ast.AST, message: str, hint: str) -> Refusal:
    return Refusal(span=name.module.span(node), message=message, hint=hint)


def move(name: Name, draft: Draft, allowed: frozenset[str]) -> Refusal | None:
    """Replace a name and its arguments in a draft, or return why that is not possible."""
    if name.what in _NO_FORM:
        message = f"{name.what} has no equivalent in torch"
        return _refuse(name, name.uses[0], message, _NO_FORM[name.what])
    if name.what not in ("FusedAdam", "FusedSGD", "FusedLayerNorm"):
        message = f"apex.{name.family}.{name.what} is unknown"
        return _refuse(name, name.uses[0], message, "migrate it to torch by hand")
    values = [use for use in name.others() if not _is_alias(name, use)]
    if values:
        message = f"{name.what} is used as a value, so its arguments are not known"
        return _refuse(name, values[0], message, "create it where its arguments are visible")
    if not removable([name]):
        message = f"the import of {name.what} shares its line with another statement"
        return _refuse(name, name.imports[0][0], message, "put it on its own line")
    if (handed := name.reexport()) is not None:
        message = f"another file imports {name.what} from this file"
        return _refuse(name, handed, message, "first import it from torch there")
    found = [_wrong(name, call, allowed) for call in name.calls()]
    if wrong := next((reason for reason in found if reason is not None), None):
        return wrong
    if name.what == "FusedAdam" and len({_is_coupled(call) for call in name.calls()}) > 1:
        message = "adam_w_mode differs between the calls of FusedAdam"
        return _refuse(name, name.uses[0], message, "write Adam and AdamW by hand")
    torch = torch_in(draft)
    new = torch + new_name(name).removeprefix("torch")
    for use in name.others():
        draft.replace(use, new)
    for call in name.calls():
        draft.replace(call.func, new)
        given = keywords_of(call) or {}
        decay = name.what == "FusedAdam" and "weight_decay" not in given and not _is_coupled(call)
        change_arguments(draft, call, _USUAL[name.what], "weight_decay=0.0" if decay else "")
    return None


def _is_alias(name: Name, use: ast.expr) -> bool:
    """Whether a class with the arguments of torch only gets another name or is asked for."""
    words = _OWN_WORDS.get(name.what)
    if words is None or any(word in name.module.source.text for word in words):
        return False
    match name.module.parent(use):
        case ast.Assign(targets=[ast.Name()], value=value):
            return value is use
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kind]):
            return kind is use
    return False


def _wrong(name: Name, call: ast.Call, allowed: frozenset[str]) -> Refusal | None:
    """Return why a call has no exact equivalent."""
    given = keywords_of(call)
    if given is None or len(call.args) > _BY_PLACE[name.what] or not (call.args or given):
        message = f"not all arguments of {name.what} are keyword arguments"
        return _refuse(name, call, message, "pass them by name")
    known = _KEPT[name.what]
    usual = _USUAL[name.what]
    for word, value in given.items():
        if word in known or any(is_constant(value, default) for default in usual.get(word, ())):
            continue
        hint = "decide whether the training needs it; if not, remove it"
        if word == "bias_correction" and is_constant(value, False):
            if _UNCORRECTED in allowed:
                continue
            hint = or_allow(_UNCORRECTED, hint)
        message = (
            f"{name.what} with {word}={name.module.text(value)} has no exact equivalent in torch"
        )
        return _refuse(name, value, message, hint)
    return None
