"""The diagnostic codes of the core, each with a stable meaning and a paragraph of help.

Ranges: CC0xx reading a file, CC1xx the recipe's fields, CC2xx fields against each other,
CC3xx what a backend adapts or cannot express, CC4xx this machine, CC45x memory, CC5xx writing
files, CC6xx data sets, CC7xx parity, CC8xx plans, CC95x lint, CC96x training states. Backends
bring their own CC3xx codes with their rows.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A diagnostic code with its title and a help text that says what to do about it."""

    code: str
    title: str
    help: str


_TABLE = (
    Code("CC001", "file not found", "The path does not exist. Check it, or use - for stdin."),
    Code("CC002", "not a regular file", "A recipe is read from a file or from stdin (-)."),
    Code(
        "CC003",
        "file cannot be read",
        "The operating system denied access to the file. Check its permissions.",
    ),
    Code(
        "CC004",
        "file too large",
        "A recipe is limited to 1 MiB. Check that you named the right file.",
    ),
    Code("CC005", "not UTF-8", "Save the file as UTF-8."),
    Code("CC006", "not YAML", "The text is not well-formed YAML 1.2."),
    Code(
        "CC007", "duplicate key", "A key may occur only once; YAML would silently keep one of them."
    ),
    Code(
        "CC008",
        "too deep or too many nodes",
        "The document is nested too deeply or has too many values.",
    ),
    Code(
        "CC009", "tag not allowed", "Recipes contain plain values; YAML type tags are not allowed."
    ),
    Code("CC010", "anchor or alias not allowed", "Write the value out where it is needed."),
    Code("CC011", "more than one document", "A recipe file contains exactly one YAML document."),
    Code("CC012", "key is not a string", "Field names must be plain strings."),
    Code("CC013", "number out of range", "The number is not finite or not representable."),
    Code("CC014", "control character", "The text contains a character that YAML does not allow."),
    Code("CC015", "empty recipe", "Start from `crosscast init`."),
    Code(
        "CC101",
        "unknown field",
        "Unknown fields are not allowed. Put your own notes under keys that start with `x-`.",
    ),
    Code("CC102", "missing field", "The field has no default and must be set in the recipe."),
    Code("CC103", "wrong type", 'Values are not converted: `4` is not `"4"`.'),
    Code(
        "CC104",
        "value not allowed",
        "The field does not accept this value; the message lists what it accepts.",
    ),
    Code(
        "CC105", "unsupported recipe version", "This version of crosscast reads recipe version 1."
    ),
    Code(
        "CC106",
        "unknown backend",
        "`overrides` and `--to` must name an installed backend. `crosscast matrix --dialects` "
        "lists them.",
    ),
    Code(
        "CC107",
        "backend cannot be loaded",
        "Importing the package that provides the backend failed. Update or remove it.",
    ),
    Code("CC108", "unknown version or dialect", "A target is NAME, NAME@VERSION or NAME@DIALECT."),
    Code(
        "CC201",
        "batch sizes do not match",
        "The global batch size is micro-batch size x accumulation steps x processes.",
    ),
    Code(
        "CC202",
        "precision and loss scaling do not match",
        "Correct one of the fields that the message names.",
    ),
    Code(
        "CC203",
        "contradictory schedule settings",
        "Correct one of the fields that the message names.",
    ),
    Code("CC204", "contradictory loss scale bounds", "min_scale <= init_scale <= max_scale."),
    Code("CC205", "model sizes do not match", "hidden_size must be a multiple of attention_heads."),
    Code(
        "CC206", "model and data do not match", "Correct one of the fields that the message names."
    ),
    Code(
        "CC207",
        "contradictory optimizer or clipping settings",
        "Correct one of the fields that the message names.",
    ),
    Code("CC208", "unknown override", "The backend does not support this override."),
    Code(
        "CC209",
        "contradictory accumulation settings",
        "Correct one of the fields that the message names.",
    ),
    Code(
        "CC210",
        "only for the shipped model",
        "Remove the field, or implement the feature in your own model.",
    ),
    Code("CC211", "group without parameters", "The patterns of a group match no parameter."),
    Code(
        "CC212",
        "not part of a step",
        "`--form step` emits no model and no training loop; implement this part yourself.",
    ),
    Code(
        "CC213",
        "questionable loss scale",
        "Without a loss scale, float16 loses small gradients. A scale below 1 makes them "
        "even smaller, and a scale that is not a power of two rounds every gradient.",
    ),
    Code(
        "CC220",
        "contradictory launch settings",
        "Correct the fields that the message names. See docs/launching.md.",
    ),
    Code(
        "CC300",
        "field not supported",
        "The target cannot express this field. Change the value or choose another target.",
    ),
    Code("CC301", "reduced fidelity", "`--strict` rejects every field whose verdict is not exact."),
    Code(
        "CC302",
        "custom model",
        "The scripts treat your model as a black box. PyTorch and Paddle do not change "
        "weights without a gradient, TensorFlow still applies weight decay to them; losses "
        "that a Keras model adds itself do not count. Freeze weights that are not trained, "
        "and write regularization as weight_decay.",
    ),
    Code(
        "CC303",
        "dtypes within a custom model",
        "Autocast in PyTorch and Paddle chooses a dtype per operation, a Keras policy per "
        "layer. If a dtype matters, write the cast into your model, as the emitted BERT does.",
    ),
    Code(
        "CC304",
        "short windows over several processes",
        "Every process needs at least one row. Choose `tail: carry` or `tail: drop`, or a "
        "number of rows that fills all windows.",
    ),
    Code(
        "CC305",
        "custom model without a factory",
        "Set model.factory to the function that returns the model, for every target.",
    ),
    Code(
        "CC306",
        "target without a training script",
        "Flags and configurations are for your existing program: there is no step to import "
        "and nothing to run. `crosscast matrix --dialects` lists all targets.",
    ),
    Code(
        "CC401",
        "package missing",
        "Install the extra that the message names, or choose another interpreter.",
    ),
    Code(
        "CC450",
        "memory of a custom model",
        "Only a trace can determine what the framework keeps for the backward pass. Use "
        "`crosscast plan --trace`, which runs your code.",
    ),
    Code(
        "CC451",
        "no memory model",
        "Memory cannot be estimated for this recipe and target. docs/memory.md lists what is "
        "supported.",
    ),
    Code(
        "CC452",
        "memory trace failed",
        "Tracing your model failed. The message gives the reason and the line of your code.",
    ),
    Code(
        "CC460",
        "does not fit",
        "No split of the global batch, with or without activation checkpointing, fits into "
        "the limit. The message says what takes the memory, the hint what would help.",
    ),
    Code(
        "CC461",
        "invalid amount of memory",
        "Write `16GiB` for 16 x 2**30 bytes or `16GB` for 16 x 10**9 bytes.",
    ),
    Code(
        "CC462",
        "unknown device",
        "docs/planning.md lists the known devices. For others, pass --memory.",
    ),
    Code("CC463", "invalid plan option", "The message says what to change."),
    Code(
        "CC464",
        "trace without peak memory",
        "Scripts write `peak_memory` only on GPUs.",
    ),
    Code(
        "CC465",
        "equivalent normalization",
        "For micro-batches of equal size, the mean of means equals the mean over all rows. "
        "The answer uses `sample`, which keeps this mean for every split.",
    ),
    Code(
        "CC466",
        "short window weighted differently",
        "A mean of means depends on how a short window is split into micro-batches.",
    ),
    Code(
        "CC467",
        "model depends on the micro-batch",
        "Dropout masks are drawn for each micro-batch, and some layers, such as batch "
        "normalization, average over it.",
    ),
    Code(
        "CC468",
        "dtype not supported by the device",
        "The device would emulate the dtype slowly or reject it. Choose another dtype or device.",
    ),
    Code(
        "CC469",
        "answer changes the precision",
        "You allowed this with `--allow precision`. Use `crosscast parity` to check the effect.",
    ),
    Code(
        "CC470",
        "trace of another recipe",
        "The trace was written with a different split than the recipe's, so the comparison may "
        "be off.",
    ),
    Code(
        "CC501",
        "file not written by crosscast",
        "crosscast does not overwrite files of others. Choose another folder, or pass --force.",
    ),
    Code("CC502", "cannot write", "The operating system denied the write. Nothing was changed."),
    Code("CC503", "output path outside the folder", "Output files must be inside -o DIR."),
    Code("CC601", "data file cannot be read", "Check the path and the permissions."),
    Code("CC602", "not a data set file", "A data set is a single .npz file with plain arrays."),
    Code(
        "CC603",
        "array missing",
        "A data set needs input_ids, attention_mask, token_type_ids and labels.",
    ),
    Code(
        "CC604",
        "wrong dtype or shape",
        "The inputs are int32 arrays of shape [rows, ids], the labels of shape [rows].",
    ),
    Code("CC605", "array value out of range", "Ids must not be negative; the mask must be 0 or 1."),
    Code("CC610", "synthetic data argument out of range", "The message gives the allowed range."),
    Code("CC620", "text is not UTF-8", "Save the file as UTF-8."),
    Code(
        "CC621", "wrong number of columns", "Every line must have as many columns as the first one."
    ),
    Code(
        "CC622",
        "column not found",
        "Give the names of the columns, or their numbers, starting from 0.",
    ),
    Code(
        "CC623",
        "label missing or unknown",
        "Labels must be words from a fixed list. Set the list with --label-words; the default is "
        "NLI.",
    ),
    Code("CC624", "sentence missing", "Both sentences of a pair must contain text."),
    Code(
        "CC625",
        "not a JSON row",
        "Every line must be a JSON object with the two sentences and the label.",
    ),
    Code("CC626", "no rows", "The file is empty, or everything in it was filtered out."),
    Code(
        "CC628", "bytes ignored", "A byte order mark and CR line endings are not part of the text."
    ),
    Code("CC629", "more problems", "Fix the problems shown and run the command again."),
    Code(
        "CC640",
        "invalid vocabulary",
        "Use a BERT vocab.txt that contains every token, including the special ones, exactly once.",
    ),
    Code(
        "CC641",
        "sequence length out of range",
        "The sequence must have room for [CLS] a [SEP] b [SEP].",
    ),
    Code(
        "CC801",
        "operation out of order",
        "The order changes the result; the message gives the reason.",
    ),
    Code("CC802", "operation missing", "The training step is incomplete without this operation."),
    Code("CC803", "operation in the wrong part", "`micro` runs per micro-batch, `window` once."),
    Code("CC804", "operation repeated", "Every operation occurs at most once in a plan."),
    Code("CC805", "plan cannot be run", "The reference interpreter cannot execute the plan."),
    Code(
        "CC806", "batches do not match the plan", "Names, shapes, rows or processes do not match."
    ),
    Code(
        "CC701",
        "invalid trace",
        "The script wrote a row that violates the contract (docs/parity-contract.md).",
    ),
    Code("CC702", "invalid status", "The script's status.json is missing or invalid."),
    Code(
        "CC704",
        "parity cannot run this recipe",
        "The parity harness runs the shipped BERT in one process.",
    ),
    Code("CC705", "invalid fault", "Write a fault as WINDOW:MICRO=inf|-inf|nan[@NAMES]."),
    Code(
        "CC706",
        "fault without loss scaling",
        "Gradients are checked for inf and nan only with loss scaling.",
    ),
    Code("CC707", "invalid parity option", "The message says what to change."),
    Code(
        "CC708",
        "parity folder cannot be used",
        "The operating system denied access, or another comparison is using the folder. Wait "
        "until it ends, or choose another folder.",
    ),
    Code(
        "CC710",
        "weights cannot be read",
        "Weights must be a safetensors file in the format of Hugging Face.",
    ),
    Code(
        "CC711",
        "weights do not match the model",
        "Every tensor must be finite, float32 and part of the model.",
    ),
    Code("CC712", "fault without effect", "No parameter or float input matches the name."),
    Code(
        "CC713",
        "half precision cannot be emulated",
        "Emulation supports only the three built-in frameworks.",
    ),
    Code(
        "CC714",
        "stored reference does not match",
        "The message says what differs. Store the reference again if necessary.",
    ),
    Code(
        "CC723",
        "invalid recording",
        "The files that a run left in `observed` are invalid. Run the comparison again.",
    ),
    Code("CC728", "invalid sweep option", "The message says what to change."),
    Code("CC729", "sweep folder cannot be used", "Choose another -o DIR, or repair its contents."),
    Code(
        "CC730",
        "unknown executor",
        "Choose `local`, `slurm`, or an executor provided by a plug-in.",
    ),
    Code(
        "CC731",
        "SLURM not available",
        "The message gives the reason. `--executor local` does not need SLURM.",
    ),
    Code(
        "CC733",
        "recipe cannot be swept",
        "A cell is a single process. Change the field that the message names.",
    ),
    Code(
        "CC734",
        "bug cannot be planted",
        "The emitted script has changed, so the edits that plant the bug must be updated.",
    ),
    Code("CC735", "self-test failed", "A level did not detect a bug that it should detect."),
    Code("CC736", "trainer not installed", 'Install it: pip install "crosscast[trainers]".'),
    Code(
        "CC737",
        "trainer deviates from the recipe",
        "The trainer implements a field differently. `crosscast parity` shows the effect.",
    ),
    Code(
        "CC738",
        "trainer cannot run this recipe",
        "The trainer cannot express the field that the message names.",
    ),
    Code("CC739", "trainer could not be measured", "A probe of the conformance table failed."),
    Code("CC748", "invalid check-scaling option", "The message says what to change."),
    Code(
        "CC950",
        "internal error",
        "A rule or reader failed because of a bug in crosscast. Everything else was checked. "
        "Please report it.",
    ),
    Code("CC951", "invalid lint option", "The message says what to change."),
    Code(
        "CC952",
        "invalid settings",
        "`[tool.crosscast.lint]` in pyproject.toml supports select, ignore, exclude and "
        "per-file-ignores.",
    ),
    Code(
        "CC953",
        "fix not applied",
        "The file was not changed, because the result would not be valid Python.",
    ),
    Code("CC954", "not a baseline", "Create the file with `--baseline FILE --write-baseline`."),
    Code("CC955", "reader cannot be loaded", "Update or remove the package that provides it."),
    Code("CC970", "invalid migrate option", "The message says what to change."),
    Code(
        "CC971",
        "nothing to migrate",
        "Name the program of one run and the files that belong to it.",
    ),
    Code(
        "CC972",
        "left to fill in",
        "No source contains this value. Set it with --set or in recipe.yaml.",
    ),
    Code(
        "CC973",
        "mistake corrected",
        "The new script does not repeat the mistake. `--keep-bugs` keeps mistakes that a "
        "recipe can express.",
    ),
    Code(
        "CC974",
        "mistake cannot be kept",
        "A recipe cannot express the mistake, so it was corrected.",
    ),
    Code(
        "CC975",
        "intention not known",
        "The recipe contains what really runs. If you intended something else, correct the "
        "source or the recipe.",
    ),
    Code(
        "CC976",
        "cannot be verified here",
        "The migration was written but not verified. The message says what is missing.",
    ),
    Code(
        "CC977",
        "verification failed",
        "The script does not do what its recipe says or, with `--run`, what the original did.",
    ),
    Code(
        "CC956",
        "process died",
        "A worker process died. Check the named file alone, and report the problem.",
    ),
    Code(
        "CC960",
        "no training state",
        "Expected a checkpoint.safetensors of an emitted script, or a torch.save file.",
    ),
    Code("CC961", "training state damaged", "Use an older checkpoint. Nothing was written."),
    Code("CC962", "state of another recipe", "Pass the recipe that the run was compiled from."),
    Code("CC963", "file requires unpickling", "Only state dictionaries of tensors can be read."),
    Code(
        "CC964",
        "weights cannot be assigned",
        "Pass a layout map with --layout; docs/state.md has an example.",
    ),
    Code(
        "CC965", "left out of the state", "A checkpoint of an emitted script has no entry for it."
    ),
    Code(
        "CC966",
        "settings differ from the recipe",
        "Correct the recipe, so that the run can continue.",
    ),
    Code("CC967", "position unknown", "Set the position of the run with --windows and --updates."),
    Code(
        "CC968",
        "saved within a window",
        "The window starts again. Running statistics cannot be restored: save between "
        "optimizer steps.",
    ),
    Code("CC969", "invalid state option", "The message says what to change."),
    Code("CC901", "not Python 3", "This file is skipped; the other files are read."),
    Code(
        "CC902",
        "source in Python 2",
        "Convert the file to Python 3 first. The other files are read.",
    ),
    Code(
        "CC903",
        "source file too large or too deep",
        "The file is too large or too deeply nested for a program.",
    ),
    Code("CC904", "not a notebook", "An .ipynb file must be JSON with a list of cells."),
    Code("CC905", "merge conflict", "The first side was read. Resolve the conflict."),
    Code(
        "CC910",
        "contradictory files",
        "Two files set different values. The outermost one takes precedence.",
    ),
    Code(
        "CC911",
        "not expressible in a recipe",
        "The recipe does not contain this setting; see the message.",
    ),
    Code(
        "CC912", "undetermined value", "The source does not determine the value; see the message."
    ),
    Code(
        "CC913",
        "retired framework",
        "Training with this framework is not read: MXNet has had no release since 1.9.1 and "
        "was archived in 2023.",
    ),
    Code(
        "CC914", "no valid recipe", "Correct the field that the message names in the lifted file."
    ),
    Code("CC915", "no training found", "No reader found a training run."),
    Code("CC917", "no recipe to compare", "The other messages say why the source has no recipe."),
    Code("CC919", "invalid lift option", "The message says what to change."),
    Code(
        "CC918",
        "missing file",
        "A source refers to this file. Pass it as well, so that more can be read.",
    ),
    Code(
        "CC920",
        "flags lost in the shell",
        "A backslash continues a line only if it is the last character. bash runs the "
        "remaining flags as separate commands, and the program starts without them.",
    ),
    Code(
        "CC921",
        "source cannot be parsed",
        "The content does not match the file name, or the file is too large.",
    ),
    Code(
        "CC922",
        "not strict JSON",
        "crosscast accepts comments, trailing commas and Python constants, but other programs "
        "may not.",
    ),
    Code(
        "CC923",
        "duplicate key in a source",
        "Most parsers silently keep the last value. Delete the others.",
    ),
    Code(
        "CC924",
        "string that looks like a number",
        "YAML 1.1 parsers need a dot in the mantissa and a sign in the exponent: 1.0e-6.",
    ),
    Code("CC925", "two precisions at once", "Disable either float16 or bfloat16."),
    Code("CC926", "warm-up without effect", "The selected schedule ignores the warm-up."),
    Code(
        "CC927",
        "loss scale without effect",
        "Loss scaling applies only to float16, and only if it is enabled.",
    ),
    Code(
        "CC928",
        "batch sizes do not fit",
        "The global batch size is micro-batch size x accumulation steps x processes.",
    ),
    Code(
        "CC929", "conflict with the DeepSpeed file", "Set the value in only one of the two files."
    ),
    Code("CC930", "settings exclude each other", "Keep only one of them."),
    Code(
        "CC931",
        "words joined together",
        "A line continuation inserts no space. Write one before the backslash.",
    ),
    Code("CC933", "entry without effect", "The program that reads the file ignores this entry."),
    Code(
        "CC934",
        "processes train independently",
        "A launcher only starts processes. The script, or a library that it uses, must "
        "reduce their gradients.",
    ),
    Code(
        "CC932", "Windows line endings", "bash treats the carriage return as part of the last word."
    ),
)

CODES: dict[str, Code] = {row.code: row for row in _TABLE}
