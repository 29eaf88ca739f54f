from __future__ import annotations

import pytest
import torch

from loci_looped.model.loci import LociLooped


@pytest.fixture(scope="session")
def network() -> LociLooped:
    """A network that has learnt nothing: all that is needed to test what is around it."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return LociLooped("adept-small").eval()
