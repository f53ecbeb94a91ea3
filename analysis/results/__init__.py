"""Results on disk, read back."""
