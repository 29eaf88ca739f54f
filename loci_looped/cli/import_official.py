"""`loci import-official FILE --config adept --out DIR`: the authors' checkpoint as a network of ours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from loci_looped.cli.checks import check_folder
from loci_looped.utils.errors import LociError


@dataclass(frozen=True)
class Arguments:
    """Read one of the authors' .pt checkpoints. Nothing in the file is executed; what is not used is listed."""

    file: tyro.conf.Positional[Path]
    """The authors' checkpoint, such as net1.pt."""
    config: str
    """The network it was trained as: adept, clevrer, balls, or the path of a network configuration in JSON."""
    out: Path
    """The folder to write: config.json, weights.safetensors, manifest.json."""
    level: int | None = None
    """Working resolution: 1 is 4 x the latent grid, 2 is 16 x. As in the configuration if not given."""
    overwrite: bool = False
    """Replace a network that is already in the folder."""


def main(argv: list[str]) -> int:
    arguments = tyro.cli(Arguments, args=argv, prog="loci import-official")
    check_folder(arguments.out)

    import dataclasses

    from loci_looped.configs.presets import preset
    from loci_looped.inference.networks import CONFIG, read_config, save_network
    from loci_looped.model.released.checkpoint import read_official

    if (arguments.out / CONFIG).exists() and not arguments.overwrite:
        raise LociError(f"{arguments.out} already holds a network; choose another folder or add --overwrite.")
    from_file = arguments.config.endswith(".json")
    config = read_config(arguments.config) if from_file else preset(arguments.config)
    if arguments.level is not None:
        config = dataclasses.replace(config, level=arguments.level)
    checkpoint = read_official(arguments.file, config)
    save_network(arguments.out, checkpoint.model, manifest={
        "origin": f"the authors' checkpoint {arguments.file.name}",
        "read as": arguments.config,
        "not used": list(checkpoint.unused),
    })
    count = sum(parameter.numel() for parameter in checkpoint.model.parameters())
    height, width = checkpoint.model.config.frame
    print(f"{arguments.file}: {count:,} parameters of the {arguments.config} network, frames of {height} x {width}.")
    if checkpoint.unused:
        print(f"Not used ({len(checkpoint.unused)}): {', '.join(checkpoint.unused)}.")
    print(f"Written to {arguments.out}; open it with loci_looped.load({str(arguments.out)!r}).")
    return 0
