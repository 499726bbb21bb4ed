"""Training states that PyTorch programs saved with torch.save."""
