"""Reads the run.sh that crosscast emits for the classic Paddle scripts with `--use_fp16`.

Flags alone say little: most of the step is fixed in the script that run.sh starts. But run.sh
spells out every flag, and the set of their names is that of one script in one revision, so what is
fixed is known, too. A run.sh that was edited afterwards says what its flags now say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from crosscast.targets.parameter_words import scaling_words
from crosscast_reading.readers.settings import Setting, Settings, SettingWriter
from crosscast_reading.readers.shell.expand import Scope
from crosscast_reading.readers.shell.flags_of_libraries import settings_of_flags
from crosscast_reading.readers.shell.launch import Launch
from crosscast_reading.readers.shell.text import places_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Classic:
    """A script, identified by the flags that are always given, with its fixed behaviour."""

    own: frozenset[str]
    """Flags that not all of the scripts have."""
    late: int = 0
    """Steps by which the loss scale changes later than the flags state."""
    carries: bool = True
    """Whether batches are cut across the end of an epoch."""
    scaled_limit: bool = False
    """Whether the limit of the norm is multiplied by the loss scale."""
    shuffles: bool = False
    """Whether rows are shuffled whatever the flag says."""


COMMON = frozenset(
    (
        *("use_cuda", "use_fast_executor", "do_train", "do_val", "do_test", "checkpoints"),
        *("vocab_path", "max_seq_len", "batch_size", "in_tokens", "do_lower_case", "shuffle"),
        *("random_seed", "epoch", "learning_rate", "lr_scheduler", "weight_decay", "use_fp16"),
        *("warmup_proportion", "save_steps", "validation_steps", "skip_steps", "verbose"),
        "num_iteration_per_drop_scope",
    )
)
_BERT = frozenset({"task_name", "data_dir", "bert_config_path"})
_DYNAMIC = frozenset({"use_dynamic_loss_scaling", *scaling_words("paddle")})
_ERNIE = frozenset(
    (
        *("is_distributed", "train_set", "dev_set", "test_set", "ernie_config_path"),
        *("is_classify", "is_regression", "num_labels", "for_cn", "tokenizer"),
    )
)
CLASSICS = {
    "lark": Classic(own=_BERT | {"loss_scaling"}, scaled_limit=True),
    "ernie": Classic(own=_ERNIE | _DYNAMIC, late=1, carries=False, shuffles=True),
    "models-bert": Classic(own=_BERT | _DYNAMIC),
}
LABELS = {"mrpc": 2, "cola": 2, "xnli": 3, "mnli": 3}
"""Classes of the tasks that the scripts without `--num_labels` know, in small letters."""
_FIXED = {
    "accumulation.steps": 1,
    "accumulation.normalize_by": "sample",
    "loss.kind": "cross_entropy",
    "loss.label_smoothing": 0.0,
    "loss.class_weights": (),
    "ema.decay": None,
    "clipping.kind": "global_norm",
    "clipping.eps": 0.0,
    "clipping.exempt": (),
    "optimizer.name": "adamw",
    "optimizer.betas": (0.9, 0.999),
    "optimizer.eps": 1e-8,
    "optimizer.eps_placement": "before_correction",
    "optimizer.bias_correction": True,
    "optimizer.no_decay": ("bias", "layer_norm"),
    "optimizer.groups": (),
    "model.layer_norm_eps": 1e-5,
    "activation_checkpointing": False,
    "schedule.tick": "attempt",
}
"""Fields that no flag of these scripts changes."""
_COUNTS = frozenset({"loss_scaling.growth_interval", "loss_scaling.hysteresis"})


def classic_of(settings: Settings) -> str:
    """Return the script that has all of these flags, empty if there is none."""
    for name, script in CLASSICS.items():
        needed = COMMON | script.own
        if len(settings.having(needed)) == len(needed):
            return name
    return ""


def tell_emitted(writer: SettingWriter, launch: Launch, scope: Scope) -> None:
    """Record the facts of a run.sh as fields of a recipe; other launches have none.

    Args:
        writer: takes the facts.
        launch: the command with its flags.
        scope: variables at the end of run.sh.
    """
    settings = settings_of_flags(launch.command.flags)
    name = classic_of(settings)
    if not name or not settings.is_on("do_train") or settings.is_on("in_tokens"):
        return
    telling = _Telling(writer, settings, CLASSICS[name], launch, scope)
    for path, value in _FIXED.items():
        telling.fact(path, value)
    telling.run(name)
    telling.batches()
    telling.half()
    telling.schedule()


@dataclass(slots=True)
class _Telling:
    writer: SettingWriter
    settings: Settings
    script: Classic
    launch: Launch
    scope: Scope

    def fact(self, path: str, value: object, *settings: Setting | None) -> None:
        self.writer.tell(f"recipe.{path}", value, *settings)  # type: ignore[arg-type]

    def number(self, path: str, flag: str, *, more: int = 0, whole: bool = False) -> None:
        """Record the number of a flag as a field."""
        setting = self.settings.get(flag)
        value = None if setting is None else setting.number
        if value is not None:
            self.fact(path, int(value) + more if whole else float(value), setting)

    def run(self, name: str) -> None:
        """Record name, seed, and what is known of model and data."""
        folder = self.settings.get("checkpoints")
        called = re.fullmatch(rf"runs/(.+)-paddle-{name}", folder.text if folder else "")
        if called:
            self.fact("name", called[1], folder)
        self.number("seed", "random_seed", whole=True)
        self.number("model.labels", "num_labels", whole=True)
        task = self.settings.get("task_name")
        if task is not None and task.text.lower() in LABELS:
            self.fact("model.labels", LABELS[task.text.lower()], task)
        self.number("data.sequence_length", "max_seq_len", whole=True)
        shuffle = self.settings.get("shuffle")
        self.fact("data.shuffle", self.script.shuffles or self.settings.is_on("shuffle"), shuffle)

    def batches(self) -> None:
        """Record batches and processes: one process drives all GPUs, each with its own batch."""
        self.number("batch.micro_batch_size", "batch_size", whole=True)
        self.fact("accumulation.tail", "carry" if self.script.carries else "flush_renormalized")
        for variable in self.launch.command.environment:
            if not variable.known:
                continue
            setting = Setting(
                name=variable.expression, value=variable.value, places=variable.places
            )
            if variable.expression == "CUDA_VISIBLE_DEVICES":
                count = len(setting.text.split(","))
                self.fact("distributed.processes_per_node", count, setting)
                strategy = "data_parallel" if count > 1 else "none"
                self.fact("distributed.strategy", strategy, setting)
            elif variable.expression == "NVIDIA_TF32_OVERRIDE":
                self.fact("precision.tf32", setting.text != "0", setting)

    def half(self) -> None:
        """Record number formats, loss scale and the limit of the norm (which may be scaled)."""
        switch = self.settings.get("use_fp16")
        on = self.settings.is_on("use_fp16")
        self.fact("precision.mode", "mixed" if on else "none", switch)
        self.fact("precision.compute_dtype", "float16" if on else "float32", switch)
        scale = self.settings.get("loss_scaling", "init_loss_scaling")
        factor = (scale.number if scale is not None else None) or 1.0
        dynamic = self.settings.get("use_dynamic_loss_scaling")
        if on and dynamic is not None and dynamic.switch:
            self._dynamic(dynamic)
        elif on and factor != 1:
            self.fact("loss_scaling.mode", "static", scale, dynamic)
            self.fact("loss_scaling.scale", float(factor), scale)
        else:
            self.fact("loss_scaling.mode", "none", switch, scale, dynamic)
        scaled = on and self.script.scaled_limit
        limit = max(1.0, float(factor)) if scaled else 1.0
        self.fact("clipping.max_norm", limit, scale if scaled else None)

    def _dynamic(self, switch: Setting) -> None:
        self.fact("loss_scaling.mode", "dynamic", switch)
        self.fact("loss_scaling.hysteresis_mode", "consecutive")
        self.fact("loss_scaling.min_scale", 1.0)
        self.fact("loss_scaling.max_scale", None)
        for flag, path in scaling_words("paddle").items():
            counts = path in _COUNTS
            more = self.script.late if counts else 0
            self.number(path, flag, more=more, whole=counts)

    def schedule(self) -> None:
        """Record the learning rate; without a warm-up the scripts keep it constant."""
        self.number("optimizer.learning_rate", "learning_rate")
        self.number("optimizer.weight_decay", "weight_decay")
        given = self.settings.entries  # the script has both flags: see `classic_of`
        chosen, share = given["lr_scheduler"], given["warmup_proportion"]
        total = self._windows()
        if total is None or share.number is None:
            return
        self.fact("schedule.total_steps", total.value, total)
        # The script rounds the product down.
        steps = int(int(str(total.value)) * share.number)
        self.fact("schedule.warmup_steps", steps, share)
        if not share.number:
            self.fact("schedule.name", "constant", share)
        elif chosen.text == "noam_decay":
            self.fact("schedule.name", "inverse_sqrt", chosen)
        else:
            self.fact("schedule.name", "linear", chosen)
            self.fact("schedule.decay_from", "start", chosen)
            self.fact("schedule.end_lr", 0.0, chosen)

    def _windows(self) -> Setting | None:
        """Return the number of steps that run.sh turns into epochs."""
        count = self.scope.number("windows") or 0
        if count < 1:
            return None
        places = places_of(self.scope.word("windows") or ())
        return Setting(name="windows", value=count, places=places)
