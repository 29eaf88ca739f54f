"""Learning: the loop, its curriculum, optimisers, checkpoints and logs."""
