"""The codemods of torch.cuda.amp, one module each."""
