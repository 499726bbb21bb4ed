"""Training states: validation of checkpoints and their conversion to another framework.

`container` reads untrusted safetensors files. `emitted` returns a `TrainingState` from checkpoints
of emitted scripts; `saved_file` takes apart what other programs saved, and the `saved_states` of a
framework's package interpret it with a recipe, by means of `reading`. `layout_map` renames
and transposes weights, `recipe_check` compares a state with a recipe, `convert` runs all steps.
"""
