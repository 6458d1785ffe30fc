"""Worksheets: each drawn from its number, filled with the model's values, shown as printed, with its solution."""
import math
from collections.abc import Sequence

import streamlit as st

from core.analysis import text_probability
from core.app.lesson import Lesson, views
from core.app.state import Run, prompts
from core.app.state import run as runs
from core.cost import counting
from core.figures.numbers import grouped, plain_number, readable
from core.model.config import ModelConfig
from core.sheets import exercises
from core.sheets.exercises_print import Blank, Block, Cell, Code, Sheet, printable
from pages.course.pictures import picture
from pages.course.shared import SETTINGS

TEXT_CHARACTERS = 160       # of a quoted prompt


def draw(page: Lesson) -> None:
    """Draw the controls, and the sheet as printed."""
    kind = views.choice(SETTINGS, page, "sheet")
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="course_sheet_controls"):
        st.markdown(page.label("sheet_number"), width="content")
        st.number_input(page.label("sheet_number"), min_value=0, max_value=exercises.MOST_SEED, step=1,
                        label_visibility="collapsed", width=120, **SETTINGS.attached("seed"))
        st.button(page.label("sheet_another"), key="course_another",
                  on_click=lambda: SETTINGS.keep(seed=(SETTINGS.read("seed") + 1) % (exercises.MOST_SEED + 1)))
        seed = SETTINGS.read("seed")
        try:
            drawn = sheet(page, page.run(), kind, seed)
        except ValueError:
            st.info(page.label("sheet_none"))
            return
        files = [printable(drawn, solved, page.label("solution")) for solved in (False, True)]
        for file, name, label, end in zip(files, ("sheet", "solution"), ("sheet_file", "sheet_solution_file"),
                                          ("", "-solution")):
            st.download_button(page.label(label), file, file_name=f"{kind}-{seed}{end}.html", mime="text/html",
                               key=f"course_{name}_file", on_click="ignore", icon=":material/download:")
    picture(page, "sheet", {"files": files, "solved": SETTINGS.read("solved")}, {})
    st.markdown(page.label("sheet_attention"))


def sheet(page: Lesson, run: Run, kind: str, seed: int) -> Sheet:
    """The sheet of one of SHEETS, by its number."""
    values, blocks = MAKERS[kind](page, run, seed)
    is_own = kind == "positions" or kind == "counting" and (seed or run.model.config.experts.n_experts)
    footer = ("footer_rounded" if kind in ("sampling", "chain") else "footer_own" if is_own else "footer_exact")
    return Sheet(page.label(f"{kind}_title"), page.label("note", seed=seed, model=run.title),
                 page.label(f"{kind}_intro", **values), blocks, page.label("name"),
                 page.label(footer, model=run.title))


def _block(page: Lesson, name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], answer: str = "",
           **values) -> Block:
    """A step of a sheet with the label `name` as heading and the label `<name>_text`, with {values}, as text."""
    return Block(page.label(name), page.label(f"{name}_text", **values), columns, rows, answer)


def _labels(page: Lesson, sheet: str, *names: str, **values) -> list[str]:
    """The labels `<sheet>_<name>`."""
    return [page.label(f"{sheet}_{name}", **values) for name in names]


def _merges(page: Lesson, run: Run, seed: int) -> tuple[dict, list[Block]]:
    exercise = exercises.merges(seed, run.tokenizer, page.text("merge_words").split())
    half = math.ceil(len(exercise.rules) / 2)
    rules = [[str(rank), Code(left), Code(right)] for rank, left, right in exercise.rules]
    rules += [["", "", ""]] * (2 * half - len(rules))
    blocks = [_block(page, "merges_rules", _labels(page, "merges", "rule", "left", "right") * 2,
                     [first + second for first, second in zip(rules[:half], rules[half:])])]
    for word in exercise.words:
        rows: list[list[Cell]] = [[page.label("merges_start"), "", Code(" | ".join(word.word))]]
        rows += [[str(i), Blank(str(rank)), Blank(" | ".join(pieces), code=True)]
                 for i, (rank, pieces) in enumerate(word.steps, 1)]
        rows += [[str(len(word.steps) + 1), Blank(page.label("merges_no_rule")), Blank("")]]
        blocks.append(Block(page.label("merges_word", word=word.word), page.label("merges_word_text"),
                            _labels(page, "merges", "step", "rule", "pieces"), rows))
    return {}, blocks


def _sampling(page: Lesson, run: Run, seed: int) -> tuple[dict, list[Block]]:
    exercise = exercises.sampling(seed, run.logits(),
                                  [run.tokenizer.visible(i) for i in range(run.model.config.vocab_size)])
    T = exercise.temperature
    plain, warm, k, p = (exercise.truncated(**settings)
                         for settings in ({}, {"temperature": T}, {"k": exercise.k}, {"p": exercise.p}))
    softmax, cut, ends = [], [], [0.0, *p.interval_ends]
    for i, (name, u) in enumerate(zip(exercise.tokens, exercise.logits)):
        z = u - exercise.logits[0]
        softmax.append([Code(name), plain_number(u, 1),
                        *map(_blank, (z, math.exp(z), plain.probs[i], z / T, math.exp(z / T), warm.probs[i]))])
        cut.append([Code(name), *map(_blank, (plain.cumulative[i], k.renormalised[i], p.renormalised[i])),
                    Blank(f"{ends[i]:.4f} … {ends[i + 1]:.4f}" if p.kept[i] else "–")])
    xi, token, numbers = f"{exercise.xi:.2f}", page.label("sampling_token"), {"k": exercise.k, "p": f"{exercise.p:g}"}
    drawn = [[f"ξ = {xi}", Blank(exercise.tokens[exercise.drawn], code=True)],
             [page.label("sampling_greedy"), Blank(exercise.tokens[0], code=True)]]
    cut_columns = [token, *_labels(page, "sampling", "cumulative", "top_k", "top_p", "interval", **numbers)]
    blocks = [_block(page, "sampling_softmax", [token, "u", "z = u − M", "e^z", "y", "z / T", "e^(z / T)", "y_T"],
                     softmax, temperature=f"{T:g}"),
              _block(page, "sampling_cut", cut_columns, cut, **numbers),
              _block(page, "sampling_draw", _labels(page, "sampling", "by", "drawn"), drawn, xi=xi)]
    return {"prompt": _quoted(run.text)}, blocks


def _chain(page: Lesson, run: Run, seed: int) -> tuple[dict, list[Block]]:
    """Sheet 0 uses the prompt, the others the app's example prompts in turn."""
    examples = prompts.example_prompts()
    run = run if seed == 0 and len(run.token_ids) > 1 else runs.read(run.loaded, examples[seed % len(examples)])
    ids = run.token_ids[:exercises.MOST_TOKENS + 1]
    exercise = exercises.chain(run.tokens[1:len(ids)], text_probability.token_log_probs(run.loaded.runner, [ids])[0])
    rows = [[Code(token), repr(float(p)), *map(_blank, (product, nats, nats / math.log(2)))] for token, p, product, nats
            in zip(exercise.tokens, exercise.probabilities, exercise.probabilities.cumprod(), exercise.nats)]
    size, total = run.model.config.vocab_size, exercise.total
    values = {page.label("chain_sum_nats"): total, page.label("chain_sum_bits"): total / math.log(2),
              page.label("chain_mean"): total / len(exercise.tokens),
              page.label("chain_perplexity"): exercise.perplexity,
              page.label("chain_uniform", n=size): math.log(size)}
    columns = ["x_i", "p(x_i | …)", page.label("chain_product"), "−ln p", "−log₂ p"]
    blocks = [_block(page, "chain_tokens", columns, rows),
              _block(page, "chain_whole", _labels(page, "chain", "quantity", "value"),
                     [[name, _blank(value)] for name, value in values.items()])]
    return {"text": run.tokenizer.decode(list(ids)).strip()}, blocks


def _positions(page: Lesson, run: Run, seed: int) -> tuple[dict, list[Block]]:
    exercise = exercises.positions(seed)
    P, omega, places = exercise.vectors, float(exercise.frequencies[1]), exercise.places
    base = readable(exercise.base, 4)
    rows = [[str(i), _blank(i * omega), *map(_blank, P[row])] for row, i in enumerate(places)]
    products = [[f"i = {places[a]}, j = {places[b]}", Blank(str(places[a] - places[b]).replace("-", "−")),
                 _blank(float(P[a] @ P[b]))] for a, b in ((0, 1), (2, 3), (0, 3))]
    angles = ["i", page.label("positions_angle"), "sin i ω_0", "cos i ω_0", "sin i ω_1", "cos i ω_1"]
    blocks = [_block(page, "positions_frequency", ["base", "√base", "ω_1"],
                     [[base, _blank(math.sqrt(exercise.base)), _blank(omega)]]),
              _block(page, "positions_vectors", angles, rows),
              _block(page, "positions_products", _labels(page, "positions", "pair", "distance", "product"), products,
                     page.label("positions_why"))]
    return {"base": base}, blocks


def _counting(page: Lesson, run: Run, seed: int) -> tuple[dict, list[Block]]:
    config = exercises.architecture(seed, run.model.config)
    counts, formulas = exercises.counts(config), _formulas(page, config)
    parts = [name for name in counts if name != "rough" and (counts[name] or name in ("E", "P"))]
    rows = [[page.label(f"counting_name_{name}"), Blank(formulas[name]), Blank(grouped(counts[name]))]
            for name in parts]
    rough = [[page.label("counting_name_rough"), Blank(grouped(counts['rough']))],
             [page.label("counting_ratio"), _blank(counts["blocks"] / counts["rough"])]]
    biases = {(True, True): "all", (False, True): "mlp", (True, False): "attention", (False, False): "none"}[
        config.attention_bias, config.mlp_bias]
    norm = "both" if config.sublayer.norm_bias else "gain" if config.sublayer.norm_gain else "none"
    blocks = [_block(page, "counting_parts", _labels(page, "counting", "part", "formula", "number"), rows,
                     norm=page.label(f"counting_norm_{norm}"), norms=counting.norm_count(config),
                     biases=page.label(f"counting_biases_{biases}")),
              _block(page, "counting_share", _labels(page, "counting", "part", "number"), rough,
                     page.label("counting_why"))]
    return {"kind": config.kind, "positions": config.positions, "vocab": config.vocab_size,
            "n": config.n_context, "d": config.d_model, "layers": config.n_layers,
            "heads": config.n_heads, "d_k": config.d_k, "d_ff": config.d_ff or 0}, blocks


def _formulas(page: Lesson, config: ModelConfig) -> dict[str, str]:
    """The formula of each part in the symbols of the sheet; "" if there is no short one."""
    usual = counting.attention_parameters(config) == 4 * config.d_model ** 2
    all_biases = config.attention_bias and config.mlp_bias and usual and not config.gated
    return {"E": "|V| d", "P": "N d" if config.positions == "learned" else "",
            "attention": "4 d^2" if usual else "h d d_k + h_kv d (d_k + d_v) + h d_v d",
            "mlp": "3 d d_ff" if config.gated else "2 d d_ff", "blocks": page.label("counting_formula_blocks"),
            "norms": page.label(f"counting_formula_norms_{'both' if config.sublayer.norm_bias else 'gain'}"),
            "biases": "L (4 d + d_ff + d)" if all_biases else "", "output": "|V| d",
            "total": page.label("counting_formula_total")}


def _blank(value: float) -> Blank:
    """A number to be filled in, to four decimals."""
    return Blank(plain_number(value))


def _quoted(text: str) -> str:
    return text if len(text) <= TEXT_CHARACTERS else "…" + text[-TEXT_CHARACTERS:]


MAKERS = {
    "merges": _merges, "sampling": _sampling, "chain": _chain, "positions": _positions, "counting": _counting}
