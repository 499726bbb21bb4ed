"""Every value says where it comes from; nothing is said of a loop that was not understood."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse, together
from crosscast_reading.lift.drafting import NAMES, lift
from crosscast_reading.lift.effective_fields import meaning
from crosscast_reading.lift.flat_recipe import flat
from crosscast_reading.lift.recipe_draft import KINDS, Filled
from reading_helpers.torch_loops import lifted, program


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


def field(path: str, **parts: str) -> Filled:
    return lifted(**parts).fields[path]


NOTHING = {
    "clipping.kind": "none",
    "accumulation.steps": 1,
    "schedule.name": "constant",
    "schedule.warmup_steps": 0,
    "ema.decay": None,
    "precision.mode": "none",
    "loss_scaling.mode": "none",
    "distributed.strategy": "none",
    "distributed.processes_per_node": 1,
    "loss.label_smoothing": 0.0,
    "optimizer.no_decay": [],
    "optimizer.groups": [],
}


@pytest.mark.parametrize("path", NOTHING)
def test_what_an_understood_loop_does_not_do_is_read_from_it(path: str) -> None:
    found = lifted()
    filled = found.fields[path]
    assert (filled.value, filled.how) == (NOTHING[path], "read")
    assert filled.places
    assert path not in found.unsaid


def test_a_plain_loop_leaves_to_the_user_only_what_it_does_not_say() -> None:
    assert set(lifted().unsaid) == {
        *("model.kind", "model.factory.torch", "data.source", "data.train", "data.eval"),
        "schedule.total_steps",
    }


SHUFFLES = {
    ", shuffle=True": True,
    ", shuffle=False": False,
    "": False,
    ", sampler=torch.utils.data.RandomSampler(rows)": True,
    ", sampler=torch.utils.data.SequentialSampler(rows)": False,
    ", sampler=torch.utils.data.distributed.DistributedSampler(rows)": True,
    ", sampler=torch.utils.data.distributed.DistributedSampler(rows, shuffle=False)": False,
    ", sampler=drawn": None,
    ", shuffle=cfg.shuffle": None,
}


@pytest.mark.parametrize("given", SHUFFLES)
def test_whether_rows_are_shuffled_is_read_of_the_loader(given: str) -> None:
    found = lifted(loader=given).fields["data.shuffle"]
    shuffles = SHUFFLES[given]
    if shuffles is None:
        assert found.how == "assumed"
    else:
        assert (found.value, found.how) == (shuffles, "read")


def test_a_data_set_that_is_not_shown_may_shuffle() -> None:
    text = program().replace("TensorDataset(*rows)", "build()")
    assert lifted(text).fields["data.shuffle"].how == "assumed"


def test_an_average_kept_by_hand_is_read() -> None:
    pairs = "zip(average.parameters(), model.parameters())"
    found = lifted(after=f"for kept, new in {pairs}: kept.lerp_(new.detach(), 0.01)")
    assert (found.fields["ema.decay"].value, found.fields["ema.decay"].how) == (0.99, "derived")


# ---- code that was not understood

SEEN: dict[str, tuple[dict[str, str], str]] = {
    "clip by a function of another file": (
        {"imports": "from mine import tame", "inside": "tame(model)"},
        "clipping.kind",
    ),
    "gradients changed by hand": (
        {"inside": "for p in model.parameters(): p.grad *= 0.5"},
        "clipping.kind",
    ),
    "gradients changed in place": (
        {"inside": "for p in model.parameters(): p.grad.data.mul_(factor)"},
        "clipping.kind",
    ),
    "gradients changed by a function of the program": (
        {"before": "def damp(net):\n    for p in net.parameters():\n        p.grad.mul_(0.5)\n",
         "inside": "damp(model)"},
        "clipping.kind",
    ),
    "the optimizer in the hands of another file": (
        {"imports": "from mine import policy", "after": "policy(optimizer, epoch)"},
        "schedule.name",
    ),
    "gradients set by hand": (
        {"inside": "for p in model.parameters(): p.grad.set_value(smooth(p.grad))"},
        "clipping.kind",
    ),
    "an average by hand": (
        {"after": "for a, b in zip(teacher.parameters(), model.parameters()):"
                  " a.data.mul_(0.99).add_(b.data, alpha=0.2)"},
        "ema.decay",
    ),
    "an average of another file": (
        {"imports": "from mine import ModelEma", "before": "ema = ModelEma(model)",
         "after": "ema.update(model)"},
        "ema.decay",
    ),
    "a step under an unknown condition": (
        {"imports": "from mine import ready", "inside": "if not ready(epoch): continue"},
        "accumulation.steps",
    ),
    "groups of another file": (
        {"imports": "from mine import split",
         "optimizer": "torch.optim.SGD(split(model), lr=0.1, weight_decay=0.1)"},
        "optimizer.no_decay",
    ),
    "processes": (
        {"before": "torch.distributed.init_process_group('nccl')"},
        "distributed.processes_per_node",
    ),
    "the variables of launchers": (
        {"imports": "import os", "before": "rank = int(os.environ.get('LOCAL_RANK', -1))"},
        "distributed.processes_per_node",
    ),
    "weight decay that is changed": (
        {"optimizer": "torch.optim.AdamW(model.parameters(), lr=1e-3)",
         "after": "for group in optimizer.param_groups: group['weight_decay'] = decays[epoch]"},
        "optimizer.weight_decay",
    ),
    "weight decay of a group that is added": (
        {"after": "", "before": "optimizer.add_param_group({'params': more, 'weight_decay': 0.1})"},
        "optimizer.weight_decay",
    ),
    "a rate that is set later": (
        {"optimizer": "torch.optim.AdamW(model.parameters())",
         "after": "for group in optimizer.param_groups: group['lr'] = rates[epoch]"},
        "optimizer.learning_rate",
    ),
    "a class of the same name": (
        {"imports": "from transformers import AdamW",
         "optimizer": "AdamW(model.parameters(), lr=1e-3)"},
        "optimizer.weight_decay",
    ),
    "rates of groups": (
        {"optimizer": "torch.optim.SGD([{'params': a, 'lr': 0.1}, {'params': b, 'lr': 0.2}])"},
        "optimizer.groups",
    ),
    "a loss of the program": ({"loss": "criterion(model(inputs), labels)"}, "loss.kind"),
    "the unit of such a loss": (
        {"loss": "criterion(model(inputs), labels)"},
        "accumulation.normalize_by",
    ),
    "a seed of the launch": ({"before": "torch.manual_seed(seed_of(rank))"}, "seed"),
    "a last batch that a setting decides about": ({"loader": ", drop_last=cfg.drop"},
                                                  "accumulation.tail"),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_code_that_was_not_understood_is_left_to_the_user(name: str) -> None:
    parts, path = SEEN[name]
    found = lifted(**parts)
    filled = found.fields[path]
    assert filled.how == "assumed", filled
    assert path in found.unsaid
    assert filled.note
    assert filled.confidence == "guess"
    assert found.recipe is not None, found.diagnostics


LOOK_ALIKES: dict[str, tuple[dict[str, str], str]] = {
    "a call that saves": (
        {"imports": "from mine import save_state", "after": "save_state(model, optimizer)"},
        "schedule.name",
    ),
    "a call that logs": (
        {"imports": "from mine import log_gradients", "inside": "log_gradients(model)"},
        "clipping.kind",
    ),
    "a call of a library that reads": (
        {"inside": "norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()"},
        "clipping.kind",
    ),
    "a function of the program that only reads": (
        {"before": "def norm(net):\n    return sum(p.grad.norm() for p in net.parameters())\n",
         "inside": "norm(model)"},
        "clipping.kind",
    ),
    "gradients that are dropped": (
        {"inside": "for p in frozen.parameters(): p.grad = None"},
        "clipping.kind",
    ),
    "after the step": (
        {"imports": "from mine import tame", "after": "tame(model)"},
        "clipping.kind",
    ),
    "before the loop": (
        {"imports": "from mine import wrap", "before": "model = wrap(model)"},
        "clipping.kind",
    ),
    "a check for finite losses": (
        {"inside": "if not torch.isfinite(loss): continue"},
        "accumulation.steps",
    ),
    "parameters in a list": (
        {"optimizer": "torch.optim.SGD(list(model.parameters()), lr=0.1, weight_decay=0.1)"},
        "optimizer.no_decay",
    ),
    "parameters that are trained": (
        {"optimizer": "torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), "
                      "lr=0.1, weight_decay=0.1)"},
        "optimizer.no_decay",
    ),
    "a rate that starts a schedule": (
        {"after": "for group in optimizer.param_groups: group['lr'] = rates[epoch]"},
        "optimizer.learning_rate",
    ),
    "a dictionary that is no group": (
        {"optimizer": "torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1)",
         "after": "meters['weight_decay'] = 0.1"},
        "optimizer.weight_decay",
    ),
    "a group that is added to another optimizer": (
        {"optimizer": "torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1)",
         "before": "other.add_param_group({'params': more, 'weight_decay': 0.2})"},
        "optimizer.weight_decay",
    ),
    "the variables of a user": (
        {"imports": "import os", "before": "home = os.environ.get('HOME')"},
        "distributed.processes_per_node",
    ),
    "the last batch is dropped": ({"loader": ", drop_last=True"}, "accumulation.tail"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_look_alikes_hide_nothing(name: str) -> None:
    parts, path = LOOK_ALIKES[name]
    filled = field(path, **parts)
    assert filled.how == "read", filled


def test_the_place_of_what_was_seen_is_in_the_comment() -> None:
    parts = {"imports": "from mine import tame", "inside": "tame(model)"}
    found = lifted(**parts)
    line = line_of(program(**parts), "tame(model)")
    assert (
        f"kind: none                        # FILL IN: train.py:{line} (tame is not followed)"
        in (found.text)
    )


def test_tails_of_loaders() -> None:
    assert field("accumulation.tail").value == "flush_renormalized"
    assert field("accumulation.tail", loader=", drop_last=True").value == "drop"


# ---- four kinds, counted


def test_every_value_is_of_one_kind_and_says_where_it_is_from() -> None:
    for parts in ({}, *(parts for parts, _ in SEEN.values())):
        found = lifted(**parts)
        assert sum(found.counts.values()) == len(found.fields) - len(NAMES)
        assert tuple(found.counts) == KINDS
        for path, filled in found.fields.items():
            if path in NAMES:
                continue
            match filled.how:
                case "read" | "derived":
                    assert filled.places, path
                case "default":
                    assert "default of" in filled.note, path
                case "assumed":
                    assert "FILL IN" in found.text


def test_no_value_of_a_recipe_is_without_a_kind() -> None:
    silent = (
        *("version", "name", "launch.", "data.workers", "activation_checkpointing", "loss.target"),
        *("precision.param_dtype", "data.sequence_length", "batch.global_batch_size", "overrides"),
        "schedule.warmup_ratio",
    )
    for parts in ({}, *(parts for parts, _ in SEEN.values())):
        found = lifted(**parts)
        assert found.recipe is not None
        values = meaning(flat(found.recipe))
        tags = ("loss.kind", "schedule.name")  # a mark on one covers its section
        covered = {path.partition(".")[0] for path in tags if path in found.unsaid}
        left = {
            path
            for path in values
            if path not in found.fields
            and not path.startswith(silent)
            and path.partition(".")[0] not in covered
            and not any(filled.startswith(f"{path}.") for filled in found.fields)
        }
        assert left == set()


BY_HAND = """\
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader

class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = AUTOMATIC
        self.net = nn.Linear(8, 2)

    def training_step(self, batch, number):
        x, y = batch
        optimizer = self.optimizers()
        self.manual_backward(nn.functional.cross_entropy(self.net(x), y) / 4)
        if (number + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

L.Trainer(max_steps=1000).fit(Net(), DataLoader(rows, batch_size=16, shuffle=True))
"""


@pytest.mark.parametrize(("automatic", "how"), [("False", "assumed"), ("True", "default")])
def test_a_library_whose_module_steps_by_hand_has_no_default_of_the_tail(
    automatic: str, how: str
) -> None:
    draft = lift(analyse(together([Source("train.py", BY_HAND.replace("AUTOMATIC", automatic))])))
    assert draft.fields["accumulation.tail"].how == how
