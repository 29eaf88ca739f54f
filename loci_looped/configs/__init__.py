"""What networks, trainings and experiments are made of, in pure Python: no torch, so that `--help` answers at once."""
