"""`loci calibrate NETWORK`: measure what is ordinary to a network, so that it can tell its surprise in bits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro


@dataclass(frozen=True)
class Arguments:
    """Show a network films in which nothing odd happens, and store how large its evidence of oddities gets in them."""

    network: tyro.conf.Positional[str]
    """A shipped network by name, or the folder of a network or of a finished run. The scale is stored beside it."""
    clips: Path | None = None
    """A folder of .clip files (loci generate, loci convert) to show. Without it: generated control scenes."""


def main(argv: list[str]) -> int:
    arguments = tyro.cli(Arguments, args=argv, prog="loci calibrate")

    import torch

    from loci_looped.data.store.clip_cache import cached_clip, fill_cache
    from loci_looped.data.store.clip_spec import AnyClipSpec
    from loci_looped.evaluation.experiments.test_sets import ordinary_specs, stored_specs
    from loci_looped.inference.networks import find_network, load, write_scale
    from loci_looped.inference.surprised_model import measure_scale

    torch.set_num_threads(1)            # at this size a second thread only gets in the way
    folder, model = find_network(arguments.network), load(arguments.network)
    size = model.config.frame
    specs: list[AnyClipSpec] = list(
        ordinary_specs(size) if arguments.clips is None else stored_specs(arguments.clips, size)
    )
    print(f"Watching {len(specs)} films (about half a minute for a hundred) ...", flush=True)
    fill_cache(specs, 1)
    scale = measure_scale(model, [cached_clip(spec) for spec in specs])
    what = "generated control scenes" if arguments.clips is None else f"films of {arguments.clips.name}"
    print(f"{write_scale(folder, scale, {'films': len(specs), 'of': what})}: what is ordinary in {len(specs)} {what}")
    return 0
