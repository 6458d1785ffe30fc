"""`python -m core.recordings`: record figures again, or list them."""
import argparse
from collections.abc import Sequence
from pathlib import Path

import torch

from core.recordings import provenance, registry
from core.recordings.provenance import ROOT


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m core.recordings", description=__doc__.partition(": ")[2])
    p.add_argument("names", nargs="*", metavar="NAME", help="the recordings to make again")
    p.add_argument("--stale", action="store_true", help="those whose weights, texts or code have changed since")
    p.add_argument("--list", action="store_true", help="print a table of all recordings")
    p.add_argument("--corpus", type=Path, metavar="DIR", help="the folder of the training text")
    p.add_argument("--stamp", action="store_true",
                   help="measure nothing; write down that the kept figures stand for today's weights, texts and code, "
                        "because what changed in those does not change the figures")
    return p


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> None:
    arguments = parser().parse_args(argv)
    if unknown := set(arguments.names) - {each.name for each in registry.RECORDINGS}:
        raise SystemExit(f"There is no recording {', '.join(sorted(unknown))}: --list prints their names.")
    if arguments.list or not (arguments.names or arguments.stale):
        print(registry.table(), end="")
    torch.set_num_threads(1)            # all figures are of one core
    for each in registry.RECORDINGS:
        changed = provenance.changes(each, root, arguments.corpus) if arguments.stale else []
        if each.name in arguments.names or changed:
            print(f"{each.name}: {', '.join(changed) or 'asked for'}", flush=True)
            if not arguments.stamp:
                if each.corpus and arguments.corpus is None:
                    raise SystemExit(f"{each.name} counts the training text: say in which folder it lies (--corpus).")
                registry.write(root / "assets" / "teaching" / each.file, registry.measure(each, arguments.corpus))
            provenance.keep(each, not arguments.stamp, root, arguments.corpus)


if __name__ == "__main__":
    main()
