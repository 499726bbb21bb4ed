"""PyTorch as scripts and checkpoints show it."""

from __future__ import annotations

from crosscast.targets.framework import Framework, ModelTest, OwnModel, Weights

FRAMEWORK = Framework(
    module="torch",
    word="pytorch",
    weights=Weights(
        kernel="(out, in)",
        own="those of `state_dict()`",
        evidence="frameworks/test_state_convert.py::test_shipped_bert_goes_on_in_another_framework",
    ),
    own_model=OwnModel(
        imported="from torch import nn",
        returns="nn.Module",
        called="model(input_ids=..., ...), one keyword an array of the npz file but labels",
        answer="a torch.Tensor of logits [rows, classes]",
        test=ModelTest(
            imported="import torch",
            learns="any(weight.requires_grad for weight in build_model().parameters())",
            outputs="build_model()(**{name: torch.as_tensor(rows) for name, rows in ROWS.items()})",
        ),
    ),
    optimizers=("torch.optim.{}",),
    tf32=(False, "1.12"),  # torch.backends.cuda.matmul.allow_tf32
    clip="torch.nn.utils.clip_grad_norm_",
)
