"""Measuring: metrics as pure functions, the paper's experiments on top of them."""
