"""Load what was emitted for a layer with the layer's own code; print as JSON what it understood."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

STEPS = 8


def module(path: Path) -> Any:
    """Import an emitted file."""
    spec = importlib.util.spec_from_file_location("emitted", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules["emitted"] = found
    spec.loader.exec_module(found)
    return found


def toy() -> tuple[Any, Any]:
    """Return one weight, and rows whose losses are the weight times the row."""
    import torch

    class Toy(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return self.weight * rows

    class Rows(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> dict[str, Any]:
            return {"rows": torch.tensor(float(index + 1)), "labels": torch.tensor(0)}

    return Toy(), Rows()


def mean(model: Any, batch: Any) -> Any:
    """The mean of the rows' losses."""
    return model(batch["rows"]).mean()


def total(model: Any, batch: Any) -> Any:
    """Their sum."""
    return model(batch["rows"]).sum()


def accelerate(folder: Path) -> dict[str, Any]:
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(folder / "accelerate.yaml"))
    emitted = module(folder / "training.py")
    accelerator = emitted.make_accelerator()
    handler = accelerator.scaler_handler
    names = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")
    found = {
        "yaml": [str(config.mixed_precision), config.num_processes],
        "steps": accelerator.gradient_accumulation_steps,
        "syncs": accelerator.gradient_state.sync_with_dataloader,
        "scaler": {name: getattr(handler, name) for name in names} if handler else None,
    }
    model, rows = toy()
    emitted.train(accelerator, model, emitted.make_loader(rows), mean)
    return found | {"weight": model.weight.item()}


def fabric(folder: Path) -> dict[str, Any]:
    emitted = module(folder / "training.py")
    scaled = [emitted.make_scaler()] if hasattr(emitted, "make_scaler") else []
    made = emitted.make_fabric(*scaled)
    plugin = made._precision
    model, rows = toy()
    if not scaled:  # on a CPU there is no scale to train with
        emitted.train(made, model, emitted.make_loader(rows), total)
    return {"precision": plugin.precision, "weight": model.weight.item()}


def lightning(folder: Path) -> dict[str, Any]:
    import torch

    emitted = module(folder / "trainer.py")
    with contextlib.chdir(folder):  # where it is made, it puts its checkpoints
        trainer = emitted.make_trainer()
    model, rows = toy()

    base: Any = emitted.RecipeModule

    class Trained(base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.toy = model

        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            return mean(self.toy, batch)

    if not hasattr(emitted, "make_scaler"):
        trainer.fit(Trained(), emitted.make_loader(rows))
    return {
        "precision": trainer.precision,
        "steps": trainer.accumulate_grad_batches,
        "clip": [trainer.gradient_clip_val, str(trainer.gradient_clip_algorithm or "")],
        "max_steps": trainer.max_steps,
        "weight": model.weight.item(),
    }


def smoothed(arguments: Any, emitted: Any) -> float | None:
    """Return the loss of four labels, one of them ignored, of a Trainer with these arguments.

    None if the Trainer leaves the loss to the model.
    """
    import torch
    from transformers.trainer_pt_utils import LabelSmoother

    outputs = {"logits": torch.tensor([[1.0, 2, 3], [3, 1, 0], [0, 0, 5], [4, 4, 4]])}
    labels = torch.tensor([0, 2, -100, 1])
    if hasattr(emitted, "compute_loss"):
        return float(emitted.compute_loss(outputs, labels))
    if not arguments.label_smoothing_factor:
        return None
    return float(LabelSmoother(epsilon=arguments.label_smoothing_factor)(outputs, labels))


def transformers(folder: Path) -> dict[str, Any]:
    import torch
    from transformers import HfArgumentParser, TrainingArguments, get_scheduler

    (parsed,) = HfArgumentParser(TrainingArguments).parse_json_file(folder / "arguments.json")
    emitted = module(folder / "training_arguments.py")
    made = emitted.training_arguments()
    given = json.loads((folder / "arguments.json").read_text())
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=parsed.learning_rate)
    schedule = get_scheduler(
        parsed.lr_scheduler_type,
        optimizer,
        num_warmup_steps=parsed.get_warmup_steps(parsed.max_steps),
        num_training_steps=parsed.max_steps,
        scheduler_specific_kwargs=parsed.lr_scheduler_kwargs,
    )
    rates = []
    for _ in range(parsed.max_steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return {
        "rates": rates,
        "loss": smoothed(parsed, emitted),
        "same": all(getattr(parsed, name) == getattr(made, name) for name in given),
        "given": {name: str(getattr(parsed, name)) for name in given},
    }


def deepspeed(folder: Path) -> dict[str, Any]:
    import torch
    from deepspeed.runtime import lr_schedules
    from deepspeed.runtime.config import DeepSpeedConfig
    from deepspeed.runtime.fp16 import loss_scaler

    config = DeepSpeedConfig(str(folder / "ds_config.json"))
    rates, scales = [], []
    if config.scheduler_name:
        optimizer = torch.optim.SGD([torch.zeros(1)], lr=config.optimizer_params["lr"])
        make = getattr(lr_schedules, config.scheduler_name)
        schedule = make(optimizer, **config.scheduler_params)
        for _ in range(STEPS):
            rates.append(optimizer.param_groups[0]["lr"])
            schedule.step()
    half = config.float16_config
    if half.enabled and half.loss_scale == 0:
        # Only the first process tells of overflows, and there is no group of them here.
        loss_scaler.dist = SimpleNamespace(get_rank=lambda: 1)
        scaler = loss_scaler.CreateLossScaler(torch.half, 1.0, True, half.dynamic_loss_scale_args())
        for overflowed in (False,) * 8 + (True,) * 3:
            scaler.update_scale(overflowed)
            scales.append(scaler.loss_scale)
    return {
        "batch": [
            config.train_batch_size,
            config.train_micro_batch_size_per_gpu,
            config.gradient_accumulation_steps,
        ],
        "clipping": config.gradient_clipping,
        "half": [half.enabled, config.bfloat16_config.enabled, config.grad_accum_dtype],
        "optimizer": [config.optimizer_name, config.optimizer_params],
        "rates": rates,
        "scales": scales,
    }


def paddlenlp(folder: Path) -> dict[str, Any]:
    from paddlenlp.trainer import PdArgumentParser, TrainingArguments

    (parsed,) = PdArgumentParser(TrainingArguments).parse_json_file(str(folder / "arguments.json"))
    given = json.loads((folder / "arguments.json").read_text())
    return {"given": {name: str(getattr(parsed, name)) for name in given}}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps([globals()[sys.argv[1]](Path(path)) for path in sys.argv[2:]]))
