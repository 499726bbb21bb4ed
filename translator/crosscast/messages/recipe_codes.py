"""Codes CC0xx to CC3xx: reading files, recipe fields, targets."""

from __future__ import annotations

from crosscast.messages.code import Code, Exit

RECIPE_CODES = (
    Code(
        "CC001",
        "file not found",
        "The path does not exist. Check it, or use - for stdin.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC002",
        "not a regular file",
        "A recipe is read from a file or from stdin (-).",
        exit=Exit.USAGE,
    ),
    Code(
        "CC003",
        "file cannot be read",
        "The operating system denied access to the file. Check its permissions.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC004",
        "file too large",
        "A recipe is limited to 1 MiB. Check that you named the right file.",
        exit=Exit.USAGE,
    ),
    Code("CC005", "not UTF-8", "Save the file as UTF-8.", exit=Exit.USAGE),
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
        "CC016",
        "value of an argument",
        "A function of the Python API was called with a value that its argument does not have.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC020",
        "no complete recipe in the source",
        "A page needs a recipe that can be compiled. The other messages say what could not be "
        "read. Write the recipe with `crosscast lift -o`, complete it and explore that.",
    ),
    Code(
        "CC021",
        "too many recipes",
        "`crosscast explore` shows one recipe, or compares two.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC022",
        "not a recipe",
        "The file is a program, or the configuration of another tool. `crosscast lift` reads such "
        "files and writes the recipe; complete it and give that to the command.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC028",
        "unknown field in a question",
        "`--field` takes the dotted path of a field or of a section, such as `optimizer` or "
        "`optimizer.weight_decay`.",
        exit=Exit.USAGE,
    ),
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
        "CC105",
        "unsupported recipe version",
        "The version is none that crosscast reads, or a field or a word is newer than the version "
        "that the recipe names. docs/explanation/half-precision.md says what the versions differ "
        "in.",
    ),
    Code(
        "CC106",
        "unknown backend",
        "`overrides` and `--to` must name an installed backend. `crosscast matrix --dialects` "
        "lists them.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC107",
        "backend cannot be loaded",
        "Importing the package that provides the backend failed. Update or remove it.",
    ),
    Code(
        "CC108",
        "unknown version or dialect",
        "A target is NAME, NAME@VERSION or NAME@DIALECT.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC109",
        "still to be filled in",
        "`lift` marks with `# FILL IN` what no source says. Write the value and delete the "
        "comment. `compile` and `check` accept the marks with `--allow-fill-in`; other commands "
        "warn.",
    ),
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
        "CC214",
        "contradictory settings of loss or metrics",
        "Correct one of the fields that the message names.",
    ),
    Code(
        "CC215",
        "sums in half precision",
        "A softmax, a normalization or a loss that is computed in half adds up numbers of 3 digits "
        "(bfloat16: 2), which autocast and policies never do. `float32_stored_half` computes in "
        "float32 and stores the result in half.",
    ),
    Code(
        "CC220",
        "contradictory launch settings",
        "Correct the fields that the message names. See docs/reference/launching.md.",
    ),
    Code(
        "CC221",
        "a newer version means something else",
        "A recipe keeps the meaning of the version that it names. `check` says where the newest "
        "version has another default; docs/explanation/half-precision.md explains it.",
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
        "layer. If a dtype matters, write the cast into your model, as the emitted BERT does. "
        "precision.policy and precision.ops change nothing in the script: they say what your "
        "model stores in half, and a comparison holds it to that.",
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
        "CC307",
        "custom loss or metric without a function",
        "Set loss.function, or the entry of metrics.custom, to the function that computes it, for "
        "every target.",
    ),
    Code(
        "CC308",
        "custom loss or metric",
        "The scripts call your functions and divide what they return. Whether the functions "
        "for two frameworks compute the same is not seen: compare them on the same rows.",
    ),
)
