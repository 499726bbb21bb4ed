"""Codes CC9xx: existing sources, lint, migration, training states."""

from __future__ import annotations

from crosscast.messages.code import Code, Exit

SOURCE_CODES = (
    Code("CC901", "not Python 3", "This file is skipped; the other files are read."),
    Code(
        "CC902",
        "source in Python 2",
        "Convert the file to Python 3 first. The other files are read.",
    ),
    Code(
        "CC903",
        "source file too large or too deep",
        "The file is too large or too deeply nested for a program: at most 200 nodes of its syntax "
        "tree may be within each other. Each `elif`, and each operator, attribute or call of a "
        "chain adds at least one; the cases of `match` and the entries of a dict do not.",
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
    Code(
        "CC916",
        "files not read",
        "With a file come at most 48 of those that it imports, the ones that say most of "
        "training first.",
    ),
    Code("CC917", "no recipe to compare", "The other messages say why the source has no recipe."),
    Code(
        "CC918",
        "missing file",
        "A source refers to this file. Pass it as well, so that more can be read.",
    ),
    Code("CC919", "invalid lift option", "The message says what to change.", exit=Exit.USAGE),
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
    Code("CC932", "CRLF line endings", "bash treats the carriage return as part of the last word."),
    Code("CC933", "entry without effect", "The program that reads the file ignores this entry."),
    Code(
        "CC934",
        "processes train independently",
        "A launcher only starts processes. The script, or a library that it uses, must "
        "reduce their gradients.",
    ),
    Code(
        "CC935",
        "computed in the loop, not in the rows",
        "Your rows must give the model and the loss what the loop of the source gives them.",
    ),
    Code(
        "CC936",
        "other weights without decay",
        "Compare the weights that the source spares with the function `decays` of train.py.",
    ),
    Code(
        "CC937",
        "several trainings in one program",
        "Migrate each of them from a program of its own; `--resume` or `--weights` joins them.",
    ),
    Code(
        "CC938",
        "a step does what no recipe says",
        "Decide whether the new script should do it too; it must then be written into train.py.",
    ),
    Code(
        "CC950",
        "internal error",
        "A rule or reader failed because of a bug in crosscast. Everything else was checked. "
        "Please report it.",
    ),
    Code("CC951", "invalid lint option", "The message says what to change.", exit=Exit.USAGE),
    Code(
        "CC952",
        "invalid settings",
        "`[tool.crosscast.lint]` in pyproject.toml supports select, ignore, exclude and "
        "per-file-ignores.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC953",
        "fix not applied",
        "The file was not changed, because the result would not be valid Python.",
    ),
    Code(
        "CC954",
        "not a baseline",
        "Create the file with `--baseline FILE --write-baseline`.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC955",
        "reader, rule or codemod cannot be loaded",
        "Update or remove the package that provides it.",
    ),
    Code(
        "CC956",
        "process died",
        "A worker process died. Check the named file alone, and report the problem.",
    ),
    Code(
        "CC957",
        "not followed",
        "Lint says so with `--verbose`, once for each file. A rule that would need it finds "
        "nothing there, which does not mean that nothing is wrong.",
    ),
    Code(
        "CC960",
        "no training state",
        "Expected a checkpoint.safetensors of an emitted script, or what torch.save, Flax or Orbax "
        "saved.",
    ),
    Code("CC961", "training state damaged", "Use an older checkpoint. Nothing was written."),
    Code("CC962", "state of another recipe", "Pass the recipe that the run was compiled from."),
    Code(
        "CC963",
        "training state not read",
        "Only tensors, numbers and names are read, and nothing is unpickled.",
    ),
    Code(
        "CC964",
        "weights cannot be assigned",
        "Pass a layout map with --layout; docs/reference/state.md has an example.",
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
    Code("CC969", "invalid state option", "The message says what to change.", exit=Exit.USAGE),
    Code("CC970", "invalid migrate option", "The message says what to change.", exit=Exit.USAGE),
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
        "The script behaves differently than its recipe or, with `--run`, than the original.",
    ),
    Code(
        "CC978",
        "contradicted by a run",
        "The program does not do what was read. `--correct` writes the values that fit.",
    ),
    Code(
        "CC979",
        "the run shows nothing",
        "The reading is not proven. The message says why; what the program printed precedes it.",
    ),
    Code(
        "CC980",
        "release not observed",
        "`make drift` observes releases and keeps what they show.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC981",
        "experimental migration held back",
        "Of the programs that had no part in writing this migration, fewer than half came out "
        "right, or more than a tenth wrong. `--experimental` applies it; read every change, and "
        "run the program with `--verify --run` before you trust it.",
    ),
    Code(
        "CC982",
        "name that a release lacks",
        "The program would fail there, unless another package adds the name. The hint says where "
        "the release has a name that ends like it.",
    ),
    Code(
        "CC983",
        "call that a release refuses",
        "The arguments do not fit the signature that the release has.",
    ),
    Code(
        "CC984",
        "model that does not build",
        "The framework raised this when `--build` made the model, or the optimizer's part of a "
        "step, without the program's data. The place is the program's innermost line.",
    ),
    Code(
        "CC985",
        "no model was built",
        "`--build` executed the script, but came to no model and no step. The message says what "
        "was missing; other arguments may help.",
    ),
)
