"""Worksheets: each drawn from its number, filled with the model's own values, shown as it is printed, and offered
with its solution.
"""
import math
from collections.abc import Callable

import streamlit as st

from core.analysis import text_probability
from core.app.frame import Lesson, views
from core.app.state import Run, reader
from core.app.state import run as runs
from core.cost import counting
from core.figures.numbers import plain_number
from core.model.config import ModelConfig
from core.sheets import exercises
from core.sheets.exercises_print import Asked, Block, Cell, Code, Sheet, printable
from pages.course.pictures import picture
from pages.course.shared import SETTINGS

TEXT_CHARACTERS = 160       # of a prompt that is quoted


def draw(page: Lesson) -> None:
    """The controls, and the sheet as it is printed."""
    kind = views.choice(SETTINGS, page, "sheet")
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="course_sheet_controls"):
        st.markdown(page.label("sheet_number"), width="content")
        st.number_input(page.label("sheet_number"), min_value=0, max_value=exercises.MOST_SEED, step=1,
                        label_visibility="collapsed", width=120, **SETTINGS.attached("seed"))
        st.button(page.label("sheet_another"), key="course_another",
                  on_click=lambda: SETTINGS.keep(seed=(SETTINGS.read("seed") + 1) % (exercises.MOST_SEED + 1)))
        seed = SETTINGS.read("seed")
        try:
            made = sheet(page, page.run(), kind, seed)
        except ValueError:
            st.info(page.label("sheet_none"))
            return
        files = {solved: printable(made, solved, page.label("solution")) for solved in (False, True)}
        for solved, name in ((False, "sheet"), (True, "solution")):
            st.download_button(page.label("sheet_file" if not solved else "sheet_solution_file"), files[solved],
                               file_name=f"{kind}-{seed}{'-solution' * solved}.html", mime="text/html",
                               key=f"course_{name}_file", on_click="ignore", icon=":material/download:")
    picture(page, "sheet", {"files": [files[False], files[True]], "solved": SETTINGS.read("solved")}, {})
    st.markdown(page.label("sheet_attention"))


def sheet(page: Lesson, run: Run, kind: str, seed: int) -> Sheet:
    """The sheet of one of SHEETS, by its number."""
    values, blocks = MAKERS[kind](page, run, seed)
    footer = ("footer_rounded" if kind in ("sampling", "chain")
              else "footer_own" if kind == "positions" or (kind == "counting" and seed) else "footer_exact")
    return Sheet(page.label(f"{kind}_title"), page.label("note", seed=seed, model=run.model_name),
                 page.label(f"{kind}_intro", **values), blocks, page.label("name"),
                 page.label(footer, model=run.model_name))


def _merges(page: Lesson, run: Run, seed: int) -> tuple[dict, list[Block]]:
    made = exercises.merges(seed, run.tokenizer, page.text("merge_words").split())
    half = math.ceil(len(made.rules) / 2)
    rules = [[str(rank), Code(left), Code(right)] for rank, left, right in made.rules]
    rules += [["", "", ""]] * (2 * half - len(rules))
    names = [page.label(f"merges_{name}") for name in ("rule", "left", "right")]
    blocks = [Block(page.label("merges_rules"), page.label("merges_rules_text"), names * 2,
                    [first + second for first, second in zip(rules[:half], rules[half:])])]
    for word in made.words:
        rows: list[list[Cell]] = [[page.label("merges_start"), "", Code(" | ".join(word.word))]]
        rows += [[str(i), Asked(str(rank)), Asked(" | ".join(pieces), code=True)]
                 for i, (rank, pieces) in enumerate(word.steps, 1)]
        rows += [[str(len(word.steps) + 1), Asked(page.label("merges_no_rule")), Asked("")]]
        blocks.append(Block(page.label("merges_word", word=word.word), page.label("merges_word_text"),
                            [page.label(f"merges_{name}") for name in ("step", "rule", "pieces")], rows))
    return {}, blocks


def _sampling(page: Lesson, run: Run, seed: int) -> tuple[dict, list[Block]]:
    made = exercises.sampling(seed, run.logits(),
                              [run.tokenizer.visible(i) for i in range(run.model.config.vocab_size)])
    one, warm, k, p = (made.truncated(**settings)
                       for settings in ({}, {"temperature": made.temperature}, {"k": made.k}, {"p": made.p}))
    token, numbers = page.label("sampling_token"), {"k": made.k, "p": f"{made.p:g}"}
    softmax, cut, ends = [], [], [0.0, *p.interval_ends]
    for i, name in enumerate(made.tokens):
        z = made.logits[i] - made.logits[0]
        softmax.append([Code(name), f"{made.logits[i]:.1f}".replace("-", "−"),
                        *map(_asked, (z, math.exp(z), one.probs[i], z / made.temperature,
                                      math.exp(z / made.temperature), warm.probs[i]))])
        interval = f"{ends[i]:.4f} … {ends[i + 1]:.4f}" if p.kept[i] else "–"
        cut.append([Code(name), *map(_asked, (one.cumulative[i], k.renormalised[i], p.renormalised[i])),
                    Asked(interval)])
    drawn = [[f"ξ = {made.xi:.2f}", Asked(made.tokens[made.drawn], code=True)],
             [page.label("sampling_greedy"), Asked(made.tokens[0], code=True)]]
    cut_columns = [token, *(page.label(f"sampling_{name}", **numbers)
                            for name in ("cumulative", "top_k", "top_p", "interval"))]
    blocks = [Block(page.label("sampling_softmax"),
                    page.label("sampling_softmax_text", temperature=f"{made.temperature:g}"),
                    [token, "u", "z = u − M", "e^z", "y", "z / T", "e^(z / T)", "y_T"], softmax),
              Block(page.label("sampling_cut"), page.label("sampling_cut_text", **numbers), cut_columns, cut),
              Block(page.label("sampling_draw"), page.label("sampling_draw_text", xi=f"{made.xi:.2f}"),
                    [page.label("sampling_by"), page.label("sampling_drawn")], drawn)]
    return {"prompt": _quoted(run.text)}, blocks


def _chain(page: Lesson, run: Run, seed: int) -> tuple[dict, list[Block]]:
    """Number 0 takes the prompt; the others go through the app's own prompts."""
    examples = reader.example_prompts()
    run = run if seed == 0 and len(run.token_ids) > 1 else runs.read(run.loaded, examples[seed % len(examples)])
    ids = run.token_ids[:exercises.MOST_TOKENS + 1]
    made = exercises.chain(run.tokens[1:len(ids)], text_probability.token_log_probs(run.loaded.runner, [ids])[0])
    products = made.probabilities.cumprod()
    rows = [[Code(token), repr(float(made.probabilities[i])), _asked(products[i]), _asked(made.nats[i]),
             _asked(made.nats[i] / math.log(2))] for i, token in enumerate(made.tokens)]
    size, found = run.model.config.vocab_size, {"sum_nats": made.total, "sum_bits": made.total / math.log(2),
                                                "mean": made.total / len(made.tokens), "perplexity": made.perplexity}
    whole = ([[page.label(f"chain_{name}"), _asked(value)] for name, value in found.items()]
             + [[page.label("chain_uniform", n=size), _asked(math.log(size))]])
    blocks = [Block(page.label("chain_tokens"), page.label("chain_tokens_text"),
                    ["x_i", "p(x_i | …)", page.label("chain_product"), "−ln p", "−log₂ p"], rows),
              Block(page.label("chain_whole"), page.label("chain_whole_text"),
                    [page.label("chain_quantity"), page.label("chain_value")], whole)]
    return {"text": run.tokenizer.decode(list(ids)).strip()}, blocks


def _positions(page: Lesson, run: Run, seed: int) -> tuple[dict, list[Block]]:
    made = exercises.positions(seed)
    P, omega = made.vectors, float(made.frequencies[1])
    rows = [[str(i), _asked(i * omega), *map(_asked, P[row])] for row, i in enumerate(made.places)]
    pairs = [(0, 1), (2, 3), (0, 3)]
    products = [[f"i = {made.places[a]}, j = {made.places[b]}",
                 Asked(str(made.places[a] - made.places[b]).replace("-", "−")), _asked(float(P[a] @ P[b]))]
                for a, b in pairs]
    blocks = [Block(page.label("positions_frequency"), page.label("positions_frequency_text"), ["base", "√base", "ω_1"],
                    [[f"{made.base:g}", _asked(math.sqrt(made.base)), _asked(omega)]]),
              Block(page.label("positions_vectors"), page.label("positions_vectors_text"),
                    ["i", page.label("positions_angle"), "sin i ω_0", "cos i ω_0", "sin i ω_1", "cos i ω_1"], rows),
              Block(page.label("positions_products"), page.label("positions_products_text"),
                    [page.label(f"positions_{name}") for name in ("pair", "distance", "product")], products,
                    page.label("positions_why"))]
    return {"base": f"{made.base:g}"}, blocks


def _counting(page: Lesson, run: Run, seed: int) -> tuple[dict, list[Block]]:
    config = exercises.architecture(seed, run.model.config)
    counts, formulas = exercises.counted(config), _formulas(page, config)
    asked = [name for name in counts if name != "rough" and (counts[name] or name in ("E", "P"))]
    rows = [[page.label(f"counting_name_{name}"), Asked(formulas[name]), Asked(f"{counts[name]:,}")] for name in asked]
    rough = [[page.label("counting_name_rough"), Asked(f"{counts['rough']:,}")],
             [page.label("counting_ratio"), _asked(counts["blocks"] / counts["rough"])]]
    biases = {(True, True): "all", (False, True): "mlp", (True, False): "attention", (False, False): "none"}[
        config.attention_bias, config.mlp_bias]
    small = page.label("counting_parts_text",
                       norm=page.label(f"counting_norm_{'both' if config.norm_bias else 'gain'}"),
                       norms=counting.norm_count(config), biases=page.label(f"counting_biases_{biases}"))
    blocks = [Block(page.label("counting_parts"), small,
                    [page.label(f"counting_{name}") for name in ("part", "formula", "number")], rows),
              Block(page.label("counting_share"), page.label("counting_share_text"),
                    [page.label(f"counting_{name}") for name in ("part", "number")], rough, page.label("counting_why"))]
    return {"kind": config.kind, "positions": config.positions, "vocab": config.vocab_size,
            "n": config.n_context, "d": config.d_model, "layers": config.n_layers,
            "heads": config.n_heads, "d_k": config.d_k, "d_ff": config.d_ff or 0}, blocks


def _formulas(page: Lesson, config: ModelConfig) -> dict[str, str]:
    """How each part is counted, in the symbols of the sheet; "" where there is no short way."""
    usual = counting.attention_parameters(config) == 4 * config.d_model ** 2
    all_biases = config.attention_bias and config.mlp_bias and usual and not config.gated
    return {"E": "|V| d", "P": "N d" if config.positions == "learned" else "",
            "attention": "4 d^2" if usual else "h d d_k + h_kv d (d_k + d_v) + h d_v d",
            "mlp": "3 d d_ff" if config.gated else "2 d d_ff", "blocks": page.label("counting_formula_blocks"),
            "norms": page.label(f"counting_formula_norms_{'both' if config.norm_bias else 'gain'}"),
            "biases": "L (4 d + d_ff + d)" if all_biases else "", "output": "|V| d",
            "total": page.label("counting_formula_total")}


def _asked(value: float) -> Asked:
    """A number to be found, to four decimals."""
    return Asked(plain_number(value).replace("-", "−"))


def _quoted(text: str) -> str:
    return text if len(text) <= TEXT_CHARACTERS else "…" + text[-TEXT_CHARACTERS:]


MAKERS: dict[str, Callable[[Lesson, Run, int], tuple[dict, list[Block]]]] = {
    "merges": _merges, "sampling": _sampling, "chain": _chain, "positions": _positions, "counting": _counting}
