"""Conversion of Hugging Face models of the families of tables.TITLES into our Transformer, so that every lesson works
on them, and of our models into theirs.

    preview(name) -> Preview                    architecture and size before the download or loading, to check limits
    from_pretrained(name) -> (Transformer, Tokenizer)       in the form of core.model.checkpoints.load: float32 on the
                                                            CPU, in eval mode, without gradients
    is_here(name) -> bool                       whether it can be loaded without a download
    save_pretrained(model, tokenizer, folder) -> str        in the format of transformers
    PretrainedError                             the exception of all of them: a sentence for the reader, and a
                                                `reason` (errors.REASONS)

`name` is that of a model on the Hub (gpt2, EleutherAI/pythia-160m), or a folder: a Path, or a text that begins with /,
./, ../ or ~. A page that takes names from readers passes on only the former (`is_hub_name`). progress(done, total), in
bytes, is called first for the download, then for the reading, from other threads. It stops both by raising Stopped: an
unfinished download is removed from the disk, a finished one stays.

A family is a function in decoders, newer_decoders, older_decoders, experts, encoders, modernbert, encoder_decoders or
bart. Encoders have Trace.h_head and token_types; encoder-decoders take source_ids, with Tokenizer.end after the source
and ModelConfig.first_token before the target. transformers is never imported, nothing is unpickled, and no code of a
model is run. A model that came without a tokenizer gets tokens.NumberedTokens, whose `method` is "numbers": its text is
token ids.

Every key of a config.json is read, known to be without effect (keys), passed over and named if transformers neither
declares nor reads it (reference), or refused by name and value; every key of a tokenizer_config.json is used, known to
be without effect (tokenizer_settings), or refused. Other forms of weights and tokenizers are recognised, and refused by
name (refusals, tokenizer_forms). Files of SentencePiece are read without its library (piece_file): the files of Llama,
Gemma and T5 (piece_tokenizers), and Marian's (marian_files, pieces).
"""
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from core.cost import counting
from core.huggingface import hub, refusals, tokenizer_forms, tokenizer_settings, tokens, weights
from core.huggingface.errors import PretrainedError, Stopped, read_table, short
from core.huggingface.families import plan_of, refuse_unknown
from core.huggingface.fields import family_of, token_ids, unsupported
from core.huggingface.plan import Plan
from core.huggingface.refusals import refuse_other_head
from core.huggingface.saving import save_pretrained
from core.huggingface.stored import Stored
from core.huggingface.tables import TITLES
from core.model.config import ModelConfig
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer

__all__ = ["PretrainedError", "Preview", "Stopped", "from_pretrained", "is_here", "is_hub_name", "is_offline",
           "preview", "save_pretrained"]


@dataclass(frozen=True)
class Preview:
    """The properties of a model, from its config.json and the headers of its weights. config: its architecture, with
    kind, n_context and vocab_size.

    n_parameters: the exact number of those that are loaded. dtype: the number formats of the files, separated by
    commas. tokenizer: the file from which it is read, "" if there is none. download_bytes: still to download. left_out:
    the parts of the files that are not loaded, each with its tensors and their numbers. passed_over: the keys of
    config.json that transformers does not know and that have no effect in it, each as "name = value".
    """

    name: str
    family: str
    config: ModelConfig
    n_parameters: int
    dtype: str
    tokenizer: str
    download_bytes: int
    left_out: tuple[tuple[str, int, int], ...] = ()
    passed_over: tuple[str, ...] = ()

    @property
    def n_bytes(self) -> int:
        """Memory of the weights once loaded, as float32."""
        return 4 * self.n_parameters


def is_hub_name(name: str | Path) -> bool:
    """Whether `name` is that of a model on the Hub, not of a folder on this machine.

    >>> is_hub_name("EleutherAI/pythia-160m"), is_hub_name("./models/mine"), is_hub_name(Path("gpt2"))
    (True, False, False)
    """
    return not isinstance(name, Path) and not name.startswith(("/", "./", "../", "~"))


def is_here(name: str | Path) -> bool:
    """Whether a model can be loaded without a download; does not use the network."""
    return hub.cached(name) is not None if is_hub_name(name) else Path(name).expanduser().is_dir()


def is_offline() -> bool:
    """Whether this program is told to stay offline, by HF_HUB_OFFLINE."""
    return hub.is_offline()


def preview(name: str | Path) -> Preview:
    """The properties of a model without loading it; config.json and the first bytes of the weights of a model on the
    Hub are downloaded if they are not here.

    Raises PretrainedError for a model that `from_pretrained` would refuse, unless only the weights themselves show it.
    """
    folder = hub.cached(name) if is_hub_name(name) else _folder(name)
    if folder is not None:
        files = {path.name: 0 for path in folder.iterdir()}
        values, stored = _headers(folder)
        settings = tokenizer_forms.settings_in(folder)
    else:
        files = hub.listed(name)
        values, stored = hub.config(name), hub.headers(name)
        settings = hub.settings(name) if tokenizer_forms.SETTINGS in files else {}
        tokenizer_settings.refuse_unknown(settings)
    plan, kind = _planned(values, stored, folder), tokenizer_forms.class_of(settings, values)
    file = tokenizer_forms.tokenizer_file(files, kind)
    tokenizer_forms.check(file, kind, settings)
    used = weights.located(plan, stored).values()
    dtypes = sorted({weights.DTYPES[tensor.dtype] for tensor in used})
    return Preview(str(name), TITLES[family_of(values)], plan.config, counting.n_parameters(plan.config),
                   ", ".join(dtypes), file, sum(files.values()), weights.left_out(plan, stored),
                   plan.passed_over)


def from_pretrained(name: str | Path,
                    progress: Callable[[int, int], None] | None = None) -> tuple[Transformer, Tokenizer]:
    """The model, in float32 on the CPU, in eval mode and without gradients, and its tokenizer; downloaded if necessary.

    Raises PretrainedError for every failure.
    """
    folder = hub.fetched(name, progress) if is_hub_name(name) else _folder(name)
    values, stored = _headers(folder)
    plan = _planned(values, stored, folder)     # before reading the tokenizer, which takes a second if it is large
    tokenizer = tokens.load(folder, plan.config.vocab_size, plan.config.end_of_text)
    generation = read_table(path, "damaged") if (path := folder / hub.GENERATION).is_file() else {}
    config = _with_tokens(_with_ends(plan.config, generation, tokenizer), tokenizer)
    config = _with_forbidden(config, generation.get("bad_words_ids", values.get("bad_words_ids")))
    plan = dataclasses.replace(plan, config=config)
    return _built(plan, weights.parameters(folder, plan, stored, progress)), tokenizer


def _headers(folder: Path) -> tuple[dict, dict[str, Stored]]:
    """A model's config.json and the headers of its weights. Its family is checked first: a reader who is told to fetch
    weights should not learn afterwards that they are of no use.
    """
    values = hub.read_config(folder / hub.CONFIG)
    refuse_unknown(values)
    return values, weights.headers(folder)


def _planned(values: dict, stored: dict[str, Stored], folder: Path | None) -> Plan:
    """The plan of a model, checked against the numbers of its files if they are here (`folder`)."""
    plan = plan_of(values, stored)
    refuse_other_head(values, [name for name in stored if not (plan.besides and plan.besides.search(name))
                               and weights.part_left_out(plan, name) is None])
    weights.located(plan, stored)
    if folder is None:
        return plan
    return weights.with_stored_positions(folder, weights.untied(folder, plan, stored), stored)


def _folder(name: str | Path) -> Path:
    folder = Path(name).expanduser()
    if folder.is_file() and (file := refusals.gguf_file([folder.name])):
        raise refusals.gguf(str(folder.parent), file)
    if not folder.is_dir():
        raise PretrainedError("unknown", f"There is no folder {folder}. Give the folder that holds config.json and "
                                         f"model.safetensors, or the name of a model on the Hub.")
    return folder


def _with_ends(config: ModelConfig, generation: dict, tokenizer: Tokenizer) -> ModelConfig:
    """The config with every token that ends a text: the config's, those of generation_config.json, the tokenizer's.

    A model that was taught to answer ends a turn with a different token than a text.
    """
    if config.kind == "encoder":
        return config
    ends = dict.fromkeys((config.end_of_text, *config.special.end_tokens,
                          *token_ids(generation.get("eos_token_id"), config.vocab_size), tokenizer.end_of_text))
    first, *others = [i for i in ends if i is not None] or [None]
    return config.changed(end_of_text=first, end_tokens=tuple(others))


def _with_forbidden(config: ModelConfig, bad_words: object) -> ModelConfig:
    """The config of an encoder-decoder with the tokens that its files forbid it to write: Marian's padding, whose logit
    is always 0, above that of many words. bad_words: a list of lists of ids.

    Raises PretrainedError if words of several tokens are forbidden.
    """
    if config.kind != "encoder-decoder" or not bad_words:
        return config
    forbidden = [token_ids(word, config.vocab_size) for word in bad_words] if isinstance(bad_words, list) else [()]
    if any(len(word) != 1 for word in forbidden):
        raise unsupported(f"bad_words_ids = {short(bad_words)}")
    return config.changed(never_written=tuple(word[0] for word in forbidden))


def _with_tokens(config: ModelConfig, tokenizer: Tokenizer) -> ModelConfig:
    """The config with the tokenizer's begin and mask tokens; the begin token of T5's target is the config's."""
    if isinstance(tokenizer, tokens.NumberedTokens):
        return config
    begin = (config.special.begin_of_text if config.kind == "encoder-decoder"
             else tokenizer.begin[0] if tokenizer.begin else None)
    return config.changed(begin_of_text=begin, mask_token=tokenizer.mask_token)


def _built(plan: Plan, parameters: dict[str, torch.Tensor]) -> Transformer:
    with torch.device("meta"):                          # shapes only: the weights are in memory once
        model = Transformer(plan.config)
    model.load_state_dict(parameters, assign=True)
    return model.eval().requires_grad_(False)
