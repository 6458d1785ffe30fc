"""Encoders: BERT, RoBERTa (and XLM-RoBERTa, CamemBERT), DistilBERT, ELECTRA."""
from collections.abc import Collection

from core.huggingface import entries, task_heads
from core.huggingface.fields import Fields
from core.huggingface.plan import BERT_BLOCK, DISTILBERT_BLOCK, Plan, finished, usual_blocks
from core.model.config import ModelConfig


def _bert_like(f: Fields, names: Collection[str], base: str, layers: str, block: dict[str, str], head: dict[str, str],
               classes: dict[str, str], n_first: int = 0, **settings) -> Plan:
    """The plan of BERT, RoBERTa and DistilBERT.

    layers, block: the name of the blocks under `base`, and the names in each. head: the names of the parts of the
    masked-language head; classes: of a classifier's, and its curve. n_first: the number of rows before the first
    position.

    The bias of the unembedding counts if the file contains one; the head's is then a copy of it. A file without any
    part of that head holds a model without a head, or with a different one: its config says which, and the logits of
    our Transformer, from E and its last vectors, mean nothing.
    """
    headed = not names or any(name.startswith(tuple(head.values())) for name in names)
    settings |= task_heads.class_settings(f, "language" if headed else task_heads.head_of(f, names), classes["curve"])
    config = ModelConfig.of(
        kind="encoder", vocab_size=f.whole("vocab_size"), norm_placement="post", embedding_norm=True,
        head_transform=headed, unembedding_bias=headed,
        tied_embeddings=f.get("tie_word_embeddings", True) or not headed, end_of_text=None, **settings)
    d, e, tables = config.d_model, config.d_embedding, f"{base}embeddings."
    tensors = [entries.as_is(f"{tables}word_embeddings.weight", "E", config.vocab_size, e),
            *entries.norm(config, "embedding_norm", f"{tables}LayerNorm"),
            entries.without_first(f"{tables}position_embeddings.weight", "P", n_first, config.n_context, e),
            *usual_blocks(config, base + layers, block)]
    if config.embedding.n_token_types:
        tensors.append(entries.as_is(f"{tables}token_type_embeddings.weight", "T", config.embedding.n_token_types, e))
    if config.embedding.embedding_width:
        tensors += [entries.transposed(f"{base}embeddings_project.weight", "W_E", d, e),
                    entries.as_is(f"{base}embeddings_project.bias", "b_E", d)]
    tensors += task_heads.class_entries(config, classes["dense"], classes["out"])
    if not headed:
        return finished(config, tensors, base, head["unembedding"], besides=task_heads.ENCODERS)
    own_bias = f"{head['unembedding']}.bias"
    bias = own_bias if own_bias in names else head["bias"]
    tensors += [entries.transposed(f"{head['dense']}.weight", "W_H", e, d),
             entries.as_is(f"{head['dense']}.bias", "b_H", e), *entries.norm(config, "head_norm", head["norm"]),
             entries.as_is(bias, "b_U", config.vocab_size)]
    return finished(config, tensors, base, head["unembedding"], tuple({own_bias, head["bias"]} - {bias}),
                    task_heads.ENCODERS)


def _bert_sizes(f: Fields, n_first: int = 0) -> dict:
    f.refuse(is_decoder=False, add_cross_attention=False, position_embedding_type="absolute")
    return dict(d_model=f.whole("hidden_size"), n_layers=f.layers("num_hidden_layers"),
                n_heads=f.whole("num_attention_heads"), d_ff=f.whole("intermediate_size"),
                n_context=f.whole("max_position_embeddings") - n_first, activation=f.activation("hidden_act", "gelu"),
                n_token_types=f.whole("type_vocab_size", default=2),
                norm_epsilon=f.number("layer_norm_eps", 1e-12))


def bert(f: Fields, names: Collection[str]) -> Plan:
    head = dict(dense="cls.predictions.transform.dense", norm="cls.predictions.transform.LayerNorm",
                bias="cls.predictions.bias", unembedding="cls.predictions.decoder")
    return _bert_like(f, names, "bert.", "encoder.layer.", BERT_BLOCK, head, task_heads.BERT_CLASSES,
                      **_bert_sizes(f))


def roberta(f: Fields, names: Collection[str]) -> Plan:
    """BERT with positions that begin after the padding token's, and a head that always has GELU; XLM-RoBERTa and
    CamemBERT are the same.
    """
    f.refuse(hidden_act="gelu")
    n_first = f.whole("pad_token_id", default=1) + 1
    head = dict(dense="lm_head.dense", norm="lm_head.layer_norm", bias="lm_head.bias", unembedding="lm_head.decoder")
    return _bert_like(f, names, "roberta.", "encoder.layer.", BERT_BLOCK, head, task_heads.ROBERTA_CLASSES, n_first,
                      **_bert_sizes(f, n_first))


def distilbert(f: Fields, names: Collection[str]) -> Plan:
    head = dict(dense="vocab_transform", norm="vocab_layer_norm", bias="vocab_projector.bias",
                unembedding="vocab_projector")
    return _bert_like(f, names, "distilbert.", "transformer.layer.", DISTILBERT_BLOCK, head,
                      task_heads.DISTILBERT_CLASSES, d_model=f.whole("dim", "hidden_size"),
                      n_layers=f.layers("n_layers", "num_hidden_layers"),
                      n_heads=f.whole("n_heads", "num_attention_heads"), d_ff=f.whole("hidden_dim"),
                      n_context=f.whole("max_position_embeddings"), activation=f.activation("activation", "gelu"),
                      norm_epsilon=1e-12)


def electra(f: Fields, names: Collection[str]) -> Plan:
    """BERT as two models, of which only the generator has a language head, always with GELU; the embeddings of its
    small models are narrower than the stream.
    """
    f.refuse(hidden_act="gelu")
    width = f.whole("embedding_size", default=128)
    head = dict(dense="generator_predictions.dense", norm="generator_predictions.LayerNorm",
                bias="generator_lm_head.bias", unembedding="generator_lm_head")
    return _bert_like(f, names, "electra.", "encoder.layer.", BERT_BLOCK, head, task_heads.ELECTRA_CLASSES,
                      embedding_width=width if width != f.whole("hidden_size") else 0, **_bert_sizes(f))


FAMILIES = (bert, roberta, distilbert, electra)
SAME = {"xlm-roberta": roberta, "camembert": roberta}      # families that differ in their tokenizers alone
