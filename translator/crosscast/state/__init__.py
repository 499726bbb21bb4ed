"""Training states: what a checkpoint holds, checked, and carried from one framework to another.

`container` reads a safetensors file without trusting it, `emitted` makes a `TrainingState` of what
the emitted scripts write, `saved_file` and `torch_state` of what `torch.save` wrote. `layout_map`
renames and turns weights, `recipe_check` holds a state against a recipe, `convert` puts it all
together.
"""
