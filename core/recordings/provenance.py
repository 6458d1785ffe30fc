"""Day and inputs of each recording: kept in assets/teaching/recordings.json, and compared with today's."""
import datetime
import os
import platform
import re
from pathlib import Path

import torch

from core.files import read_json, write_json
from core.recordings.code import code_hashes, digest
from core.recordings.registry import Recording

ROOT = Path(__file__).resolve().parents[2]
KEPT = "assets/teaching/recordings.json"
WEIGHTS = ("config.json", "model.safetensors", "tokenizer.json")


def inputs(recording: Recording, root: Path = ROOT, corpus: Path | None = None) -> dict[str, str]:
    """A hash of everything that decides the figures: weights, texts, code and, given its folder, the corpus."""
    assets = root / "assets"
    found = {f"assets/models/{name}": digest(b"".join((assets / "models" / name / file).read_bytes()
                                                     for file in WEIGHTS)) for name in recording.models}
    found |= {f"assets/{name}": digest(_text(assets, name)) for name in recording.reads}
    if recording.corpus and corpus:
        found["corpus"] = digest(b"".join(file.read_bytes() for file in sorted(corpus.glob("*.txt"))))
    return found | code_hashes(root, recording.maker)


def _text(assets: Path, name: str) -> bytes:
    path, _, parts = name.partition("#")
    text, names = (assets / path).read_bytes(), parts.replace(",", "|").encode()
    return b"\n".join(re.findall(rb"^(?:%b): [^\n]*$|^# (?:%b)$.*?(?=^# |\Z)" % (names, names), text,
                                 re.M | re.S)) if names else text


def changes(recording: Recording, root: Path = ROOT, corpus: Path | None = None) -> list[str]:
    """The inputs, and the file itself, that are no longer what they were when it was recorded or stamped."""
    kept = read_json(root / KEPT).get(recording.name, {"file": "", "inputs": {}})
    now, then = inputs(recording, root, corpus), kept["inputs"]
    if "corpus" not in now:
        then = {name: value for name, value in then.items() if name != "corpus"}
    file = f"assets/teaching/{recording.file}"
    return [name for name in {**now, **then} if now.get(name) != then.get(name)] + [file] * (
        digest((root / file).read_bytes()) != kept["file"])


def keep(recording: Recording, is_new: bool, root: Path = ROOT, corpus: Path | None = None) -> None:
    """Write down what a recording was made from today; not is_new: what it stands for today though made before."""
    kept, today = read_json(root / KEPT), datetime.date.today().isoformat()
    if is_new:
        entry = {"recorded": today, "torch": torch.__version__, "machine": machine()}
    else:
        entry = {"recorded": "before it was stamped"} | kept.get(recording.name, {}) | {"stamped": today}
    entry |= {"file": digest((root / "assets" / "teaching" / recording.file).read_bytes()),
              "inputs": inputs(recording, root, corpus)}
    write_json(root / KEPT, dict(sorted({**kept, recording.name: entry}.items())), indent=1)


def machine() -> str:
    """This machine in words."""
    threads = torch.get_num_threads()
    return f"{platform.system()}, {platform.machine()}, {os.cpu_count()} cores, {threads} thread{'s' * (threads != 1)}"
