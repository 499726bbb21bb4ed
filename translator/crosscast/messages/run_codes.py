"""Codes CC4xx to CC8xx: this machine, memory, output files, data, parity, plans."""

from __future__ import annotations

from crosscast.messages.code import Code, Exit

RUN_CODES = (
    Code(
        "CC401",
        "package missing",
        "Install the extra that the message names, or choose another interpreter.",
        exit=Exit.CANNOT_RUN,
    ),
    Code(
        "CC450",
        "memory of a custom model",
        "What the framework keeps for the backward pass is found by a trace (PyTorch) or by short "
        "runs (other frameworks). Use `crosscast plan --trace`, which runs your code.",
    ),
    Code(
        "CC451",
        "no memory model",
        "Memory cannot be estimated for this recipe and target. docs/explanation/memory.md "
        "lists what is supported.",
    ),
    Code(
        "CC452",
        "memory of your model not found",
        "Tracing your model or a short run of it failed. The message gives the reason and the line "
        "of your code.",
    ),
    Code(
        "CC453",
        "memory measured in float32",
        "The framework has no half precision on a CPU, where the memory of your model is measured. "
        "The sizes are an upper bound: those in float32, and copies in half precision of weights "
        "and activations.",
    ),
    Code(
        "CC454",
        "memory planned for a CPU",
        "The step was compiled, and its compiler said how much memory it will take, on a CPU. The "
        "compiler plans otherwise for a GPU: it fuses more, and activation checkpointing and half "
        "precision save much more. docs/explanation/memory.md has numbers.",
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
        exit=Exit.USAGE,
    ),
    Code(
        "CC462",
        "unknown device",
        "docs/reference/planning.md lists the known devices. For others, pass --memory.",
        exit=Exit.USAGE,
    ),
    Code("CC463", "invalid plan option", "The message says what to change.", exit=Exit.USAGE),
    Code(
        "CC464",
        "trace without peak memory",
        "Scripts write `peak_memory` only on GPUs.",
        exit=Exit.USAGE,
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
        exit=Exit.USAGE,
    ),
    Code(
        "CC502",
        "cannot write",
        "The operating system denied the write. Nothing was changed.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC503",
        "output path outside the folder",
        "Output files must be inside -o DIR.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC504",
        "refused by the operating system",
        "A name that is too long or no name at all, a full disk, a broken file system.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC505",
        "output folder in use",
        "One command at a time works in a folder. The message names the process. Wait for its end, "
        "or choose another folder. A process that was killed blocks nobody.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC601", "data file cannot be read", "Check the path and the permissions.", exit=Exit.USAGE
    ),
    Code("CC602", "not a data set file", "A data set is a single .npz file with plain arrays."),
    Code(
        "CC603",
        "array missing",
        "A data set needs input_ids, attention_mask, token_type_ids and labels.",
    ),
    Code(
        "CC604",
        "wrong dtype or shape",
        "The inputs are arrays of integers of shape [rows, ids], the labels of shape [rows].",
    ),
    Code("CC605", "array value out of range", "Ids must not be negative; the mask must be 0 or 1."),
    Code(
        "CC610",
        "synthetic data argument out of range",
        "The message gives the allowed range.",
        exit=Exit.USAGE,
    ),
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
        exit=Exit.USAGE,
    ),
    Code(
        "CC701",
        "invalid trace",
        "The script wrote a row that violates the contract (docs/reference/parity-contract.md).",
    ),
    Code("CC702", "invalid status", "The script's status.json is missing or invalid."),
    Code(
        "CC704",
        "parity cannot run this recipe",
        "A program is trained in one process. Some commands and options are for the shipped "
        "BERT only; the message says which. Your models are compared by `crosscast parity`.",
    ),
    Code(
        "CC705",
        "invalid fault",
        "Write a fault as WINDOW:MICRO=inf|-inf|nan[@NAMES].",
        exit=Exit.USAGE,
    ),
    Code(
        "CC706",
        "fault without loss scaling",
        "Gradients are checked for inf and nan only with loss scaling.",
    ),
    Code("CC707", "invalid parity option", "The message says what to change.", exit=Exit.USAGE),
    Code(
        "CC708",
        "parity folder cannot be used",
        "The operating system denied access. Choose another folder.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC710",
        "weights cannot be read",
        "Weights must be a safetensors file in the format of Hugging Face.",
        exit=Exit.USAGE,
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
        "CC715",
        "trace cut off",
        "The run was killed while it wrote a line, or is still writing it.",
    ),
    Code(
        "CC716",
        "no run to export",
        "A run is a folder with trace.jsonl, or such a file, that has a row.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC717",
        "export failed",
        "The library of the tool raised an error, which the message has. Nothing was written.",
    ),
    Code(
        "CC723",
        "invalid recording",
        "The files that a run left in `observed` are invalid. Run the comparison again.",
    ),
    Code("CC728", "invalid sweep option", "The message says what to change.", exit=Exit.USAGE),
    Code(
        "CC729",
        "sweep folder cannot be used",
        "Choose another -o DIR, or repair its contents.",
        exit=Exit.USAGE,
    ),
    Code(
        "CC730",
        "unknown executor",
        "Choose `local`, `slurm`, or an executor provided by a plug-in.",
        exit=Exit.USAGE,
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
    Code(
        "CC748", "invalid check-scaling option", "The message says what to change.", exit=Exit.USAGE
    ),
    Code(
        "CC749",
        "rows of a micro-batch meet",
        "Layers such as BatchNorm compute with all rows of a micro-batch, and dropout that is no "
        "layer cannot be switched off. The size of a micro-batch and the number of processes then "
        "change the training by design: `crosscast check-scaling` does not test such a model.",
    ),
    Code(
        "CC760",
        "weights cannot be matched",
        "Matching needs `model.kind: custom` with a factory for two or more frameworks, and rows.",
    ),
    Code(
        "CC761",
        "model cannot be built",
        "Your factory raised an error, your loss function cannot be imported, or the process "
        "ended. The message has the place.",
    ),
    Code(
        "CC762",
        "rows not taken by the model",
        "The message has the rows, what the model takes, and the place where it fails.",
    ),
    Code(
        "CC763",
        "invalid map of weights",
        "weights.yaml contradicts itself or the models. Correct it, or write it again with "
        "`crosscast weights match --force`.",
    ),
    Code(
        "CC764",
        "models do not fit",
        "Tensors of one model have no counterpart in another, so they are not the same model.",
    ),
    Code(
        "CC765",
        "weights not proved",
        "With the same weights, the models compute different outputs or gradients, or a tensor "
        "has no influence on them. docs/reference/weights.md says what can be the reason.",
    ),
    Code(
        "CC766",
        "not differentiable",
        "The gradient of your loss, or of the outputs of your model, with respect to every weight "
        "is missing, so that nothing would be trained.",
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
)
