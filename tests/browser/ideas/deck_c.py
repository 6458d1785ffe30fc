"""Checks of lecture C, idea by idea."""
from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect
from torch.nn.functional import cross_entropy

from core.base import prose
from core.learning import recurrent_cells
from core.learning.learner import Copying
from core.learning.placement import PLACEMENTS
from core.learning.recurrent_cells import Cell
from core.model.intervention import Intervention
from tests.browser.ideas import formulas, seen
from tests.claims.passes import opening
from tests.helpers.messages import numbers_in, value_of
from tests.pages.recurrence.test_recurrence import torch_twin
from tests.pages.residual_stream.test_placement import written_out

PIECES = prose.load("architectures").labels


def headline(page: Page, before: str) -> str:
    """The view's bold sentence, the one that holds these words."""
    return page.locator("strong", has_text=before).first.inner_text()


def numbers_of(page: Page, words: str, pattern: str) -> list[float]:
    """The numbers that a pattern finds in the view's bold sentence."""
    return list(map(value_of, re.search(pattern, headline(page, words)).groups()))


GRADIENT = (r"network is ([^;]+); the bound would allow (.+)\. "
            r"An LSTM.s gates alone let (.+) through, .* together (.+)\.")


@seen("C2")
def a_bound_is_no_rate(page: Page) -> None:
    rnn, bound, *_ = numbers_of(page, "the bound would allow", GRADIENT)
    assert 0.5 < rnn < 5 and 1e9 * rnn < bound <= 1.001 * 1.5 ** 60


@seen("C3")
def the_gates_alone_carry_a_change_over_sixty_steps(page: Page) -> None:
    rnn, _, gates, lstm = numbers_of(page, "the bound would allow", GRADIENT)
    assert rnn < 1e-8 and 0.4 < gates < 1 < lstm


def formulas_below(page: Page) -> list[str]:
    """The LaTeX of the formulas under In numbers."""
    return page.locator(".st-key-lesson_numbers .katex-display annotation").all_text_contents()


def read_by_the_network() -> torch.Tensor:
    """(N, d) what a recurrent network reads of the opening prompt: rows of E of mean square 1."""
    run = opening()
    X = run.model.E[torch.tensor(run.token_ids)].detach().double()
    return X / X.square().mean(-1, keepdim=True).sqrt()


@seen("C1")
def one_step_adds_up_and_goes_on_into_an_output(page: Page) -> None:
    step, output = formulas_below(page)
    x, state, h = map(float, re.search(r"\(([-.\d]+) \+ \(?([-.\d]+).* = ([-.\d]+)$", step.replace(r"\left", "")
                                       .replace(r"\right", "")).groups())
    assert math.tanh(x + state) == pytest.approx(h, abs=6e-5)
    assert "V" in output and abs(float(re.search(r"= ([-.\d]+) ", output)[1]) - h) < 6e-5, "the same h goes on"
    X = read_by_the_network()
    cell = recurrent_cells.random_cell("rnn", X.shape[1], 16, torch.Generator().manual_seed(0))
    V = torch.randn(16, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64) / 4
    with torch.no_grad():
        states = torch_twin([[cell]], X.shape[1])(X[None])[0][0]
    assert h == pytest.approx(float(states[-1, 0]), abs=6e-5)
    assert float(output.split(" = ")[-1]) == pytest.approx(float(states[-1] @ V[:, 0]), abs=6e-5), "y = h V"


@seen("C4")
def two_directions_and_two_layers_have_weights_of_their_own(page: Page) -> None:
    marks, picked = page.locator(".unrolled").evaluate(
        "({ view }) => [view.strips.map((strip) => view.mark(strip)), view.picked]")
    assert marks == ["¹→", "¹←", "²→", "²←"] and picked["layer"] == 1


@seen("C29")
def two_cells_of_the_same_weights_stand_side_by_side(page: Page) -> None:
    picture, X = page.locator(".recurrence_gates"), read_by_the_network()
    cell = recurrent_cells.random_cell("lstm", X.shape[1], 16, torch.Generator().manual_seed(0))
    gru = Cell("gru", *(weights[[3, 1, 2]] for weights in (cell.W_x, cell.W_h, cell.b_x, cell.b_h)))
    with torch.no_grad():
        _, (_, c) = torch_twin([[cell]], X.shape[1])(X[None, :7])
        h = torch_twin([[gru]], X.shape[1])(X[None, :7])[1]

    def number(side: int, part: str) -> float:
        return value_of(picture.locator(".cell").nth(side).locator(f'[data-part="{part}"] .number').text_content())

    assert number(0, "new") == pytest.approx(float(c[0, 0, 0]), abs=6e-4)
    assert number(1, "new") == pytest.approx(float(h[0, 0, 0]), abs=6e-4)
    assert number(1, "f") + number(1, "i") == pytest.approx(1, abs=2e-3) != number(0, "f") + number(0, "i")
    assert picture.locator(".derived").count() == 1 and picture.locator(".cell").nth(1).locator(".derived").count() == 1
    assert [picture.locator(".cell").nth(side).locator(".blocks i").count() for side in (0, 1)] == [4, 3]


@seen("C20")
def without_norms_the_gradient_is_long_and_pre_norm_learns_first(page: Page) -> None:
    pre, none, learned, begun = numbers_of(
        page, "the gradient of the first block",
        r"length (\S+) with pre-norm and (\S+) without norms.* pre-norm ([\d.]+), post-norm ([\d.]+),")
    task = Copying()
    for name, shown in (("pre", pre), ("none", none)):
        model = PLACEMENTS[name].build(task, 0, n_layers=6)
        rows = task.rows(64, torch.Generator().manual_seed(1), held_out=False)
        loss = cross_entropy(written_out(name, model, rows.inputs).flatten(0, 1), rows.targets.flatten(),
                             ignore_index=-100)
        slopes = torch.autograd.grad(loss, [*model.blocks[0].parameters()], allow_unused=True)
        length = math.sqrt(sum(float(slope.square().sum()) for slope in slopes if slope is not None))
        assert shown == pytest.approx(length, rel=6e-3), name
    assert none > 100 * pre and learned < 0.05 < 1 < begun < math.log(8)


@seen("C17")
def the_operations_of_attention_grow_by_the_square(page: Page) -> None:
    heard = page.locator(".st-key-architectures_operations [aria-label^='tokens N: ']").evaluate_all(
        "(marks) => marks.map((mark) => mark.ariaLabel)")
    found = [re.match(r"tokens N: ([\d,]+); operations \(FLOP\): ([\d.]+)([MG]); [^:]*: ([^;]+)", said)
             for said in heard]
    work = {(one[4], int(value_of(one[1]))): float(one[2]) * {"M": 1e6, "G": 1e9}[one[3]] for one in found if one}
    attention, recurrent = (math.log(work[name, 4096] / work[name, 512], 8)
                            for name in ("full attention: pairs", "recurrent"))
    assert (attention, recurrent) == pytest.approx((2, 1), abs=0.02)


@seen("C34")
def one_global_token_joins_in_two_layers_what_a_window_joins_in_many(page: Page) -> None:
    title = page.locator(".sparse").inner_text()
    n, kept, layers = map(int, re.search(r"(\d+) tokens, .* window keeps (\d+): all joined in (\d+) layers", title)
                          .groups())
    near = 2
    assert kept == sum(abs(i - j) <= near for i in range(n) for j in range(n)) and layers == math.ceil((n - 1) / near)
    assert re.search(r"together keep \d+: all joined in 2 layers", title)


@seen("C10")
def a_half_mixture_leaves_the_line(page: Page) -> None:
    formulas = page.locator(".st-key-lesson_numbers annotation").all_text_contents()
    average, output, away = (numbers_in(line.split("=")[-1])[-1] for line in formulas)
    first, last, _ = numbers_in(formulas[0])
    assert (first + last) / 2 == pytest.approx(average, abs=1e-4) and abs(output - average) > 1e-3
    assert 0.05 < away < 1 and page.locator(".st-key-attention_bend canvas, .st-key-attention_bend svg").count() > 0


@seen("C14")
def a_result_is_a_part_of_the_word_plus_a_part_of_the_position(page: Page) -> None:
    [said] = [formula for formula in formulas(page) if re.fullmatch(r"-?[\d.]+ \+ \(-?[\d.]+\) = -?[\d.]+", formula)]
    word, position, whole = numbers_in(said)
    assert word + position == pytest.approx(whole, abs=2e-4) and position


@seen("C22")
def every_place_further_back_multiplies_the_weight_by_one_factor(page: Page) -> None:
    found = formulas(page)
    [slope] = [formula for formula in found if formula.startswith("m = ")]
    [weight] = [formula for formula in found if formula.startswith(r"\alpha_")]
    m, (i, j) = numbers_in(slope)[-1], map(int, re.match(r"\\alpha_\{(\d+),(\d+)\}", weight).groups())
    by_hand = math.exp(-m * (i - j)) / sum(math.exp(-m * distance) for distance in range(i + 1))
    assert numbers_in(weight)[-1] == pytest.approx(by_hand, abs=2e-4)


@seen("C26")
def half_the_side_of_a_patch_makes_sixteen_times_the_pairs(page: Page) -> None:
    def square() -> tuple[int, float]:
        rect = page.locator(".architecture_pieces rect.image")
        return int(rect.get_attribute("data-n")), float(rect.get_attribute("width")) ** 2

    picture = page.locator(".architecture_pieces")
    slider = picture.locator(".size input")
    before = square()
    slider.fill("0")
    expect(picture.locator(".size span")).to_contain_text(" 8 × 8")
    after = square()
    assert before[0] == (224 // 16) ** 2 and after[0] == (224 // 8) ** 2
    assert after[1] == pytest.approx(16 * before[1], rel=0.02)
    others = [int(rect.get_attribute("data-n")) for rect in picture.locator("rect.square:not(.image)").all()]
    assert others == [512, 1500, 51]


@seen("C46")
def patches_that_change_places_keep_their_weights_until_they_have_positions(page: Page) -> None:
    picture = page.locator(".architecture_pieces")
    shuffle, positions = (picture.get_by_role("checkbox", name=PIECES[name])
                          for name in ("pieces_mixed", "pieces_placed"))
    reading = picture.locator(".reading")
    expect(shuffle).to_be_checked()
    without, within = numbers_in(picture.locator(".proof").inner_text(), whole=True)
    assert without == 0 and 0.05 < within < 1
    said = []
    for box, checked in ((None, None), (shuffle, False), (positions, True), (shuffle, True)):
        if box is not None:
            box.set_checked(checked)
        said.append(reading.inner_text())
    assert said[0] == said[1] and len(set(said[1:])) == 3       # what the pressed patch gives
    positions.set_checked(False)
    expect(reading).to_have_text(said[0])


@seen("C47")
def one_square_has_four_blocks_of_text_and_image(page: Page) -> None:
    picture = page.locator(".architecture_pieces")
    words = picture.locator(".word").all_text_contents()
    assert words == prose.load("architectures").section("pieces_words").split()
    n, pairs = len(words) + (224 // 32) ** 2, f"{(len(words) + (224 // 32) ** 2) ** 2:,}"
    expect(picture.locator(".title")).to_contain_text(f"{n} · {n} = {pairs}")
    expect(picture.locator(".weights .cut")).to_have_count(2)
    names = [PIECES[f"pieces_of_{name}"] for name in ("text", "image")]
    assert sorted(picture.locator(".weights text").all_text_contents()) == sorted(names * 2)
    for row in picture.locator(".shares tbody tr").all():
        assert sum(map(value_of, row.locator("td").all_text_contents())) == pytest.approx(1, abs=2e-3)
    image, text = map(value_of, re.findall(r"[\d.]+.%", picture.locator(".reading").inner_text()))
    assert image > 0.5 and image + text == pytest.approx(1, abs=2e-3)
    assert brightest(page) == (42 // 32, 180 // 32)             # where the sun stands
    picture.locator(".word", has_text="tree").click()
    expect(picture.locator(".reading")).to_contain_text("tree")
    assert brightest(page) == (112 // 32, 176 // 32)


def brightest(page: Page) -> tuple[int, int]:
    """Row and column of the patch of 32 points that gets most weight; it stands there unfaded, as no other does."""
    k, unfaded = page.locator(".architecture_pieces").evaluate("""(root) => {
        const { view } = root, weights = [...view.weights[view.rowOf(view.settings.piece)]].slice(view.nText);
        const [shown, whole] = [view.image, view.scene].map((canvas) => canvas.getContext("2d"));
        const unfaded = weights.map((_, k) => {
            const [x, y] = [(k % 7) * 32 + 12, Math.floor(k / 7) * 32 + 12];
            const now = shown.getImageData(2 * x, 2 * y, 1, 1).data;
            return whole.getImageData(x, y, 1, 1).data.every((value, c) => value === now[c]);
        });
        return [weights.indexOf(Math.max(...weights)), unfaded];
    }""")
    assert unfaded[k] and sum(unfaded) < 8              # a white cloud on a white page fades unseen
    return divmod(k, 7)


@seen("C6")
def a_score_that_was_never_learned_breaks_the_prediction(page: Page) -> None:
    said = page.locator(".st-key-attention_stage").inner_text()
    after = opening().trace_with(Intervention(score="additive")).logits[-1].double().log_softmax(-1)
    before = opening().trace.logits[-1].double().log_softmax(-1)
    kl = float((before.exp() * (before - after)).sum())
    assert value_of(re.search(r"KL = (\S+) nats", said)[1]) == pytest.approx(kl, rel=0.01) and kl > 2
    assert "Trained with this score" in said


@seen("C44")
def with_a_cosine_the_weights_are_almost_even(page: Page) -> None:
    said = page.locator(".st-key-attention_stage").inner_text()
    before, after = map(float, re.search(r"Entropy of the weights: (\S+) → (\S+) of its most", said).groups())
    shares = [-(row * row.log()).sum() / math.log(i + 1)
              for block in opening().trace_with(Intervention(score="cosine")).blocks
              for head in block.pattern.double() for i in range(1, len(head)) for row in [head[i, :i + 1]]]
    assert after == pytest.approx(float(sum(shares) / len(shares)), rel=0.01) and after > 0.99 > 0.7 > before
    assert value_of(re.search(r"KL = (\S+) nats", said)[1]) > 3 and "and is now" in said


@seen("C8")
def with_one_vector_for_both_tokens_match_themselves(page: Page) -> None:
    said = page.locator(".st-key-attention_stage").inner_text()
    own, n, alike, _ = (int(number) for number in re.search(
        r"(\d+) of (\d+) tokens look mostly at themselves\. With one vector for both, (\d+) of (\d+)", said).groups())
    block, mask = opening().trace.blocks[3], np.tri(n) == 0
    for shown, keys in ((own, block.K[5]), (alike, block.Q[5])):
        scores = (block.Q[5].double() @ keys.double().T).numpy()
        scores[mask] = -np.inf
        assert shown == (scores.argmax(-1) == np.arange(n)).sum()
    assert alike > n / 2 > own


@seen("C15")
def keys_after_the_query_are_hidden(page: Page) -> None:
    picture = page.locator(".st-key-attention_steps_instrument")
    assert re.search(r"hides 5 of the keys", picture.locator(".title").inner_text())
    picture.locator(".stage").press("ArrowRight")
    picture.locator(".title", has_text="softmax").wait_for()
    assert picture.locator(".detail .term:not(.legend)").count() == 7, "the softmax is over the keys that are seen"


def shares(page: Page, words: str) -> list[float]:
    """The percentages of the view's bold sentence."""
    return [float(share) for share in re.findall(r"([\d.]+)\s%", headline(page, words))]


@seen("C5")
def attention_opens_the_bottleneck(page: Page) -> None:
    one, attention = shares(page, "from one vector")
    assert attention > one + 30 and page.locator(".st-key-recurrence_alignment canvas, "
                                                 ".st-key-recurrence_alignment svg").count()


@seen("C7")
def attention_recalls_over_any_distance(page: Page) -> None:
    attention, *_, plain = shares(page, "the share right over 40 blanks")
    assert attention > 99 and abs(plain - 100 / 8) < 5, "one letter in eight is right by chance"


@seen("C16")
def the_transformer_scores_highest_for_less(page: Page) -> None:
    ours, best, times = map(float, re.search(r"reaches ([\d.]+) BLEU; .* reaches ([\d.]+) with ([\d.]+) times",
                                             headline(page, "BLEU")).groups())
    assert ours - best == pytest.approx(28.4 - 26.36) and times == pytest.approx(7.7e19 / 2.3e19, abs=0.06)
