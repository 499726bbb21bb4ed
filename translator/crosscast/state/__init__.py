"""Training states: validation of checkpoints and their conversion to another framework.

`container` reads untrusted safetensors files. `emitted` returns a `TrainingState` from checkpoints
of emitted scripts, `saved_file` and `torch_state` from files of `torch.save`. `layout_map` renames
and transposes weights, `recipe_check` compares a state with a recipe, `convert` runs all steps.
"""
