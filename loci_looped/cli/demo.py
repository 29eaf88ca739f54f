"""`loci demo`: a film, panels and numbers of what the shipped network believes about things it cannot see."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from loci_looped.cli.checks import check_folder, check_seed


@dataclass(frozen=True)
class Arguments:
    """Show object permanence in two films, with shipped weights and generated scenes; nothing is downloaded."""

    out: Path = Path("loci-demo")
    """Folder for films, panels, curves and numbers."""
    network: str = "adept-learnt"
    """A shipped network, or the folder of a network or of a training run."""
    seed: int | None = None
    """Which scene. Without it ten are compared, how far they differ is said, and the one in the middle is shown."""


def main(argv: list[str]) -> int:
    arguments = tyro.cli(Arguments, args=argv, prog="loci demo")
    if arguments.seed is not None:
        check_seed(arguments.seed)
    check_folder(arguments.out)

    import textwrap

    import torch

    from loci_looped.inference.networks import load
    from loci_looped.viz.demo import demonstrate

    torch.set_num_threads(1)            # at this size a second thread only gets in the way
    model = load(arguments.network)
    scenes = "a control and a surprise scene" if arguments.seed is not None else "ten scenes, then two with pictures"
    print(f"Watching {scenes} (about a minute) ...", flush=True)
    numbers = demonstrate(model, arguments.out, arguments.seed)
    print(textwrap.fill(numbers.sentences(), 100))
    folder = arguments.out.resolve()
    print(f"\nLook at it:  {folder / 'index.html'}")
    print(f"Films:       {folder / 'control.mp4'}, {folder / 'surprise.mp4'}, surprise.gif")
    print(f"Panels:      {folder / 'control-panel.png'}, {folder / 'surprise-panel.png'}")
    print(f"Numbers:     {folder / 'numbers.json'}, {folder / 'curves.png'}")
    return 0
