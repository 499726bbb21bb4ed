"""The table of diagnostic codes of the core: one stable code, one meaning, one paragraph of help.

Ranges: CC0xx reading a file, CC1xx the recipe's fields, CC2xx fields against each other,
CC3xx what a backend adapts or cannot express, CC4xx this machine, CC45x memory, CC5xx writing
files, CC6xx data sets, CC7xx parity, CC8xx plans, CC95x lint, CC96x training states. Backends
bring their own CC3xx codes with their rows.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A diagnostic code: its identifier, a title and what a user can do about it."""

    code: str
    title: str
    help: str


_TABLE = (
    Code("CC001", "file not found", "The path does not exist. Check it, or use - for stdin."),
    Code("CC002", "not a regular file", "A recipe is read from a file or from stdin (-)."),
    Code("CC003", "file cannot be read", "The system refused to read the file."),
    Code("CC004", "file too large", "A recipe is a small file; this is not one."),
    Code("CC005", "not UTF-8", "Save the file as UTF-8 without other encodings mixed in."),
    Code("CC006", "not YAML", "The text is not well-formed YAML 1.2."),
    Code("CC007", "duplicate key", "A key may be given once; YAML would silently keep one of two."),
    Code("CC008", "too deep or too many nodes", "The document nests or repeats beyond any recipe."),
    Code("CC009", "tag not allowed", "Recipes hold plain values; typed YAML tags are refused."),
    Code("CC010", "anchor or alias not allowed", "Write the value out where it is needed."),
    Code("CC011", "more than one document", "A recipe file holds exactly one YAML document."),
    Code("CC012", "key is not a string", "Field names are plain strings."),
    Code("CC013", "number out of range", "The number is not finite or not representable."),
    Code("CC014", "control character", "The text holds a character that YAML does not allow."),
    Code("CC015", "empty recipe", "Start from `crosscast init`."),
    Code("CC101", "unknown field", "Unknown fields are refused; free notes go under `x-...`."),
    Code("CC102", "missing field", "The field has no default; the recipe must say it."),
    Code("CC103", "wrong type", 'Values are not converted: 4 is not "4".'),
    Code("CC104", "value not allowed", "The value is outside what the field accepts."),
    Code("CC105", "unsupported recipe version", "This crosscast reads recipe version 1."),
    Code("CC106", "unknown backend", "`overrides` and `--to` name installed backends."),
    Code("CC107", "backend does not load", "The package that brings the backend is broken."),
    Code("CC108", "unknown version or dialect", "A target is NAME, NAME@VERSION or NAME@DIALECT."),
    Code("CC201", "batch sizes contradict", "global = micro x accumulation x processes."),
    Code("CC202", "precision and loss scaling contradict", "See the fields named."),
    Code("CC203", "schedule contradicts itself", "See the fields named."),
    Code("CC204", "loss-scale bounds contradict", "min_scale <= init_scale <= max_scale."),
    Code("CC205", "model sizes contradict", "hidden_size is a multiple of attention_heads."),
    Code("CC206", "model and data contradict", "See the fields named."),
    Code("CC207", "optimizer or clipping contradicts itself", "See the fields named."),
    Code("CC208", "override not understood", "The backend does not know this override."),
    Code("CC209", "accumulation fields contradict", "See the fields named."),
    Code("CC210", "only for the shipped model", "See the field named."),
    Code("CC211", "group without parameters", "The patterns of a group choose nothing."),
    Code("CC212", "not part of a step", "`--form step` leaves model and loop to you."),
    Code(
        "CC213",
        "loss scale that is probably not meant",
        "float16 without one loses small gradients; a scale below 1 makes them smaller, and one "
        "that is no power of two rounds them all.",
    ),
    Code("CC220", "launch contradicts itself", "See the fields named, and docs/launching.md."),
    Code("CC300", "field not supported", "The target cannot express this field."),
    Code("CC301", "reduced fidelity", "`--strict` refuses anything below exact."),
    Code(
        "CC302",
        "a model of your own",
        "The scripts cannot know your model. Weights without a gradient are left alone by PyTorch "
        "and Paddle, and still decay in TensorFlow; losses that a Keras model adds by itself do "
        "not count. Freeze what is not trained, and write regularization as weight_decay.",
    ),
    Code(
        "CC303",
        "types within a model of your own",
        "Autocast of PyTorch and Paddle chooses a type per operation, a Keras policy per layer. "
        "Write the casts that matter into your model, as the emitted BERT does.",
    ),
    Code(
        "CC304",
        "short windows over several processes",
        "Every process needs a row. Choose tail: carry or drop, or rows that fill the windows.",
    ),
    Code(
        "CC305",
        "a model of your own without a factory",
        "Name the function that returns the model under model.factory, for every target.",
    ),
    Code(
        "CC306",
        "target without a training script",
        "Flags and configurations belong to a program that you have: there is no step to import "
        "and nothing to run. `crosscast matrix --dialects` lists all targets.",
    ),
    Code("CC401", "package missing", "Install the named extra, or name another interpreter."),
    Code(
        "CC450",
        "memory of a model of your own",
        "Only a trace in the framework's own process can tell what it keeps for backward: "
        "`crosscast plan --trace`. It runs your code.",
    ),
    Code("CC451", "memory not modelled", "docs/memory.md says what is."),
    Code(
        "CC452", "memory not found out", "A trace of your model ended early; the message says why."
    ),
    Code(
        "CC460",
        "does not fit",
        "No split of the global batch, with or without activation checkpointing, needs less memory "
        "than the limit; the message says what takes it, the hint what would help.",
    ),
    Code("CC461", "amount of memory not understood", "16GiB is 16 x 2**30 bytes, 16GB 16 x 10**9."),
    Code("CC462", "unknown device", "The table is in docs/planning.md; --memory takes any amount."),
    Code("CC463", "plan option makes no sense", "See the message."),
    Code(
        "CC464",
        "trace without peak memory",
        "Scripts write `peak_memory` where the device tells it: on GPUs.",
    ),
    Code(
        "CC465",
        "mean written otherwise",
        "Equally long micro-batches have the same mean of means as mean over the rows; `sample` "
        "keeps it for every split.",
    ),
    Code(
        "CC466",
        "short window weighed differently",
        "A mean of means depends on how a short window is cut into micro-batches.",
    ),
    Code(
        "CC467",
        "micro-batch seen by the model",
        "Dropout masks are drawn for a micro-batch, and some layers average over it.",
    ),
    Code("CC468", "type not on this device", "It would be emulated slowly, or refused."),
    Code("CC469", "answer with another precision", "You allowed it; `crosscast parity` judges it."),
    Code("CC470", "trace of another recipe", "The estimate belongs to the recipe given."),
    Code("CC501", "file is not crosscast's", "Refusing to overwrite; use --force."),
    Code("CC502", "cannot write", "The system refused to write; nothing was changed."),
    Code("CC503", "output path leaves the folder", "An output name must stay inside -o DIR."),
    Code("CC601", "data file cannot be read", "Check the path and the permissions."),
    Code("CC602", "not a data set file", "A data set is one .npz file made of plain arrays."),
    Code("CC603", "array missing", "input_ids, attention_mask, token_type_ids and labels."),
    Code("CC604", "array of the wrong kind", "Three int32 arrays [rows, ids], labels [rows]."),
    Code("CC605", "array value out of range", "Ids are not negative, the mask is 0 or 1."),
    Code("CC610", "synthetic data argument out of range", "The message gives the allowed range."),
    Code("CC620", "text is not UTF-8", "Save the file as UTF-8 without other encodings mixed in."),
    Code("CC621", "wrong number of columns", "Every line has as many tabs as the first one."),
    Code("CC622", "column not found", "Name the columns, or number them from 0."),
    Code("CC623", "label missing or unknown", "Labels are words of a fixed list; NLI by default."),
    Code("CC624", "sentence missing", "Both sentences of a pair hold text."),
    Code("CC625", "not a JSON row", "One object a line, with the two sentences and the label."),
    Code("CC626", "no rows", "The file is empty, or everything in it was filtered out."),
    Code("CC628", "bytes left out", "A byte order mark and CR line ends are no part of the text."),
    Code("CC629", "more problems", "Mend the ones shown and run again."),
    Code("CC640", "vocabulary not usable", "A BERT vocab.txt: each piece once, special ones too."),
    Code("CC641", "sequence length out of range", "Room for [CLS] a [SEP] b [SEP] is needed."),
    Code("CC801", "operation out of order", "The order changes the result; the reason is given."),
    Code("CC802", "operation missing", "The training step is not complete without it."),
    Code("CC803", "operation in the wrong part", "`micro` runs per micro-batch, `window` once."),
    Code("CC804", "operation repeated", "Every operation occurs at most once in a plan."),
    Code("CC805", "plan cannot be run", "The reference interpreter does not get through it."),
    Code("CC806", "batches do not fit the plan", "Names, shapes, rows or processes disagree."),
    Code("CC701", "trace not understood", "The script wrote a row that breaks the contract."),
    Code("CC702", "status not understood", "The script's status.json is missing or damaged."),
    Code("CC704", "parity cannot run this recipe", "The harness runs BERT in one process."),
    Code("CC705", "fault not understood", "A fault is WINDOW:MICRO=inf|-inf|nan[@NAMES]."),
    Code("CC706", "fault without loss scaling", "Only a scaled loss is checked for inf and nan."),
    Code("CC707", "parity option makes no sense", "See the message."),
    Code(
        "CC708",
        "parity folder cannot be used",
        "The system refused to read or write there, or another comparison works in it: wait for its"
        " end, or name another folder.",
    ),
    Code("CC710", "weights cannot be read", "Weights are a safetensors file, as Hugging Face has."),
    Code("CC711", "weights do not fit", "Every tensor is finite float32 and one of the model's."),
    Code("CC712", "fault poisons nothing", "No parameter or float input has such a name."),
    Code("CC713", "half cannot be emulated", "Emulation knows the three built-in frameworks."),
    Code("CC714", "stored reference does not fit", "See the message; store it anew if need be."),
    Code(
        "CC723",
        "observation not understood",
        "What a run left in `observed` breaks its contract: run the comparison again.",
    ),
    Code("CC728", "sweep option makes no sense", "See the message."),
    Code("CC729", "sweep folder cannot be used", "Choose another -o DIR, or mend what is there."),
    Code("CC730", "no such executor", "`local`, `slurm`, or one that a plug-in brings."),
    Code("CC731", "SLURM does not take part", "See the message; `--executor local` needs none."),
    Code("CC733", "recipe cannot be swept", "A cell is one process; see the field named."),
    Code(
        "CC734", "bug does not fit the script", "The emitted text changed; its edits must follow."
    ),
    Code("CC735", "self-test failed", "A level did not catch a bug that it is there to catch."),
    Code("CC736", "trainer is missing", 'Install it: pip install "crosscast[trainers]".'),
    Code("CC737", "trainer does it its own way", "Known before the run; parity shows the effect."),
    Code("CC738", "trainer cannot run this recipe", "It has no way to say what a field asks for."),
    Code("CC739", "trainer could not be asked", "A probe of the conformance table failed."),
    Code("CC748", "check-scaling option makes no sense", "See the message."),
    Code(
        "CC950",
        "part of crosscast failed",
        "A rule or reader stopped at a fault of its own. Everything else was looked at. Please "
        "report it.",
    ),
    Code("CC951", "lint option makes no sense", "See the message."),
    Code(
        "CC952",
        "settings not understood",
        "`[tool.crosscast.lint]` of pyproject.toml has select, ignore, exclude and "
        "per-file-ignores.",
    ),
    Code("CC953", "repair refused", "The file was left alone: it would no longer be Python."),
    Code("CC954", "not a baseline", "Write it anew: --baseline FILE --write-baseline."),
    Code("CC955", "reader does not load", "Update or remove the package that brings it."),
    Code("CC970", "migration makes no sense", "See the message."),
    Code("CC971", "nothing to migrate", "Name the program of one run, and what belongs to it."),
    Code("CC972", "left to fill in", "No source says it; say it with --set, or in recipe.yaml."),
    Code(
        "CC973",
        "mistake corrected",
        "The new script does not repeat it; --keep-bugs does where a recipe can say it.",
    ),
    Code("CC974", "mistake that cannot be kept", "No recipe says it, so it was corrected."),
    Code("CC975", "what was meant is yours to say", "The recipe holds what runs; see the message."),
    Code(
        "CC976",
        "cannot be verified here",
        "The migration is made but nothing was proven: see the message for what is missing.",
    ),
    Code(
        "CC977",
        "verification failed",
        "The script does not do what its recipe says, or not what the original did (--run).",
    ),
    Code("CC956", "process died", "Look at the named file alone, and report it."),
    Code("CC960", "no training state", "checkpoint.safetensors, or what torch.save was given."),
    Code("CC961", "training state damaged", "Go on from an older one; nothing was written."),
    Code("CC962", "state of another recipe", "Give the recipe that the run was compiled from."),
    Code(
        "CC963", "file would have to be unpickled", "Only state dictionaries of tensors are read."
    ),
    Code("CC964", "weights without a place", "docs/state.md shows a layout map (--layout)."),
    Code("CC965", "left out of the state", "It has no place in an emitted script's checkpoint."),
    Code("CC966", "trained otherwise than the recipe says", "Mend the recipe: it is to go on."),
    Code("CC967", "position unknown", "--windows and --updates say how far the run has come."),
    Code(
        "CC968",
        "saved within a window",
        "The window begins again; running statistics cannot: save between optimizer steps.",
    ),
    Code("CC969", "state option makes no sense", "See the message."),
    Code("CC901", "not Python 3", "Nothing of the file is read; the others are."),
    Code("CC902", "source in Python 2", "Convert it to Python 3 first; the other files are read."),
    Code("CC903", "source file too large or too deep", "It is data rather than a program."),
    Code("CC904", "not a notebook", "An .ipynb file is JSON with a list of cells."),
    Code("CC905", "unsolved merge", "The first side was read; solve the merge."),
    Code("CC910", "layers contradict", "Two files say different things; the outermost one counts."),
    Code("CC911", "a recipe cannot say that", "It is left out of the recipe; see the message."),
    Code("CC912", "left to you", "The source leaves it open; see the message."),
    Code(
        "CC913",
        "retired framework",
        "Its training is not read: MXNet has had no release since 1.9.1 and was archived in 2023.",
    ),
    Code("CC914", "what was read makes no recipe", "Mend the field named, in the lifted file."),
    Code("CC915", "nothing trains here", "No reader found a training run."),
    Code("CC917", "no recipe to compare", "See the messages about the source."),
    Code("CC919", "lift option makes no sense", "See the message."),
    Code("CC918", "file not given", "A source names it; give it, too, and more can be read."),
    Code(
        "CC920",
        "flags lost to bash",
        "A backslash joins lines only as the last character of its line. Flags after the end of the"
        " command are tried as commands of their own, and the program runs without them.",
    ),
    Code("CC921", "source not understood", "It is not what its name says, or it is too large."),
    Code("CC922", "not strict JSON", "Comments, trailing commas and Python words are read here."),
    Code("CC923", "key given twice", "Most loaders keep the later one silently; delete the other."),
    Code(
        "CC924",
        "text that looks like a number",
        "Loaders of YAML 1.1 want a dot in the mantissa and a sign in the exponent: 1.0e-6.",
    ),
    Code("CC925", "two precisions at once", "Switch off one of float16 and bfloat16."),
    Code("CC926", "warm-up without effect", "The schedule named ignores it."),
    Code("CC927", "loss scale without effect", "Only float16 is scaled, and only if it is on."),
    Code("CC928", "batch sizes do not fit", "global = micro x accumulation x processes."),
    Code("CC929", "refused beside a DeepSpeed file", "Say it in one of the two files."),
    Code("CC930", "settings exclude each other", "Keep one of them."),
    Code("CC931", "words glued together", "A joined line end leaves no blank; write one."),
    Code("CC933", "entry without effect", "The program that reads the file does not look at it."),
    Code(
        "CC934",
        "processes train apart",
        "A launcher only starts processes; the script, or a library in it, joins their gradients.",
    ),
    Code("CC932", "line ends of Windows", "bash takes the carriage return for a part of a word."),
)

CODES: dict[str, Code] = {row.code: row for row in _TABLE}
