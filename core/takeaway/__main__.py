"""`python -m core.takeaway FOLDER`: write the pages that can be taken along as a site for any static host."""
import argparse
import pkgutil
from collections.abc import Sequence
from pathlib import Path

MODEL = "stories"
TEXT = "One day Lily lost her ball. She looked for her"


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m core.takeaway", description=__doc__.partition(": ")[2])
    p.add_argument("folder", type=Path, help="a new folder, or an empty one")
    p.add_argument("--model", default=MODEL, help=f"a bundled model (default: {MODEL})")
    p.add_argument("--text", default=TEXT, help="the text on which the pages open")
    return p


def main(argv: Sequence[str] | None = None) -> None:
    arguments = parser().parse_args(argv)
    write = pkgutil.resolve_name("core.app.parts.own_site:write")       # the frame stands above
    try:
        files = write(arguments.folder, arguments.model, arguments.text)
    except (ValueError, OSError) as error:
        raise SystemExit(str(error)) from None
    for path in files:
        print(f"{path.stat().st_size / 1e6:6.2f} MB  {path.name}")


if __name__ == "__main__":
    main()
