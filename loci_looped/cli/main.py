"""`loci VERB ...`: finds the verb, hands it the rest of the line, turns bad input into a sentence.

Nothing heavy is imported here: each verb's file is loaded when it is called, so `loci --help` answers at once.
"""

from __future__ import annotations

import difflib
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from loci_looped.utils.errors import LociWarning

Verb = Callable[[list[str]], int]


def _demo() -> Verb:
    from loci_looped.cli.demo import main
    return main


def _watch() -> Verb:
    from loci_looped.cli.watch import main
    return main


def _train() -> Verb:
    from loci_looped.cli.train import main
    return main


def _evaluate() -> Verb:
    from loci_looped.cli.evaluate import main
    return main


def _report() -> Verb:
    from loci_looped.cli.report import main
    return main


def _generate() -> Verb:
    from loci_looped.cli.generate import main
    return main


def _inspect() -> Verb:
    from loci_looped.cli.inspect import main
    return main


def _lab() -> Verb:
    from loci_looped.cli.lab import main
    return main


def _convert() -> Verb:
    from loci_looped.cli.convert import main
    return main


def _import_official() -> Verb:
    from loci_looped.cli.import_official import main
    return main


def _calibrate() -> Verb:
    from loci_looped.cli.calibrate import main
    return main


def _export() -> Verb:
    from loci_looped.cli.export import main
    return main


def _fetch() -> Verb:
    from loci_looped.cli.fetch import main
    return main


VERBS: dict[str, tuple[Callable[[], Verb], str]] = {
    "demo": (_demo, "a film of what the shipped network believes about a hidden ball"),
    "watch": (_watch, "what the network sees, believes and expects in a film"),
    "lab": (_lab, "build a scene in the browser, hide and remove things, see the belief live"),
    "train": (_train, "learn from noise to object permanence; resumable at any moment"),
    "evaluate": (_evaluate, "the paper's experiments on a run or on shipped weights"),
    "calibrate": (_calibrate, "measure what is ordinary to a network: the scale of its surprise"),
    "report": (_report, "one HTML file with our numbers beside the paper's"),
    "generate": (_generate, "make clips: vanish, collide, balls"),
    "convert": (_convert, "make clips of your films once: size, stride, crop, range, background, occluders"),
    "inspect": (_inspect, "what is in a clip, a folder of clips or a film"),
    "import-official": (_import_official, "read the authors' checkpoints"),
    "export": (_export, "the time step as an ONNX or torch.export graph"),
    "fetch": (_fetch, "get the weights of LPIPS, checked by hash"),
}


def usage() -> str:
    lines = ["usage: loci VERB [options]        (loci VERB --help tells its options)", ""]
    lines += [f"  {name:<16} {text}" for name, (_, text) in VERBS.items()]
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        try:
            print(usage(), flush=True)
        except BrokenPipeError:
            return _unheard()
        return 0
    if arguments[0] == "--version":
        from importlib.metadata import version
        print(version("loci-looped"))
        return 0
    name, rest = arguments[0], arguments[1:]
    if name not in VERBS:
        near = difflib.get_close_matches(name, VERBS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        print(f"loci: there is no verb {name!r}.{hint}\n\n{usage()}", file=sys.stderr)
        return 2
    try:
        with _sentences(name):
            return VERBS[name][0]()(rest)
    except KeyboardInterrupt:
        print("\nloci: stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return _unheard()
    except (ValueError, OSError) as error:
        if os.environ.get("LOCI_DEBUG"):
            raise
        print(f"loci {name}: {_sentence(error)}", file=sys.stderr)
        return 2


@contextmanager
def _sentences(name: str) -> Iterator[None]:
    """Warnings of ours are printed as sentences, each once; those of others as Python does."""
    said: set[str] = set()

    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: object) -> None:
            if not issubclass(category, LociWarning):
                usual(message, category, *place)  # type: ignore[arg-type]
            elif str(message) not in said:
                said.add(str(message))
                print(f"loci {name}: {message}", file=sys.stderr)

        warnings.showwarning = show  # type: ignore[assignment]
        warnings.simplefilter("always", LociWarning)
        yield


def _sentence(error: Exception) -> str:
    """What the system refuses, in words; errors of ours are sentences already."""
    if isinstance(error, PermissionError) and error.filename:
        return f"{error.filename} is there, but you are not allowed to use it."
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}."
    return str(error)


def _unheard() -> int:
    """Whoever listened has gone (`loci | head -1`). Python would complain once more when it empties its buffers."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
