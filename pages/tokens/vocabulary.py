"""Vocabulary: a search of the model's tokens, and one token with its id, its merge rules and its bytes."""
import re
from collections import Counter

import pandas as pd
import streamlit as st

from core.app.compute import cache
from core.app.lesson import Lesson, Place, Prediction, Reading, Truth, guess_of
from core.app.state import Run, reader
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import plain_number, readable
from core.language import segmentation
from core.model.tokenizer import Tokenizer, visible_form
from pages.tokens.merges import rules_of
from pages.tokens.shared import PREFIX, hex_bytes, keep, question, read

SEARCH = f"{PREFIX}vocabulary_search"
MOST_SEARCHED = 60      # characters of a search
MOST_ROWS, N_NUMBERS = 12, 4     # tokens, and numbers of each row of E, that are listed
LEAST_OFFERED = 3       # different tokens, to ask for the smallest id
# The vocabulary, searched while the reader types, and the open token: its merges, its bytes, the bits of its
# characters.
_picture = token_view("token_vocabulary", __file__)


def picked_token(run: Run) -> int:
    """The target token that the reader has picked in any lesson, else the one at the picked position."""
    chosen = reader.selection()
    return run.token_ids[chosen.position] if chosen.target is None else chosen.target


def table_of(tokenizer: Tokenizer) -> dict:
    """All tokens by id: names, bytes in hex, where each is from, and for each merged token its two parts and the rule's
    rank.
    """
    ids = range(tokenizer.vocab_size)
    rules = {made: (rank, left, right) for rank, (left, right, made) in enumerate(tokenizer.rules, 1)}
    return {"names": [tokenizer.visible(i) for i in ids], "bytes": [hex_bytes(tokenizer.token_bytes(i)) for i in ids],
            "origins": ["rule" if i in rules else origin(tokenizer, i) for i in ids],
            "parts": {i: (left, right) for i, (_, left, right) in rules.items()},
            "rules": {i: rank for i, (rank, _, _) in rules.items()}}


def origin(tokenizer: Tokenizer, token: int) -> str:
    """The origin of a token that no rule makes: the end of a label `vocabulary_…`."""
    if not tokenizer.is_used(token):
        return "unused"
    if not tokenizer.token_bytes(token):
        return "special"
    if tokenizer.is_byte(token):
        return "byte"
    return {"WordPiece": "piece", "Unigram": "probable", "numbers": "number"}.get(tokenizer.method, "added")


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask for the prompt's token with the smallest id, learned first."""
    asked = distinct_places(run)
    if run.tokenizer.method != Tokenizer.method or len(asked) < LEAST_OFFERED:
        return None

    def truth(guess: int) -> Truth:
        at, ids = smallest(run, asked), run.token_ids
        rules = len(rules_of(run.tokenizer, run.tokenizer.token_bytes(picked_token(run))))
        return Truth(at, said=page.label("vocabulary_id", id=ids[at]), own=page.label("vocabulary_id", id=ids[guess]),
                     seen=0 if rules else 1, values={"token": run.tokens[at], "id": ids[at]})

    return Prediction("vocabulary", Place(run.tokens, asked), truth, {"n": run.tokenizer.vocab_size})


def distinct_places(run: Run) -> list[int]:
    """The first place of each token of the text itself."""
    begin = len(run.tokenizer.begin)
    first = {token: begin + place for place, token in reversed(list(enumerate(run.own_ids)))
             if run.tokenizer.token_bytes(token)}
    return sorted(first.values())


def smallest(run: Run, places: list[int]) -> int:
    return min(places, key=run.token_ids.__getitem__)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the search and the open token; return their Reading."""
    token = picked_token(run)
    table = cache.result(run.loaded.key("tokens_vocabulary"), lambda: table_of(run.tokenizer),
                         lambda value: 400 * len(value["names"]))
    header = page.header("vocabulary") | table | {
        "prompt": run.token_ids, "marked": _marked(page, run),
        "settings": {"find": read("find")[:MOST_SEARCHED], "token": token}}
    _picture(header, key=SEARCH, on_settings=_apply)
    name = code(run.tokenizer.visible(token))
    title = page.label("vocabulary_twin", n=run.tokenizer.vocab_size, token=name, id=token,
                       bytes=table["bytes"][token] or "–")
    return Reading(_lines(page, run, token, Counter(table["origins"])), question(page, run),
                   [Tokenizer.token_bytes, visible_form, segmentation.merge_steps],
                   {"vocabulary.csv": lambda: every_token(page, table)}, ".token-tree", title,
                   made_table(page, table, token), {page.label("column_token"): run.tokenizer.visible(token)},
                   below=lambda: draw_rows(page, run))


def draw_rows(page: Lesson, run: Run) -> None:
    """Draw the way from the prompt's text to numbers: its tokens, their ids, and the row of E that each picks."""
    rows = rows_of(run)
    if reader.leaves_out(f"{PREFIX}rows") or rows.empty:
        return
    with st.container(key=f"{PREFIX}rows"):
        st.markdown(page.label("rows_title", n=len(run.own_ids), d=run.model.config.d_model))
        st.dataframe(rows.rename(columns={"token": page.label("column_token"), "id": page.label("column_id")}),
                     hide_index=True, width="content")


def rows_of(run: Run) -> pd.DataFrame:
    """The first tokens of the prompt: token, id, and the first numbers of the id's row of E."""
    ids = list(run.own_ids)[:MOST_ROWS]
    rows = run.model.E[ids, :N_NUMBERS].tolist() if ids else []
    return pd.DataFrame([{"token": run.tokenizer.visible(i), "id": i}
                         | {f"E[id, {k}]": plain_number(value) for k, value in enumerate(row)}
                         for i, row in zip(ids, rows)])


def _marked(page: Lesson, run: Run) -> dict[str, int]:
    """The ids of the reader's guess and of the answer; empty where there is no guess."""
    guess = guess_of(page, "vocabulary", run)
    return {} if guess is None else {"answer": run.token_ids[smallest(run, distinct_places(run))],
                                     "mine": run.token_ids[guess]}


def made_table(page: Lesson, table: dict, token: int) -> pd.DataFrame:
    """The rules that make a token, and the parts that it is made of, in their order: rank, left, right, result, id."""
    names, waiting, rows = table["names"], [token], {}
    while waiting:
        made = waiting.pop()
        if made in table["parts"]:
            left, right = table["parts"][made]
            rows[table["rules"][made]] = names[left], names[right], names[made], made
            waiting += [left, right]
    return page.table([(rank, *row) for rank, row in sorted(rows.items())], "rank", "left", "right", "result", "id")


def every_token(page: Lesson, table: dict) -> pd.DataFrame:
    """The whole vocabulary: id, token, bytes, and the rank of its merge rule."""
    rows = [(i, name, hex_form, table["rules"].get(i))
            for i, (name, hex_form) in enumerate(zip(table["names"], table["bytes"]))]
    return page.table(rows, "id", "token", "bytes", "rank")


def _apply(settings: dict) -> None:
    keep(find=str(settings["find"])[:MOST_SEARCHED])
    if settings["token"] is not None:
        reader.select(target=int(settings["token"]))


def _lines(page: Lesson, run: Run, token: int, origins: Counter[str]) -> list[tuple[str, str]]:
    n, d = run.tokenizer.vocab_size, run.model.config.d_embedding
    lines = [(page.label("numbers_rows", share=readable(100 * n * d / run.model.n_parameters)),
              rf"|V| \times d = {n} \times {d} = {n * d}")]
    if run.tokenizer.method == Tokenizer.method:
        lines.insert(0, _parts(page, origins, n))
    characters = run.tokenizer.token_bytes(token).decode("utf-8", errors="ignore")
    wide = next((c for c in characters if ord(c) > 0x7F), characters.strip()[:1] or characters[:1])
    if wide:
        lines.append((page.label("numbers_utf8", character=code(visible_form(wide.encode())),
                                 point=f"U+{ord(wide):04X}"), utf8(wide)))
    return lines


def _parts(page: Lesson, origins: Counter[str], n: int) -> tuple[str, str]:
    """The parts of a byte-level vocabulary of n tokens."""
    signs, unused = origins["special"] + origins["added"], origins["unused"]
    sum_ = f"|V| = {signs} + {origins['byte']} + {origins['rule']}"
    if not origins["added"] and not unused:
        return page.label("numbers_vocabulary", signs=signs), f"{sum_} = {n}"
    return page.label("numbers_vocabulary_more", signs=signs, unused=unused), f"{sum_} + {unused} = {n}"


def utf8(character: str) -> str:
    """LaTeX of a character's UTF-8 bytes in bits: the marks of the bytes, and in bold the bits of the code point.

    >>> utf8("A")
    '65 = \\\\mathbf{1000001}_2 \\\\;\\\\to\\\\; \\\\mathrm{0}\\\\mathbf{1000001} \\\\;=\\\\; \\\\mathtt{41}'
    """
    # the mark: the leading ones and the zero after them
    parts = [re.fullmatch("(1*0)(.*)", f"{byte:08b}").groups() for byte in character.encode()]
    point = r"\,".join(payload for _, payload in parts)
    marked = r"\;\;".join(rf"\mathrm{{{mark}}}\mathbf{{{payload}}}" for mark, payload in parts)
    digits = r"\;".join(f"{byte:02X}" for byte in character.encode())
    return rf"{ord(character)} = \mathbf{{{point}}}_2 \;\to\; {marked} \;=\; \mathtt{{{digits}}}"
