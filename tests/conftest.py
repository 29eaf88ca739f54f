"""For all tests: one thread (the machine is shared), and few but reproducible random examples."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)
# A crowded machine is no property of the code: neither deadlines nor the check of slow drawing.
settings.register_profile(
    "small", max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("small")

pytest_plugins = ["training_fixtures"]
