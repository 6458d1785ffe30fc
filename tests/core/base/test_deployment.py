"""The settings by which a server is run: each variable is read in one place, takes hold, and a wrong value stops the
start with one line; the files under assets/deploy hold.
"""
import gc
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import app
from assets.deploy import replicas
from core.app.bar import prompt_bar
from core.app.compute import cache
from core.app.compute.library import shelf
from core.app.server import routes
from core.app.shell import shell
from core.app.state import prompts, run
from core.base import deployment, prose
from core.components import addresses
from pages.architectures import cost
from pages.attention import weights_route as attention
from pages.heads import route as heads
from pages.overview import inside
from tests.helpers.lessons import ROOT, opened

pytestmark = pytest.mark.long

WRONG = [("TRANSFORMER_MODELS", "stories,nothing"), ("TRANSFORMER_MODELS", "blanks"),
         ("TRANSFORMER_MODEL_ROOTS", "/no/such/folder"),
         ("TRANSFORMER_HUB", "maybe"), ("TRANSFORMER_HUB_MODELS", "gpt2,../x"),
         ("TRANSFORMER_HUB_GB", "20GB"), ("TRANSFORMER_MODEL_GB", "much"), ("TRANSFORMER_MODEL_GB", "nan"),
         ("TRANSFORMER_LARGEST_MODEL_GB", "-1"),
         ("TRANSFORMER_PROMPT_CHARACTERS", "99"), ("TRANSFORMER_PROMPT_CHARACTERS", "1e3"),
         ("TRANSFORMER_PROMPT_TOKENS", "7"), ("TRANSFORMER_PROMPT_TOKENS", "257"), ("TRANSFORMER_TRAINING", "2"),
         ("TRANSFORMER_PASSES", "ray"), ("TRANSFORMER_PASSES", "http://host:port"),
         ("TRANSFORMER_ADDRESS", "school.example"), ("TRANSFORMER_ADDRESS", "https://*.school.example"),
         ("TRANSFORMER_CLASSES", "/no/such/folder/classes.db"), ("TRANSFORMER_CLASSES", "http://127.0.0.1:6379"),
         ("TRANSFORMER_CLASSES", "/tmp"), ("TRANSFORMER_CLASSES", "on"), ("TRANSFORMER_CLASSES", "/etc/hostname"),
         ("TRANSFORMER_CLASSES", "/proc/x.db"),
         *(("TRANSFORMER_FRAME_ANCESTORS", value)
           for value in ("moodle.school.example", "https://a/b", "'none'", "https://a;script-src"))]


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch):
    for name in deployment.READERS:
        monkeypatch.delenv(name, raising=False)


def test_without_a_variable_every_setting_is_the_default(monkeypatch: pytest.MonkeyPatch):
    assert deployment.current() == deployment.Deployment()
    monkeypatch.setenv("TRANSFORMER_TRAINING", " ")
    assert deployment.current() == deployment.Deployment()


def test_each_variable_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    written = {
        "TRANSFORMER_MODELS": "stories-small, stories", "TRANSFORMER_MODEL_ROOTS": f"{tmp_path}{os.pathsep}{ROOT}",
        "TRANSFORMER_HUB": "OFF", "TRANSFORMER_HUB_MODELS": "gpt2,EleutherAI/pythia-70m",
        "TRANSFORMER_HUB_GB": "1.5", "TRANSFORMER_MODEL_GB": "4", "TRANSFORMER_LARGEST_MODEL_GB": "0.5",
        "TRANSFORMER_PROMPT_CHARACTERS": "500", "TRANSFORMER_PROMPT_TOKENS": "32", "TRANSFORMER_TRAINING": "off",
        "TRANSFORMER_PASSES": "http://10.0.0.5:8000", "TRANSFORMER_ASK_FIRST": "off",
        "TRANSFORMER_ADDRESS": "https://transformer.school.example", "TRANSFORMER_CLASSES": "redis://10.0.0.6:6379",
        "TRANSFORMER_FRAME_ANCESTORS": "https://moodle.school.example https://*.lms.example:8443"}
    assert written.keys() == deployment.READERS.keys()
    for name, value in written.items():
        monkeypatch.setenv(name, value)
    deployment.check()
    assert deployment.current() == deployment.Deployment(
        ("stories-small", "stories"), (tmp_path.resolve(), ROOT.resolve()), False, ("gpt2", "EleutherAI/pythia-70m"),
        15 * 10**8, 4 * 10**9, 5 * 10**8, 500, 32, False, False,
        "https://transformer.school.example", "redis://10.0.0.6:6379", "http://10.0.0.5:8000",
        ("https://moodle.school.example", "https://*.lms.example:8443"))


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_ends_the_start_with_one_line_that_names_it_and_what_is_allowed(
        name: str, value: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit, match="llowed (is|are)[ ,]") as ended:
        deployment.check()
    said = str(ended.value)
    assert name in said and repr(value) in said and "\n" not in said


def test_a_name_that_is_no_setting_ends_the_start_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRANSFORMER_TRAINNG", "off")
    with pytest.raises(SystemExit, match="TRANSFORMER_TRAINING may be meant"):
        deployment.check()


def test_the_app_checks_before_it_serves():
    said = subprocess.run([sys.executable, "-c", "import app"], cwd=ROOT, capture_output=True, text=True,
                          env=os.environ | {"TRANSFORMER_TRAINING": "perhaps"})
    assert said.returncode != 0 and "TRANSFORMER_TRAINING" in said.stderr and "Traceback" not in said.stderr


def _loaded_by(code: str) -> set[str]:
    """The packages that a process of its own has loaded after `code`."""
    said = subprocess.run([sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], cwd=ROOT,
                          capture_output=True, text=True, check=True)
    return set(said.stdout.split())


def test_a_server_listens_before_the_packages_are_loaded_that_a_browser_would_wait_for():
    listening = _loaded_by("import app")
    assert "streamlit" in listening and not {"torch", "pandas", "altair"} & listening
    drawing = _loaded_by("import app, core.app.shell.shell, pages.overview.map")
    assert "torch" in drawing and not {"pandas", "altair"} & drawing


def test_torch_and_numpy_compute_in_one_thread_each_unless_the_machine_says_otherwise():
    code = ("import app, threading, numpy, pathlib, torch; answers = []; tasks = pathlib.Path('/proc/self/task')\n"
            "numpy.ones((800, 800)) @ numpy.ones((800, 800)); threads = [*tasks.glob('*')] if tasks.exists() else [1]\n"
            "at_work = threading.Thread(target=lambda: answers.append(torch.get_num_threads()))\n"
            "at_work.start(); at_work.join(); print(len(threads), *answers)")
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    for given, expected in ({}, ["1", "1"]), ({"OMP_NUM_THREADS": "2"}, ["2"]):
        said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True,
                              env=environment | given)
        assert said.stdout.split()[-len(expected):] == expected


def test_every_kind_of_live_question_has_its_answer():
    assert all(callable(pkgutil.resolve_name(answer)) for answer in app.ANSWERS.values())
    assert set(app.ANSWERS) == {heads.NAME, heads.ROLLOUT, attention.NAME, cost.PATTERNS_ROUTE, prompt_bar.FINDER,
                                inside.NAME}


def test_a_server_is_prepared_once_it_listens_and_collects_again_after(monkeypatch: pytest.MonkeyPatch):
    asked, at_work = [], []
    monkeypatch.setattr(shell.cache, "shared_model", lambda name, device: asked.append((name, device)))
    monkeypatch.setattr(shell.A_PICTURE_STANDS, "wait", lambda seconds: at_work.append(gc.isenabled()))
    monkeypatch.setattr(gc, "freeze", lambda: at_work.append("frozen"))
    app._prepare()
    assert (asked == [(shell.cache.model_names()[0], shell.devices.available()[0])]
            and at_work == ["frozen", True, "frozen"] and gc.isenabled())


def test_replicas_conf_is_what_the_program_writes():
    assert (ROOT / "assets" / "deploy" / "replicas.conf").read_text() == replicas.replicas_conf((8511, 8512, 8513))


def test_no_other_file_reads_the_environment_for_a_setting():
    assert [path.name for path in ROOT.glob("core/**/*.py")
            if re.search(r"environ.*TRANSFORMER_|getenv", path.read_text())] == []


def test_the_document_on_deployment_has_every_setting():
    written = (ROOT / "assets" / "text" / "docs" / "deployment.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(TRANSFORMER_\w+)`", written, re.MULTILINE)) == sorted(deployment.READERS)


def test_the_allowed_models_are_those_that_can_be_chosen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRANSFORMER_MODELS", "stories-small,induction")
    assert cache.model_names() == ("stories-small", "induction")
    assert cache.exists("stories-small@2250") and not cache.exists("stories") and not cache.exists("positions-rotary")


def test_one_model_may_take_less_than_all_together(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRANSFORMER_MODEL_GB", "3")
    monkeypatch.setenv("TRANSFORMER_LARGEST_MODEL_GB", "1")
    kept = shelf.Shelf(lambda name: None)
    monkeypatch.setattr(shelf.devices, "memory_free", lambda device="cpu": 10**12)
    assert kept.room(10**9).fits and not kept.room(10**9 + 1).fits and kept.room(1).bound == 3 * 10**9


def test_prompts_are_held_to_their_sizes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRANSFORMER_PROMPT_CHARACTERS", "100")
    monkeypatch.setenv("TRANSFORMER_PROMPT_TOKENS", "8")
    assert prompts.clean_prompt("ab" * 80) == "ab" * 50
    assert len(run.read(cache.shared_model("stories", "cpu"),
                        "one two three four five six seven eight nine ten").token_ids) == 8


def test_training_that_is_off_is_said_and_has_no_controls(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRANSFORMER_TRAINING", "off")
    said = prose.load("app").label("training_off")
    for lesson, view in (("training", "live"), ("recurrence", "copy")):
        at = opened(lesson, {"view": view}, ask="false")
        assert any(caption.value == said for caption in at.caption), view
        assert not {f"{lesson}_run", "training_reset", "training_tuning_reset", "training_adopt",
                    "training_tuning_adopt"} & {button.key for button in at.button}, view


def test_live_answers_stand_below_the_base_path(monkeypatch: pytest.MonkeyPatch):
    for base, below in (("", ""), ("class", "/class"), ("/a/b/", "/a/b")):
        monkeypatch.setattr(addresses.st, "get_option", lambda name: base)
        assert routes.route("x", "builtins:bytes").path == addresses.live("x") == f"{below}/live/x"
