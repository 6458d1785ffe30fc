"""Writes locked.txt: each package of the container but torch, with its version and the hash of its file for either
processor. Run it after a change of requirements.txt or of .ci/constraints.txt:

    python assets/deploy/lock.py
"""
from __future__ import annotations

import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
CONSTRAINTS = HERE.parents[1] / ".ci" / "constraints.txt"
PYTHON = "3.11"                     # the Containerfile's
PROCESSORS = ["x86_64", "aarch64"]
LIBC = ["manylinux_2_28", "manylinux_2_27", "manylinux_2_26", "manylinux_2_24", "manylinux_2_17", "manylinux_2_5"]
# what torch needs; the Containerfile installs torch itself from an index for processors, which is not asked here
OF_TORCH = ["filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy", "typing_extensions"]


def named() -> list[str]:
    """The packages that the app names, without torch."""
    lines = (line.partition("#")[0].strip() for line in (HERE / "requirements.txt").read_text().splitlines())
    return [line for line in lines if line and not line.startswith("torch==")]


def packages(processor: str) -> dict[str, str]:
    """The SHA-256 of each package's file for a processor, by "name==version"; raises CalledProcessError where pip finds
    no set that fits.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        platforms = [f"--platform={libc}_{processor}" for libc in LIBC]
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed",
                        f"--report={report}", f"--target={folder}", "--only-binary=:all:", f"--python-version={PYTHON}",
                        *platforms, f"--constraint={CONSTRAINTS}", *named(), *OF_TORCH], check=True)
        return {"{name}=={version}".format(**found["metadata"]).lower():
                found["download_info"]["archive_info"]["hashes"]["sha256"]
                for found in json.loads(report.read_text())["install"]}


def main() -> None:
    hashes = collections.defaultdict(set)
    for processor in PROCESSORS:
        for package, sha256 in packages(processor).items():
            hashes[package].add(sha256)
    lines = [f"{package} " + " ".join(f"--hash=sha256:{sha256}" for sha256 in sorted(hashes[package]))
             for package in sorted(hashes)]
    head = "# Written by lock.py: what the container installs beside torch, each file by its hash.\n"
    (HERE / "locked.txt").write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
