"""The classic Paddle scripts with `--use_fp16`, as data: their flags, defaults and dead flags.

Read in the public sources named by each `Script`. A flag without a default there (None) is only
passed when the user sets its variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crosscast.targets.backend import Dialect
from crosscast.targets.capability import Evidence

Kind = Literal["str", "int", "float", "bool"]
Value = str | int | float | bool
EPOCHS = "epochs"
"""What run.sh computes from the number of rows."""
LAUNCH_ONLY = "launch-only"
"""Feature of a dialect that emits flags for a script which the user has, and no script."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of a script."""

    name: str
    kind: Kind
    default: Value | None
    """What the script's parser fills in."""
    variable: str = ""
    """Variable of run.sh that gives the value, where the recipe says nothing about it."""
    dead: bool = False
    """Parsed by the script and then never used."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of run.sh with the text its default is written with; empty for none."""

    name: str
    default: str
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A script and what it does with its flags."""

    name: str
    """Name of the dialect."""
    title: str
    source: str
    """Repository, file and revision that the table was read in."""
    flags: tuple[Flag, ...]
    """Flags of its parser that bear on training a classifier."""
    others: tuple[str, ...]
    """Flags of its parser that do not: benchmarks, other tasks, evaluation."""
    variables: tuple[Variable, ...]
    config: str
    """Name of the JSON file that describes the encoder."""
    tasks: tuple[tuple[int, tuple[str, ...]], ...] = ()
    """Number of classes to names of tasks; empty where a flag gives the number."""


PATHS = (
    Flag("init_checkpoint", "str", None, "INIT_CHECKPOINT"),
    Flag("init_pretraining_params", "str", None, "INIT_PARAMS"),
    Flag("checkpoints", "str", "checkpoints", "CHECKPOINTS"),
)
TRAINING = (
    Flag("epoch", "int", 3, EPOCHS),
    Flag("learning_rate", "float", 5e-5),
    Flag("lr_scheduler", "str", "linear_warmup_decay"),
    Flag("weight_decay", "float", 0.01),
    Flag("warmup_proportion", "float", 0.1),
    Flag("save_steps", "int", 10000, "SAVE_STEPS"),
    Flag("validation_steps", "int", 1000, "VALIDATION_STEPS"),
    Flag("use_fp16", "bool", False),
)
LOGGING = (Flag("skip_steps", "int", 10, "LOG_STEPS"), Flag("verbose", "bool", False))
BATCHES = (
    Flag("vocab_path", "str", None, "VOCAB_PATH"),
    Flag("max_seq_len", "int", 512),
    Flag("batch_size", "int", 32),
    Flag("in_tokens", "bool", False),
    Flag("do_lower_case", "bool", True, "DO_LOWER_CASE"),
)
RUN = (
    Flag("use_cuda", "bool", True),
    Flag("use_fast_executor", "bool", False),
    Flag("do_train", "bool", True),
    Flag("do_val", "bool", True, "DO_VAL"),
    Flag("do_test", "bool", True, "DO_TEST"),
)
SCRIPT = Variable("SCRIPT", "run_classifier.py", "the script, in a checkout with its modules")
CHECKPOINTS = Variable("CHECKPOINTS", "", "where it saves")
OPTIONAL = (
    Variable("INIT_PARAMS", "", "folder of pretrained parameters; unset for fresh weights"),
    Variable("INIT_CHECKPOINT", "", "folder of a checkpoint to go on from"),
)
HABITS = (
    Variable("DO_LOWER_CASE", "true", "false for a cased vocabulary"),
    Variable("DO_VAL", "true", "evaluate on the dev set"),
    Variable("DO_TEST", "false", "evaluate on the test set"),
    Variable("SAVE_STEPS", "10000", ""),
    Variable("VALIDATION_STEPS", "1000", ""),
    Variable("LOG_STEPS", "10", ""),
)
TASKS = ((2, ("mrpc", "MRPC", "cola", "CoLA")), (3, ("xnli", "XNLI", "mnli", "MNLI")))
BENCHMARK = ("enable_ce",)

BERT = (
    *RUN,
    Flag("task_name", "str", None, "TASK_NAME"),
    Flag("data_dir", "str", None, "DATA_DIR"),
    Flag("bert_config_path", "str", None, "CONFIG"),
    *PATHS,
    *BATCHES,
    Flag("shuffle", "bool", True),
    Flag("random_seed", "int", 0),
    *TRAINING,
)
BERT_VARIABLES = (
    SCRIPT,
    Variable("DATA_DIR", "data", "folder of the task's text files"),
    Variable("TASK_NAME", "", "a task with this number of classes"),
    Variable("VOCAB_PATH", "vocab.txt", ""),
    CHECKPOINTS,
    *OPTIONAL,
    *HABITS,
)

LARK = Script(
    name="lark",
    title="BERT's run_classifier.py of LARK",
    source="PaddlePaddle/ERNIE (then LARK), BERT/run_classifier.py, 70db68a of 2019-07-31",
    config="bert_config.json",
    tasks=TASKS,
    variables=BERT_VARIABLES,
    flags=(
        *BERT,
        Flag("loss_scaling", "float", 1.0),
        *LOGGING,
        Flag("num_iteration_per_drop_scope", "int", 1),
    ),
    others=BENCHMARK,
)
ERNIE = Script(
    name="ernie",
    title="ERNIE r2.1's run_classifier.py",
    source="PaddlePaddle/ERNIE, finetune_args.py and run_classifier.py, v2.1.0 of 2019-08-28",
    config="ernie_config.json",
    variables=(
        SCRIPT,
        Variable("TRAIN_SET", "data/train.tsv", "with a header: label, text_a, text_b"),
        Variable("DEV_SET", "data/dev.tsv", ""),
        Variable("TEST_SET", "data/test.tsv", ""),
        Variable("LABEL_MAP", "", "JSON of label to number; unset if labels are numbers"),
        Variable("FOR_CN", "true", "false if words are separated by spaces: true removes them"),
        Variable("VOCAB_PATH", "vocab.txt", ""),
        CHECKPOINTS,
        *OPTIONAL,
        *HABITS,
    ),
    flags=(
        *RUN,
        Flag("is_distributed", "bool", False),
        Flag("train_set", "str", None, "TRAIN_SET"),
        Flag("dev_set", "str", None, "DEV_SET"),
        Flag("test_set", "str", None, "TEST_SET"),
        Flag("label_map_config", "str", None, "LABEL_MAP"),
        Flag("ernie_config_path", "str", None, "CONFIG"),
        *PATHS,
        Flag("is_classify", "bool", True),
        Flag("is_regression", "bool", False),
        Flag("num_labels", "int", 2),
        Flag("for_cn", "bool", True, "FOR_CN"),
        *BATCHES,
        Flag("random_seed", "int", None),
        *TRAINING,
        Flag("use_dynamic_loss_scaling", "bool", True),
        Flag("init_loss_scaling", "float", 102400),
        Flag("incr_every_n_steps", "int", 100),
        Flag("decr_every_n_nan_or_inf", "int", 2),
        Flag("incr_ratio", "float", 2.0),
        Flag("decr_ratio", "float", 0.8),
        *LOGGING,
        Flag("num_iteration_per_drop_scope", "int", 10),
        Flag("shuffle", "bool", True, dead=True),
        Flag("tokenizer", "str", "FullTokenizer", dead=True),
    ),
    others=(
        *("task_id", "test_save", "metric", "metrics", "predict_batch_size", "diagnostic"),
        *("diagnostic_save", "max_query_length", "max_answer_length", "doc_stride"),
        *("n_best_size", "chunk_scheme", "use_multi_gpu_test", *BENCHMARK),
    ),
)
MODELS_BERT = Script(
    name="models-bert",
    title="BERT's run_classifier.py of PaddlePaddle/models",
    source="PaddlePaddle/models, PaddleNLP/pretrain_language_models/BERT, 05d1e77 of 2020-11-16",
    config="bert_config.json",
    tasks=TASKS,
    variables=BERT_VARIABLES,
    flags=(
        *BERT,
        Flag("use_dynamic_loss_scaling", "bool", True),
        Flag("init_loss_scaling", "float", 2.0**32),
        *LOGGING,
        Flag("num_iteration_per_drop_scope", "int", 1),
        Flag("incr_every_n_steps", "int", 1000, dead=True),
        Flag("decr_every_n_nan_or_inf", "int", 2, dead=True),
        Flag("incr_ratio", "float", 2.0, dead=True),
        Flag("decr_ratio", "float", 0.8, dead=True),
    ),
    others=("profiler_path", "is_profiler", "max_iter", *BENCHMARK),
)
SCRIPTS = {script.name: script for script in (LARK, ERNIE, MODELS_BERT)}

CLASSIC_DIALECTS = tuple(
    Dialect(
        name=script.name,
        title=script.title,
        evidence=Evidence.DOCUMENTED,
        features=frozenset({LAUNCH_ONLY}),
        emits="flags",
    )
    for script in SCRIPTS.values()
)
