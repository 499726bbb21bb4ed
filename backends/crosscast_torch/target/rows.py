"""What PyTorch can express, and how. One row a fact; see crosscast.targets.capability.Row."""

from __future__ import annotations

from dataclasses import replace

from crosscast.plan import predicates
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import Plan
from crosscast.recipe.document import Recipe
from crosscast.recipe.predicates import fused_attention, recomputes
from crosscast.targets.backend import Dialect
from crosscast.targets.capability import Evidence, Row, Verdict, adaptations, judge
from crosscast.targets.neutral_rows import is_elastic, neutral_rows
from crosscast.targets.tracking_rows import TRACKING_ROWS, tensorboard_row
from crosscast_torch.target.adaptations import TorchAdaptation
from crosscast_torch.target.amp_rows import AMP_ROWS, NEW, NO_GPU, OLD
from crosscast_torch.target.conditions import (
    adam_rounds_shares,
    copies_weights,
    half_weights_float32_sums,
    lamb_or_lion,
    own_clip,
    scaled_momentum,
)

ROWS = (
    *neutral_rows("torch"),
    *TRACKING_ROWS,
    tensorboard_row("torch.utils.tensorboard.SummaryWriter"),
    Row(path="seed", how="torch.manual_seed; NumPy orders the rows"),
    Row(path="model", how="nn.Module with explicit types, or the user's factory"),
    Row(
        path="model.attention",
        how="F.scaled_dot_product_attention: no scores are kept, dropout happens inside",
        probe="torch/test_half_kernels.py::test_fused_attention_keeps_no_scores",
        when=fused_attention,
        adapt=TorchAdaptation.FUSED_ATTENTION,
        dialects=NEW,
    ),
    Row(
        path="model.attention",
        verdict=Verdict.ADAPTED,
        how="scaled_dot_product_attention is new in PyTorch 2.0: two products and a softmax",
        code="CC309",
        evidence=Evidence.DOCUMENTED,
        probe="none: needs an older release",
        adapt=TorchAdaptation.COMPOSED_ATTENTION,
        when=fused_attention,
        dialects=OLD,
    ),
    Row(path="model.attention", how="two matrix products and a softmax"),
    Row(path="data", how="read as NumPy arrays, the same row order on every framework"),
    Row(path="data.workers", how="processes of torch.utils.data.DataLoader"),
    Row(path="batch", how="rows of a window cut into micro-batches"),
    *AMP_ROWS,
    Row(path="accumulation", how="loss divided before backward, gradients summed in .grad"),
    Row(
        path="accumulation.dtype",
        how="half gradients are added to the float32 gradient of the weight behind the copy",
        when=copies_weights,
        adapt=TorchAdaptation.FLOAT32_SUMS,
        dialects=NEW,
    ),
    Row(
        path="accumulation.dtype",
        verdict=Verdict.ADAPTED,
        how="half gradients are added to the float32 gradient of the master weight",
        code="CC364",
        probe="torch/test_optimizer.py::test_optimizers_update_half_weights_in_half",
        step=half_weights_float32_sums,
        adapt=TorchAdaptation.FLOAT32_SUMS,
    ),
    Row(
        path="clipping",
        how="clip_grad_norm_ or clip_grad_value_ after unscale_",
        step=predicates.clips,
    ),
    Row(path="clipping", how="gradients are not clipped: only their norm is reported"),
    Row(
        path="clipping.eps",
        verdict=Verdict.ADAPTED,
        how="clip_grad_norm_ has a fixed epsilon of 1e-6: the script clips without it",
        code="CC313",
        probe="torch/test_clip.py::test_clip_adds_a_fixed_epsilon",
        step=own_clip,
        adapt=TorchAdaptation.OWN_CLIP,
    ),
    Row(
        path="clipping.kind",
        verdict=Verdict.ADAPTED,
        how="clip_grad_norm_ called separately for each gradient",
        code="CC360",
        probe="torch/test_clip.py::test_clip_takes_the_norm_of_all",
        step=predicates.clips_each,
        adapt=TorchAdaptation.EACH_NORM,
    ),
    Row(path="clipping.exempt", how="the clip functions get only the parameters to clip"),
    Row(path="optimizer", how="torch.optim, the neutral formulas"),
    Row(
        path="optimizer.name",
        verdict=Verdict.ADAPTED,
        how="not in torch.optim: the script defines a subclass of Optimizer",
        code="CC365",
        probe="torch/test_optimizer.py::test_there_is_no_lamb_and_no_lion",
        step=lamb_or_lion,
        adapt=TorchAdaptation.OWN_OPTIMIZER,
    ),
    Row(
        path="optimizer.name",
        verdict=Verdict.ADAPTED,
        how="torch.optim has Adafactor since 2.5: the script defines it",
        code="CC365",
        probe="torch/test_optimizer.py::test_adafactor_is_the_stock_one",
        step=predicates.adafactor,
        dialects=OLD,
        adapt=TorchAdaptation.OWN_OPTIMIZER,
    ),
    Row(
        path="optimizer.rate_in_momentum",
        verdict=Verdict.ADAPTED,
        how="torch.optim.SGD applies the rate outside the momentum: the script defines its own",
        code="CC361",
        probe="torch/test_optimizer.py::test_sgd_has_the_rate_outside_the_momentum",
        step=predicates.rate_in_momentum,
        adapt=TorchAdaptation.OWN_MOMENTUM,
    ),
    Row(
        path="optimizer.eps_placement",
        verdict=Verdict.ADAPTED,
        how="Adam adds epsilon after the bias correction: the script divides epsilon by the "
        "correction",
        code="CC362",
        probe="torch/test_optimizer.py::test_adam_adds_epsilon_behind_the_correction",
        step=predicates.raw_epsilon,
        adapt=TorchAdaptation.RAW_EPSILON,
    ),
    Row(
        path="optimizer.bias_correction",
        verdict=Verdict.ADAPTED,
        how="Adam always corrects the bias: the script sets rate and epsilon so that it cancels",
        code="CC362",
        probe="torch/test_optimizer.py::test_adam_always_corrects_the_bias",
        step=predicates.uncorrected_adam,
        adapt=TorchAdaptation.UNCORRECTED,
    ),
    Row(
        path="optimizer.momentum",
        verdict=Verdict.ADAPTED,
        how="SGD without fused kernels, whose momentum is uninitialised after a skipped first step",
        code="CC315",
        probe="torch/test_scaler.py::test_fused_momentum_starts_uninitialised",
        step=scaled_momentum,
        dialects=NEW,
        adapt=TorchAdaptation.UNFUSED_MOMENTUM,
    ),
    Row(
        path="optimizer.betas",
        verdict=Verdict.ADAPTED,
        how="without fused kernels, which compute 1 - beta in float32 on a GPU: over 1e-4 off for "
        "betas this close to 1",
        code="CC399",
        evidence=Evidence.MEASURED_GPU,
        probe="gpu/test_optimizers.py::test_fused_adam_takes_one_minus_beta_in_float32",
        step=adam_rounds_shares,
        dialects=NEW,
        adapt=TorchAdaptation.UNFUSED_BETAS,
    ),
    Row(
        path="optimizer.weight_decay",
        how="the factor 1 - rate * decay, rounded to float32: at most 3e-8 off in an update",
        probe="torch/test_optimizer.py::test_the_factor_of_a_decay_is_rounded",
        step=predicates.decoupled_decay,
    ),
    Row(path="optimizer.no_decay", how="parameter groups by module type and name"),
    Row(
        path="optimizer.groups",
        how="parameter groups by name patterns",
        step=predicates.grouped,
    ),
    Row(path="optimizer.groups", how="none"),
    Row(path="schedule", how="a formula in the script, set on the parameter groups"),
    Row(
        path="ema",
        verdict=Verdict.ADAPTED,
        how="AveragedModel copies the weights at its first update: the script computes the average",
        code="CC363",
        probe="torch/test_optimizer.py::test_the_average_copies_at_first",
        step=predicates.averages,
        adapt=TorchAdaptation.OWN_AVERAGE,
    ),
    Row(
        path="activation_checkpointing",
        verdict=Verdict.UNSUPPORTED,
        how="torch.utils.checkpoint has no use_reentrant=False before PyTorch 1.11",
        code="CC319",
        evidence=Evidence.DOCUMENTED,
        probe=NO_GPU,
        when=recomputes,
        dialects=frozenset({"torch.cuda.amp-1.6"}),
    ),
    Row(path="activation_checkpointing", how="torch.utils.checkpoint of every layer"),
    Row(
        path="launch.rendezvous",
        verdict=Verdict.UNSUPPORTED,
        how="torch.distributed.launch does not restart processes: write rendezvous: static",
        code="CC314",
        evidence=Evidence.DOCUMENTED,
        probe="none: needs a PyTorch before 1.11",
        when=is_elastic,
        dialects=frozenset({"torch.cuda.amp-1.6"}),
    ),
    Row(
        path="distributed",
        how="DistributedDataParallel, no_sync within a window, torchrun",
        step=predicates.parallel,
    ),
    Row(path="distributed", how="one process"),
)


def adapted_plan(recipe: Recipe, dialect: Dialect) -> Plan:
    """Return the training step of a recipe, with the adaptations of a dialect."""
    rows = [row for row in ROWS if not row.dialects or dialect.name in row.dialects]
    plan = canonical_plan(recipe)
    return replace(plan, adapted=adaptations(judge(recipe, rows, plan)))
