"""A symbol means one thing on a page: a view that uses it for two says so, and explains what stands in its formulas."""
import re
from collections.abc import Iterator

import pytest

from core.base import prose
from tests.helpers import view_words
from tests.helpers.view_words import ViewWords

SIGNS = {"alpha": "α", "beta": "β", "gamma": "γ", "theta": "θ", "lambda": "λ", "pi": "π", "sigma": "σ", "phi": "φ",
         "varphi": "φ", "tau": "τ", "cdot": "·", r"mathcal\{\{?L\}?\}": "ℒ"}

# symbol -> a word that names the meaning -> how it looks where it is used; the first that fits a use counts. The word
# stands in the glossary's list of letters, and in the sentence of a page on which the symbol also has another meaning.
MEANINGS = {
    "α": {"DeepNorm": r"α x \+ |number α above|^α = \{(alpha)?\}$|α (=|is) \(2L\)|α [XOC]|α times|by α before|^α $",
          "exponent": r"\{α\}|α_N|exponent α",
          "gain": r"α \\odot|α_\{\} \\frac|(gain|learned|factors|norm’s|with|after:) α|α (and β|\(and β|\(x −|\[d\])",
          "attention": r"α_|[Ww]eights?\)? α|α = (softmax|\\frac)|α [vx]|: α|gets α|together, α|^α$|"
                       r"\(α\)|αα|αᵀ|α\^"},
    "β": {"DeepNorm": r"number β below",
          "Swish": r"βx|β x|β of Swish|Swish(,|:| with| \() ?β|with β = 1|\(β (=|→)|_β|σ \+ β",
          "momentum": r"momentum β|1 \+ β",
          "DPO": r"β m|^β$|β sets|large β|minus β|new β|With β = (\{beta\},|0)|whatever β|[Aa] larger β|smaller β|"
                 r"^β = |, β = |pick β|less β|[-−] ?β|/ ?β",
          "shift": r"\+ β|(shift|learned|no|and|marked) β|^β "},
    "γ": {"gain": r"gain γ"},
    "θ": {"angle": r"(Angle|by|cos|sin|cos\\|angle) ?θ",
          "frequencies": r"R_\{θ|θ for the frequencies",
          "weights": r"weights? θ|θ \\leftarrow|\\leftarrow θ|= θ|θ -",
          "parameters": r"f\(x, θ\)|θ\*|^θ|(\}|parameters|before any|in|of|by|some|different|all|several|no|any|same|"
                        r"to|which) θ|θ (is|has|lists|says|can)"},
    "λ": {"variance": r"λ is the variance|λ_[k123]", "wavelength": r"wavelength λ",
          "curvature": r"λ be the curvature|ηλ|η λ|2/λ|λₘ|λ_\{|λ = \{curvature"},
    "π": {"circle": r"2π|π\)\)|2/π", "model": r"π( is|\$|\(y|_|, the model| the model| ?/ ?π|\)\\|$)|policy π"},
    "σ": {"sigmoid": r"σ\((β|0|b_f|r|\{)|σ(:| is) the sigmoid|sigmoid σ|^σ$|σ \+ β|\(1 - σ\)|xσ|σ \(1",
          "noise": r"noise σ|^σ \\sqrt",
          "singular": r"σ_\{\\m|singular value σ",
          "deviation": r"(deviation|Every|this|other|the|and|square|/|:|because|μ,|\},|: ) ?σ|\}\{σ|/σ|± σ|σ is their|"
                       r"^σ =|quad σ|by σ|about σ|σ(\^2|²)|no σ|σ\(x\)|\{σ\}|pm 2σ_0|σ_0\^2"},
    "φ": {"tanh": r"φ'|φ\$ the tanh", "density": r"φ its density|xφ|x φ", "encoder": r"φ\(x_|φ is the encoder"},
    "τ": {"temperature": r"temperature τ|τ (grows|goes|=|changes)|\(τ\)|/ ?τ|slider, τ", "token": r"τ_(j|\{?\{|k)"},
    "h": {"heads": r"h heads|Heads h|h (vectors|= 8|d_k|· d_v)|head\}_h|h_\{kv\}|h\\, ?d|h d_[kv]|d/h",
          "vector": r"h ?Eᵀ|h(,| \[1).*row of|vector h|h_N\^L|makes h|h is compared|h ·|h'|h_j",
          "state": r"h_\{?[tT]|state h|\(h, c\)"},
    "L": {"blocks": r"L\$? blocks|Blocks L|12 ?L|12 L d|_N\^L|^(\{\})?L ?(·|h_|r,)|\+ L\(|L r",
          "loss": r"loss L|nabla L|^L (=|-)|L\(N\)", "tokens": r"L tokens|x_L|1:L|x_\{1:L"},
    "N": {"parameters": r"N counts its parameters|6 ?N ?D|ℒ\(N\)|parameters N|N, (billions|when)|law for N|0.076 for N",
          "tokens": r"tokens? N|N tokens|N × |N²|N \\times|N = \{n\}|1/N|N d"},
    "p": {"top-p": r"[Tt]op-p, p|together hold p|p of top-p|p top-p|p = (\{p\} alone|1:|0\.)",
          "position": r"\[x, p\]|vector p|p W_P|p is the first sine|for p are",
          "part": r"its vector p|p_k",
          "exponent": r"N\^p",
          "bits": r"2\^p|n - p|p bits of|log₂ p, of|p = \{p\}(: [pθ]| = ζ)",
          "probability": r"p\([xywAkbt]|ln p|log₂ p|log p|p = \{(p|prob)\}|· p = |p is (its|the) probability"},
    "k": {"top-k": r"k top-k|k off|k = \{k\} (alone|·)|most probable k|Top-k, k|the k most",
          "key": r"k_j|q ?· ?k|q, k|tanh\(q ?\+ ?k|· k_|k, v|k normed|key k",
          "steps": r"step of k|k steps|T-k|Distance k|distance k", "letters": r"k letters|Letters k"},
    "m": {"slope": r"slope m|- ?m ?\(|−m \(|e\^\{-m", "min-p": r"m min-p|m · \\max",
          "largest": r"largest score m|s ?[-−] ?m|s_j - m", "margin": r"margin m|β m|^m = \\ln|^m = 0",
          "mean": r"m and s are|m \\leftarrow", "units": r"\[m\]|m numbers|Units m|m × m"},
    "s": {"seed": r"s the seed", "score": r"scores? s\b|(?<!- )s_\{?\{?[ij]|e\^\(s|s_j", "deviation": r"deviation s\b"},
    "T": {"transposed": r"ᵀ|raised T", "temperature": r"emperature T|/ ?T\b|T = [\d{]|T (below|above|grows)|by T\b|/T",
          "steps": r"h_T|T-k", "delay": r"delay T"},
    "u": {"logit": r"logits?\*? u|u be the|u ?= ?h|u_[tw]|e\^\{u|softmax\(u|where u|^u$", "gate": r"\(1 - u\)"},
    "v": {"learned": r"v ?· ?\\?tanh|random v|learned a v|W or v", "id": r"id \$v|E_v|1\}_v",
          "axis": r"v_1|v₁", "velocity": r"v \\leftarrow", "value": r"α v|v_j|values? v|vⱼ|q, k, v|α_\{ij\} v"},
    "w": {"window": r"Window (±)?w|±w|w tokens|w = \{w\}|/ w ", "warm-up": r"warm-up w|w\^\{-3|d ?w\}",
          "token": r"w_t|w_\{?1|sum_w|y_w"},
    "e": {"row": r"e_t|e\(x\)|row e\b|e\(c\)", "eccentricity": r"eccentricity e|e \\sin|e \\cos",
          "2.718": r"e\^\{|exp\("},
}
WHOLLY_KNOWN = "αβγθλπσφτ"      # of these the table has every use


def normal(line: str) -> str:
    """LaTeX and labels in one spelling: signs for commands, ᵀ for a raised T, no thin spaces and no text."""
    line = re.sub(r"\\([,;!]|[Bb]ig[lr]?(?![A-Za-z]))", "", line)
    for name, sign in SIGNS.items():
        line = re.sub(rf"\\{name}(?![A-Za-z])", sign, line)
    return re.sub(r"\^(T\b|\{+\\mathsf ?T\}+)|(?<!\})\^\{+T\}+", "ᵀ", line)        # not the T up to which a sum goes


def meanings(symbol: str, line: str) -> Iterator[str]:
    """Yield the symbol's meaning at each use in a line; an empty string for a use that the table has not."""
    spans = [(found.span(), word) for word, looks in MEANINGS[symbol].items() for found in re.finditer(looks, line)
             if symbol in found[0] or symbol == "T"]
    raised = "|ᵀ" if symbol == "T" else ""
    for use in re.finditer(symbol if symbol in WHOLLY_KNOWN else rf"(?<![A-Za-z]){symbol}(?![A-Za-z’]){raised}", line):
        yield next((word for (start, end), word in spans if start <= use.start() < end), "")


def lines_of(view: ViewWords) -> list[str]:
    return [normal(line) for text in view.lines for line in text.splitlines()]


def unsaid(view: ViewWords) -> dict[str, set[str]]:
    """symbol -> its meanings on the page, where they are several and no sentence of the page names them all."""
    lines = lines_of(view)
    sentences = [sentence for line in lines for sentence in re.split(r"(?<=[.:])\s(?=[A-Z*(])", line)]
    several = {symbol: {word for line in lines for word in meanings(symbol, line)} - {""} for symbol in MEANINGS}
    return {symbol: words for symbol, words in several.items() if len(words) > 1
            and not any(all(word in one for word in words) and symbol in one for one in sentences)}


@pytest.mark.parametrize("name", view_words.names())
def test_a_symbol_means_one_thing_on_a_page_or_the_page_says_so(name: str):
    view = view_words.of(name)
    assert not unsaid(view)


@pytest.mark.parametrize("name", view_words.names())
def test_no_greek_letter_has_a_meaning_that_the_table_does_not_know(name: str):
    view = view_words.of(name)
    assert not [(symbol, line) for symbol in WHOLLY_KNOWN for line in lines_of(view) if "" in meanings(symbol, line)]


def formulas(text: str) -> list[str]:
    return [normal(formula) for formula in re.findall(r"\$([^$]+)\$", text)]


def letters(formula: str) -> set[str]:
    """The letters of a formula that stand for something: no commands, words, indices or exponents."""
    bare = re.sub(r"\\(text|mathrm|operatorname|mathbb)(_?)\{[^{}]*\}", " ", formula)
    for _ in range(2):                                      # an index inside an index
        bare = re.sub(r"[_^](\{[^{}]*\}|\\?[A-Za-z]+|.)", "", bare)
    return set(re.findall(r"[A-Za-zα-ωΑ-Ωℒ]", re.sub(r"\\[A-Za-z]+", " ", bare)))


def explained(text: str) -> Iterator[str]:
    """The letters that a text explains: each stands alone in a sentence, or in a formula that is no more than itself,
    its shape or its argument, or is what an equation gives.
    """
    yield from re.findall(r"(?<![\w’-])([A-Za-zα-ωΑ-Ωℒ])(?![A-Za-z’])", normal(re.sub(r"\$[^$]+\$", " ", text)))
    for formula in formulas(text):
        for part in formula.split(", "):
            name = re.split(r"\\in\b|=", part)[0].strip(" |")
            applied = re.fullmatch(r"(.)\([^()=]*\)", name)
            if applied or len(letters(name)) == 1 and not re.search(r"[+·(]", name):
                yield applied[1] if applied else letters(name).pop()


def unexplained(text: str) -> set[str]:
    """The letters in the formulas of a text that it does not explain; e and π need no words."""
    return {letter for formula in formulas(text) for letter in letters(formula)} - set(explained(text)) - set("eπ")


@pytest.mark.parametrize("name", view_words.names())
def test_every_letter_in_a_formula_is_explained_in_the_same_text(name: str):
    view = view_words.of(name)
    assert not {letter for text in view.explanation for letter in unexplained(text)}


def test_the_glossary_lists_every_letter_of_several_meanings():
    listed = dict(re.findall(r"^- \*\*(.+?)\*\*: (.+)$", prose.load("course").section("explanation_glossary"), re.M))
    assert set(listed) == {symbol for symbol, words in MEANINGS.items() if len(words) > 1}
    assert not [(symbol, word) for symbol in listed for word in MEANINGS[symbol] if word not in listed[symbol]]


def test_an_unsaid_second_meaning_is_found():
    twice = ViewWords("lesson", "view", ("The temperature T divides the logits, $u = h\\,E^T$.",), ())
    said = ViewWords("lesson", "view", (*twice.explanation, "A raised T is transposed, T alone the temperature."), ())
    assert unsaid(twice) == {"T": {"temperature", "transposed"}} and not unsaid(said)
    assert unexplained("So $y = f(x) + b$ for every x.") == {"f", "b"}
    assert list(meanings("α", "an α of another kind")) == [""]


def test_under_a_root_stands_the_width_of_the_stream_or_of_a_key():
    """d beside the embeddings, d_k in the scores."""
    texts = [path.read_text(encoding="utf-8") for path in (prose.FOLDER / prose.LANGUAGE).glob("*.md")]
    roots = [root for text in texts for root in re.findall(r"(?:square root of |√)\$?(d(?:_\w|[ᵢ-ᵪₐ-ₜ])?)", text)]
    assert set(roots) == {"d", "d_k", "dₖ"}
