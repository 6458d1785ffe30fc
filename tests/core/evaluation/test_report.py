"""The report of an evaluation by hand, and the programme from a run and a little corpus to Markdown, JSON and a
bundled model.
"""
import dataclasses
import json
import math

import numpy as np
import pytest
import torch

from core.analysis.induction import Induction
from core.analysis.statistics import Proportion, calibrate
from core.evaluation import lengths
from core.evaluation import publish as publishing
from core.evaluation.__main__ import main
from core.evaluation.evaluate import Corpus, Evaluation, Sizes
from core.evaluation.losses import TextScore
from core.evaluation.memorisation import Recitation, Verbatim
from core.evaluation.publish import publish, template, training_facts
from core.evaluation.report import as_json, percent, sample_text, sections
from core.evaluation.reproducibility import Repetition
from core.evaluation.samples import Distinct, Sample
from core.evaluation.teaching_tasks import TaskScore
from core.model import checkpoints
from core.model.config import ModelConfig
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.loss import HeldOutLoss
from core.training.teaching_text import Canary

NATS = math.log(2)
HEADS = np.array([[0.1, 0.9996], [0.3, 0.2]])
EVALUATION = Evaluation(
    n_parameters=1234, vocab_size=4096, sizes=Sizes(),
    tasks=(TaskScore("sums", "written", Proportion(9, 10)), TaskScore("facts, taught", "written", Proportion(0, 10))),
    induction=Induction(64, 50, 8.0, 2.5, HEADS, HEADS.T), calibration_text="teaching text",
    calibration=calibrate(np.array([0.25, 0.25]), np.array([True, False])),
    samples=(Sample(0, "One *day", (4, 5), " a <b>\n\nand\n"),), distinct=(Distinct("samples", 1, 5, 0.5),),
    recitations=(Recitation(Canary("a", 10, ""), 16, (1, 2, 3, 4), (1, 2, 9, 4), (-NATS,) * 4),
                 Recitation(Canary("b", 1, ""), 16, (1, 2), (1, 2), (0.0, 0.0)),
                 Recitation(Canary("a", 0, ""), 16, (1, 2), (9, 2), (-1.0, -2.0)),
                 Recitation(Canary("b", 0, ""), 16, (1, 2), (9, 9), (-1.0, -1.0))),
    repetition=Repetition((2.0, 1.0), (2.0, 1.0)))
LOSSES = (TextScore("new", HeldOutLoss(NATS * 100, 100, 400), HeldOutLoss(NATS * 300, 100, 400), 3.0, 2.5),)


class TestSections:
    def test_tables_by_hand(self):
        report = sections(EVALUATION)
        assert ("| sums | written | 9 | 10 | 90.0 % | 59.6 % – 98.2 % |\n| facts, taught | written | 0 | 10 | 0 % | 0 "
                "% – 27.8 % |" in report["tasks"])
        assert ("| highest induction score, layer 0 head 1 | 0.9996 |" in report["induction"]
                and "layer 1 head 0 | 0.9996 |" in report["induction"])
        assert ("**25.0 %**" in report["calibration"] and "| 0.2 – 0.3 | 2 | 25.0 % | 50.0 % |" in report["calibration"]
                and "| 0 | – | – |" in report["calibration"])
        assert report["memory"].endswith("| 1 | 1 | 100 % | 100 % | 0.000 | 0 % | 0 % | 1.000 |\n| 10 | 1 | 50.0 % | "
                                         "75.0 % | 0.693 | 0 % | 50.0 % | 1.500 |")
        assert "| samples | 1 | 5 | 50.0 % |" in report["samples"]
        assert "2 steps each: the losses are the same to the last bit" in report["repetition"]

    def test_a_corpus_adds_two_sections(self):
        without = sections(EVALUATION)
        report = sections(dataclasses.replace(EVALUATION, losses=LOSSES,
                                              verbatim=(Verbatim("openings", (5, 9, 9, 4), (4, 6, 9, 4)),)))
        assert set(report) - set(without) == {"losses", "verbatim"} and next(iter(report)) == "losses"
        assert report["losses"].endswith("| new | 100 | 0.693 | 2.0 | 0.250 | 2.079 | 0.750 | 3.000 | 2.500 |")
        assert report["verbatim"].endswith("| 4 | 9 | 6 | 7 |")

    def test_another_outcome_of_the_same_seed_is_said(self):
        report = sections(dataclasses.replace(EVALUATION, repetition=Repetition((2.0,), (2.0000001,))))
        assert "are not the same" in report["repetition"]

    def test_a_sample_is_quoted_as_it_is(self):
        assert sample_text(EVALUATION.samples[0]) == "> **One \\*day** a &lt;b&gt;\n>\n> and"

    @pytest.mark.parametrize("share, text", [(1.0, "100 %"), (0.9995, "> 99.9 %"), (0.9994, "99.9 %"), (0.0, "0 %"),
                                             (0.0004, "< 0.1 %"), (0.0005, "0.1 %"), (0.5, "50.0 %")])
    def test_a_share_is_never_rounded_to_all_or_nothing(self, share, text):
        assert percent(share) == text


def test_json_holds_fields_and_properties_and_no_number_for_every_token():
    found = json.loads(json.dumps(as_json(EVALUATION), allow_nan=False))
    assert found["tasks"][0]["result"] == {"right": 9, "n": 10, "share": 0.9,
                                           "interval": pytest.approx([0.5958, 0.9821], abs=1e-4)}
    assert found["induction"]["best_induction_head"] == {"layer": 0, "head": 1, "score": 0.9996}
    assert found["calibration"]["bins"][0]["confidence"] is None
    assert (found["recitations"][0]["recited_share"] == 0.5
            and not {"token_ids", "predicted", "log_probs"} & set(found["recitations"][0]))
    assert as_json(LOSSES)[0]["model"]["bits_per_byte"] == pytest.approx(0.25)


def test_the_card_adds_up_the_ends_of_the_stages():
    history = [dict(stage=1, step=1), dict(stage=1, step=2000, tokens_seen=12_340_000, hours=1.26),
               dict(stage=2, step=100, tokens_seen=1_000_000, hours=0.1)]
    assert training_facts(history, 5_853_184) == dict(parameters="5,853,184", steps="2,100", tokens="13.3", hours="1.4",
                                                      minutes="6")


def test_a_family_shares_one_card():
    assert (template("positions-rotary") == template("positions-none")
            and template("stories-small") != template("stories"))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A finished training run in a folder, a corpus of a few lines beside it, and bundled models, which are also kept
    there.
    """
    monkeypatch.setattr(checkpoints, "BUNDLED", tmp_path / "models")
    tokenizer = Tokenizer.train(["the cat"], 257)
    model = Transformer(ModelConfig(vocab_size=257, d_model=8, n_layers=1, n_heads=2, n_context=32)).initialise(
        torch.Generator().manual_seed(0))
    checkpoints.save(tmp_path / "run" / "model", model, tokenizer, "")
    (tmp_path / "run" / "training.json").write_text(json.dumps([dict(step=5, tokens_seen=100, hours=0.1)]))
    (tmp_path / "run" / "recipe.json").write_text(json.dumps({"hardware": "a CPU"}))
    (tmp_path / "run" / "stage-1").mkdir()
    (tmp_path / "run" / "stage-1" / "training.json").write_text(json.dumps([dict(step=3, tokens_seen=60, hours=0.1)]))
    checkpoints.save_history(tmp_path / "run", [checkpoints.Milestone(5, 100, {}, 0.0, 0.0, "", "")], model)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for name, text in (("a", "The cat sat.\n<|endoftext|>\nThe dog sat.\n<|endoftext|>\n"),
                       ("b", "A story that is longer than one window of the model."),
                       ("heldout_tinystories", "The rat sat on the mat, and the cat saw it."),
                       ("out_of_domain_x", "Quantity")):
        (corpus / f"{name}.txt").write_text(text)
    (corpus / "README.md").write_text("not a text")
    return tmp_path


FEW = Sizes(exercises=2, sequences=2, samples=3, tokens=5, beginning=4, steps=2)


def test_the_programme_with_a_corpus(run, capsys):
    main(["--run", str(run / "run"), "--corpus", str(run / "corpus"), "--json", str(run / "out.json"), "--publish"],
         FEW)
    printed, found = capsys.readouterr().out, json.loads((run / "out.json").read_text())
    assert [score["text"] for score in found["losses"]] == ["heldout_tinystories", "out_of_domain_x"]
    assert found["losses"][1]["model"]["n_bytes"] == 8
    assert [v["of"] for v in found["verbatim"]] == ["openings", "beginnings", "heldout_tinystories"]
    assert [len(v["n_tokens"]) for v in found["verbatim"]] == [3, 3, 1]
    assert (found["calibration_text"] == "heldout_tinystories"
            and found["calibration"]["n"] == len("The rat sat on the mat, and the cat saw it.") + 1)
    assert len(found["tasks"]) == 12 and found["repetition"]["same"] is True
    assert ("| heldout_tinystories | 44 |" in printed
            and f"{found['losses'][0]['model']['nats_per_token']:.3f}" in printed)
    folder = run / "models" / "stories"
    card = (folder / "README.md").read_text()
    assert all(section in card for section in printed.strip().split("\n\n## ")[1:])
    assert ([(entry["stage"], entry["step"]) for entry in json.loads((folder / "training.json").read_text())]
            == [(1, 3), (2, 5)])
    assert checkpoints.bundled_names() == ("stories",) and [m.step for m in checkpoints.history("stories")] == [5]


def test_the_losses_by_position_are_published_where_they_were_measured(run, monkeypatch):
    monkeypatch.setattr(publishing, "template", lambda name: "a card")
    publish("stories", run / "run", {})
    assert lengths.bundled("stories") == ()
    measured = (lengths.Stretch(0, 4, 2.5, 12), lengths.Stretch(4, 6, 3.25, 6))
    publish("stories", run / "run", {}, measured)
    assert lengths.bundled("stories") == measured and lengths.mean(measured) == 2.75


def test_a_broken_file_of_lengths_is_said_to_be_broken(run):
    (run / "models" / "stories").mkdir(parents=True)
    (run / "models" / "stories" / lengths.FILE).write_text("[{}]")
    with pytest.raises(checkpoints.CheckpointError, match="lengths.json"):
        lengths.bundled("stories")


def test_the_corpus_counts_no_held_out_text(run):
    tokenizer = Tokenizer.train(["the cat"], 257)
    texts = Corpus.read(run / "corpus", tokenizer)
    assert ([tokenizer.decode(document) for document in texts.training.documents]
            == ["The cat sat.", "The dog sat.", "A story that is longer than one window of the model."])
    assert texts.held_out == {"heldout_tinystories": ["The rat sat on the mat, and the cat saw it."],
                              "out_of_domain_x": ["Quantity"]}


@pytest.mark.parametrize("arguments, message",
                         [(["--publish"], "needs the --run"), (["--publish", "--run", "x"], "needs the --run"),
                          (["--run", "{}/run", "--corpus", "{}"], "must hold .txt files")])
def test_what_does_not_go_together_is_refused(run, arguments, message):
    with pytest.raises(SystemExit, match=message):
        main([argument.format(run) for argument in arguments], FEW)
