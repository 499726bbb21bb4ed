"""Flags of launch commands that identify a library; read without the script itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from crosscast_reading.facts.fact import Fact, Layer
from crosscast_reading.readers.config.hf_arguments import (
    are_trainer_arguments,
    tell_smoothing,
    tell_trainer,
)
from crosscast_reading.readers.config.paddlenlp_arguments import are_paddlenlps, tell_trainer_flags
from crosscast_reading.readers.settings import Setting, Settings, SettingWriter, normal
from crosscast_reading.readers.shell import (
    flags_accelerate,
    flags_fairseq,
    flags_lightning,
    flags_megatron,
    flags_paddle,
)
from crosscast_reading.readers.shell.launch import Launch
from crosscast_reading.readers.usual_names import READER_NAME, are_usual, snake, tell_usual

_CONFIGS = (
    *("config", "config_file", "deepspeed_config", "ds_config", "deepspeed_config_file"),
    *("cfg", "config_path", "deepspeed"),
)
_FILES = (".json", ".yaml", ".yml", ".py", ".cfg")


@dataclass(frozen=True, slots=True)
class Library:
    """A library that is recognized by its flags."""

    name: str
    owns: Callable[[Settings, Launch], bool]
    tell: Callable[[SettingWriter, Settings, Launch], None]


def _is_trainer(settings: Settings, launch: Launch) -> bool:
    return are_trainer_arguments(settings)


def _tell_trainer(writer: SettingWriter, settings: Settings, launch: Launch) -> None:
    if launch.command.launcher == "paddle" or are_paddlenlps(settings):
        tell_trainer_flags(writer, settings)
        if "parallel.kind" not in {fact.field for fact in writer.facts}:
            _tell_processes(writer, launch)
        return
    tell_trainer(writer, settings)
    tell_smoothing(writer, settings)
    _replaced_precision(writer, settings, launch)


def _tell_processes(writer: SettingWriter, launch: Launch) -> None:
    """Record that PaddleNLP's Trainer spreads the batch over the processes of its launcher."""
    if launch.command.launcher == "paddle":
        writer.by_library("parallel.kind")


def _replaced_precision(writer: SettingWriter, settings: Settings, launch: Launch) -> None:
    """Report a type for Accelerate that TrainingArguments replaces (training_args.py 5.23.0)."""
    given = launch.options.get("mixed_precision")
    for name in ("fp16", "bf16"):
        if given is None or given.value not in ("fp16", "bf16") or given.value == name:
            continue
        if settings.is_on(name):
            writer.warn(
                "CC933",
                f"mixed_precision {given.value} of accelerate launch has no effect: the program's "
                f"--{name} replaces it",
                flags_accelerate.setting_of_option("mixed_precision", given),
                hint="give both the same type",
            )


def _are_usual(settings: Settings, launch: Launch) -> bool:
    """Whether they are flags of a training of which nothing else is known."""
    trains = launch.command.launcher in _KINDS
    return are_usual((setting.name for setting in settings), trains=trains)


def _tell_usual(writer: SettingWriter, settings: Settings, launch: Launch) -> None:
    named = {snake(setting.name): setting for setting in settings}

    def get(*names: str) -> Setting | None:
        return next((named[name] for name in names if name in named), None)

    tell_usual(replace(writer, reader=READER_NAME), get)  # into the same facts


LIBRARIES = (
    Library("megatron", flags_megatron.owns, flags_megatron.tell),
    Library("fairseq", flags_fairseq.owns, flags_fairseq.tell),
    Library("hf_trainer", _is_trainer, _tell_trainer),
    Library("lightning", flags_lightning.owns, flags_lightning.tell),
    Library("paddle", flags_paddle.owns, flags_paddle.tell),
    Library("accelerate", flags_accelerate.owns, flags_accelerate.tell),
    Library("usual", _are_usual, _tell_usual),
)


def tell_launch(writer: SettingWriter, launch: Launch) -> None:
    """Record the facts of the launch command itself: its library, processes and devices."""
    inner = SettingWriter(writer.reader, Layer.LAUNCHER, home=(launch.span,) if launch.span else ())
    settings = settings_of_flags(launch.command.flags)
    _mentions(writer, settings, launch)
    library = next((library for library in LIBRARIES if library.owns(settings, launch)), None)
    inner.confidence = "likely"
    if library is not None:
        library.tell(inner, settings, launch)
    _launcher(inner, settings, launch)
    writer.facts += inner.facts
    writer.diagnostics += inner.diagnostics
    for path in inner.mentions:
        writer.mention(path)


def settings_of_flags(flags: tuple[Fact, ...]) -> Settings:
    """Return the flags of a command as settings."""
    settings = Settings()
    for fact in flags:
        settings.add(
            Setting(
                name=fact.expression.lstrip("-"),
                value=fact.value,
                known=fact.known,
                reason=fact.reason,
                places=fact.places,
                origin=fact.origin,
                under=fact.under,
            )
        )
    return settings


def _mentions(writer: SettingWriter, settings: Settings, launch: Launch) -> None:
    if launch.command.program.endswith(".py"):
        writer.mention(launch.command.program)
    options = Settings({normal(k): _of_fact(k, f) for k, f in launch.options.items()})
    for flags in (settings, options):
        for name in _CONFIGS:
            setting = flags.get(name)
            value = None if setting is None else setting.value
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, str) and item.endswith(_FILES):
                    writer.mention(item)
    for fact in launch.arguments:
        if str(fact.value).endswith((".json", ".yaml", ".yml", ".py")):
            writer.mention(str(fact.value))


def _of_fact(name: str, fact: Fact) -> Setting:
    return Setting(
        name=name, value=fact.value, known=fact.known, reason=fact.reason, places=fact.places
    )


_KINDS = {
    "torchrun": "ddp",
    "torch.distributed.launch": "ddp",
    "horovodrun": "horovod",
    "deepspeed": "deepspeed",
    "accelerate": "ddp",
}


def _launcher(writer: SettingWriter, settings: Settings, launch: Launch) -> None:
    """Record the facts of the launcher, if the flags are less specific."""
    command = launch.command
    processes = command.processes
    if processes is not None:
        setting = _of_fact("processes", processes)
        if setting.known:
            writer.tell("parallel.world_size", setting.value, setting, origin="derived")
        else:
            writer.unknown("parallel.world_size", setting.reason, setting)
    if command.nodes is not None:
        setting = _of_fact("nodes", command.nodes)
        writer.tell("parallel.nodes", setting.value, setting, origin="derived")
    fields = {fact.field for fact in writer.facts}
    if "parallel.kind" in fields:
        return
    single = processes is not None and processes.value == 1
    if any(name in launch.options for name in ("use_fsdp", "use_deepspeed")):
        kind = "fsdp" if "use_fsdp" in launch.options else "deepspeed"
    elif settings.is_on("horovod", "use_horovod"):
        kind = "horovod"
    else:
        kind = _KINDS.get(command.launcher, "")
    if kind == "ddp" and single:
        return
    if kind:
        given = tuple(_of_fact(name, fact) for name, fact in launch.options.items())
        writer.tell("parallel.kind", kind, *given[:3], origin="presence")
        if "framework" not in fields and kind not in ("horovod",):
            writer.tell("framework", "pytorch", origin="presence")
        if kind == "deepspeed" and "api" not in fields:
            writer.tell("api", "deepspeed", *given[:1], origin="presence")
        return
    if _starts_several(launch):
        reason = f"{command.launcher} starts several processes; what they do together is not seen"
        given = tuple(_of_fact(name, fact) for name, fact in launch.options.items())
        writer.unknown("parallel.kind", reason, *given[:3])
        return
    visible = next((v for v in command.environment if v.expression == "CUDA_VISIBLE_DEVICES"), None)
    if visible is not None:
        devices = str(visible.value).strip("\"'")
        if devices.isdigit() and fields:
            setting = _of_fact("CUDA_VISIBLE_DEVICES", visible)
            writer.tell("parallel.kind", "none", setting)
            writer.tell("parallel.world_size", 1, setting)


def _starts_several(launch: Launch) -> bool:
    """Whether an MPI launcher starts more than one process; without a number SLURM's may not."""
    processes = launch.command.processes
    count = processes.value if processes is not None else None
    if launch.command.launcher == "srun":
        return isinstance(count, int) and count > 1
    return launch.command.launcher in ("mpirun", "jsrun") and count != 1
