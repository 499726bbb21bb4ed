"""What stands in for apex on a CPU, where its kernels cannot run: its arithmetic in float32.

Only what the inputs of this benchmark call. Loss scales are powers of two, so that scaling and
unscaling change no number; float16 itself is left out, as torch.amp leaves it out without a GPU.
"""
