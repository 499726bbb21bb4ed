"""Environment variables that change the precision of a training run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from crosscast_reading.facts.fact import Layer
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.shell.launch import Launch
from crosscast_reading.readers.shell.text import Word, places_of, reason_of, text_of
from crosscast_reading.readers.words import tell_precision

_REWRITE = frozenset(
    {"TF_ENABLE_AUTO_MIXED_PRECISION", "TF_ENABLE_AUTO_MIXED_PRECISION_GRAPH_REWRITE"}
)
_TF32 = {
    "NVIDIA_TF32_OVERRIDE": {"0": "no"},
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": {"1": "yes", "0": "no"},
}
_PADDLE = frozenset(
    (
        *("FLAGS_eager_delete_tensor_gb", "FLAGS_sync_nccl_allreduce", "FLAGS_cudnn_deterministic"),
        *("FLAGS_fraction_of_gpu_memory_to_use", "FLAGS_selected_gpus", "FLAGS_allocator_strategy"),
        *("FLAGS_fuse_parameter_memory_size", "FLAGS_cudnn_exhaustive_search", "FLAGS_use_mkldnn"),
        *("FLAGS_conv_workspace_size_limit", "FLAGS_fuse_parameter_groups_size"),
        *("FLAGS_enable_parallel_graph", "FLAGS_memory_fraction_of_eager_deletion"),
    )
)


def is_paddle_variable(name: str) -> bool:
    """Return whether only Paddle reads a variable of this name."""
    return name in _PADDLE or name.startswith("PADDLE_")


def tell_environment(
    writer: SettingWriter,
    exported: Iterable[tuple[str, Word, tuple[str, ...]]],
    launches: Sequence[Launch] = (),
) -> None:
    """Record the effect of exported and prefixed variables on the precision."""
    settings: dict[str, Setting] = {}
    for name, word, under in exported:
        text = text_of(word)
        settings[name] = Setting(
            name=name,
            value=text,
            known=text is not None,
            reason=reason_of(word),
            places=places_of(word),
            under=under,
        )
    for launch in launches:
        for fact in launch.command.environment:
            settings.setdefault(
                fact.expression,
                Setting(
                    name=fact.expression,
                    value=fact.value,
                    known=fact.known,
                    reason=fact.reason,
                    places=fact.places,
                    under=fact.under,
                ),
            )
    inner = SettingWriter(writer.reader, Layer.ENVIRONMENT)
    for setting in settings.values():
        tell_variable(inner, setting)
    writer.facts += inner.facts
    writer.diagnostics += inner.diagnostics


def tell_variable(writer: SettingWriter, setting: Setting) -> None:
    """Record the effect of a variable on the precision."""
    name = setting.name
    if name in _REWRITE and (setting.switch is not None or not setting.known):
        writer.tell("framework", "tensorflow", setting, origin="presence")
        writer.tell("api", "tf_env_amp", setting, origin="presence")
        if not setting.known:
            writer.unknown("precision.compute_dtype", setting.reason, setting, text=name)
            writer.tell("precision.enabled", "config", setting)
            writer.tell("precision.dtypes", "float16", setting)
        elif setting.switch:
            writer.tell("precision.enabled", "always", setting)
            writer.tell("precision.dtypes", "float16", setting)
            writer.tell("precision.compute_dtype", "float16", setting)
            writer.tell("loss_scaling.mode", "env_default", setting, origin="presence")
            writer.by_library("scaler_update.status")
    elif name in _TF32:
        if word := _TF32[name].get(setting.text):
            writer.tell("precision.tf32", word, setting)
    elif name == "ACCELERATE_MIXED_PRECISION":
        if tell_precision(writer, setting):
            writer.tell("framework", "pytorch", setting, origin="presence")
            writer.tell("api", "accelerate", setting, origin="presence")
    elif name in ("XLA_USE_BF16", "XLA_DOWNCAST_BF16") and setting.switch:
        writer.tell("framework", "pytorch", setting, origin="presence")
        writer.tell("precision.enabled", "always", setting)
        writer.tell("precision.dtypes", "bfloat16", setting)
        writer.tell("precision.compute_dtype", "bfloat16", setting)
        writer.tell("parallel.kind", "tpu", setting, origin="presence")
