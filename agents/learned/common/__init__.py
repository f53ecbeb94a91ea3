"""What every method of learning may use: training, checkpoints, optimisers."""
