"""Models that this program cannot read, recognised and refused by name: other forms of weights, quantised weights,
heads for other tasks, families that are built differently (other_families).
"""
import re
from collections.abc import Collection, Iterable, Mapping

from core.huggingface import other_families
from core.huggingface.errors import PretrainedError, short

ADAPTER = "adapter_config.json"
# the classes of transformers that read a model with its head, by the end of its architecture's name, in this order
READERS = {"WithLMHeadModel": "Seq2SeqLM", "ForConditionalGeneration": "Seq2SeqLM", "MTModel": "Seq2SeqLM",
           "LMHeadModel": "CausalLM", "ForCausalLM": "CausalLM", "ForMaskedLM": "MaskedLM",
           "ForPreTraining": "MaskedLM",
           "ForSequenceClassification": "SequenceClassification", "ForTokenClassification": "TokenClassification",
           "ForQuestionAnswering": "QuestionAnswering"}
# other forms of weights: the names of their files, and what they are
FORMS = ((r"\.onnx$", "ONNX, a graph of operations"),
         (r"^consolidated.*\.(safetensors|pth)$", "the form of its makers (consolidated), under names of its own"),
         (r"\.(h5|tflite)$", "TensorFlow's form"), (r"\.msgpack$", "Flax's form"),
         (r"\.safetensors$", "safetensors, but under names that are not transformers'"))
PIECES = re.compile(r"\.(model|spm)$")               # files of a SentencePiece tokenizer
PICKLED = re.compile(r"\.(bin|pt|pth|ckpt|pkl)$")

METHODS = {"gptq": "GPTQ", "awq": "AWQ", "bitsandbytes": "bitsandbytes", "fp8": "FP8", "mxfp4": "MXFP4",
           "compressed-tensors": "compressed-tensors"}

# the names of tensors that belong to a head for another task, and what such heads are for
OTHER_HEAD = re.compile(r"^(model\.)?((pre_)?classifier|classification_head|score|qa_outputs|v_head|value_head|"
                        r"reward_head|regression_head|logits_proj|multiple_choice_head|sequence_summary)\.")
TASKS = {"ForSequenceClassification": "to sort texts into classes", "ForTokenClassification": "to label every token",
         "ForQuestionAnswering": "to find answers in a text", "ForMultipleChoice": "to choose among answers",
         "DoubleHeadsModel": "to choose among answers"}

MADE_FROM = "Choose the model that it was made from."
# how to write weights of few bits in a plain format, if the model they were made from is not published; without
# save_original_format=False transformers writes the plain ones under the names of the others
MXFP4 = ("Write it once with plain weights, and use the folder that this makes: python -c \"from transformers import "
         "AutoModelForCausalLM as M, AutoTokenizer as T, Mxfp4Config as C; name, new = 'openai/gpt-oss-20b', "
         "'gpt-oss-20b-plain'; M.from_pretrained(name, quantization_config=C(dequantize=True), dtype='bfloat16')"
         ".save_pretrained(new, save_original_format=False); T.from_pretrained(name).save_pretrained(new)\". "
         "gpt-oss-20b takes 42 GB then, and here, as float32, 84 GB of memory; a smaller model with experts is "
         "allenai/OLMoE-1B-7B-0924.")


def unknown_family(values: Mapping[str, object], titles: Iterable[str]) -> PretrainedError:
    """The error for a model of a family that is not read: why, if known, and the nearest model that opens."""
    family = values.get("model_type")
    near = other_families.nearest(family)
    way = (f"The nearest that opens: {near}." if near else
           f"It knows {', '.join(titles)}: choose one of those.")
    if reason := other_families.reason(family):
        return PretrainedError("family", f"This program does not read models of the family {family!r}: one {reason}, "
                                         f"which it does not show. {way}")
    if values.get("auto_map"):
        return PretrainedError("family", f"This model comes with code of its own (auto_map in config.json, of the "
                                         f"family {family!r}), and this program runs none. {way}")
    return PretrainedError("family", f"This program does not know models of the family {family!r}. {way}")


def refuse_quantised(values: Mapping[str, object]) -> None:
    """Raise PretrainedError, with the method, for a model whose weights are stored in fewer bits."""
    name = next((name for name in ("quantization_config", "quantization", "compression_config") if values.get(name)),
                None)
    if name is None:
        return
    told = values[name] if isinstance(values[name], dict) else {}
    method = str(told.get("quant_method") or (
        "bitsandbytes" if told.get("load_in_4bit") or told.get("load_in_8bit") else ""))
    said = METHODS.get(method, method) or ("MLX" if name == "quantization" else f"{name} = {short(values[name])}")
    bits = f", {told['bits']} bits" if isinstance(told.get("bits"), int) else ""
    raise PretrainedError("architecture", f"The weights of this model are quantised ({said}{bits}), and this program "
                                          f"reads plain floating-point weights alone. "
                                          f"{MXFP4 if method == 'mxfp4' else MADE_FROM}")


def refuse_other_head(values: Mapping[str, object], names: Iterable[str]) -> None:
    """Raise PretrainedError for a model whose file has a head for another task than language.

    values: its config.json; names: its tensors.
    """
    heads = sorted({match[0].removesuffix(".") for match in map(OTHER_HEAD.match, names) if match is not None})
    if not heads:
        return
    published = _architecture(values)
    task = next((task for end, task in TASKS.items() if published.endswith(end)), "for another task than language")
    raise PretrainedError("architecture", f"This model was fine-tuned {task}, and has a head for that "
                                          f"({', '.join(heads)}){f', as {published}' if published else ''}. This "
                                          f"program reads models that tell words, or have no head. Choose the model "
                                          f"that it was made from.")


def no_weights(where: str, files: Collection[str], values: Mapping[str, object]) -> PretrainedError:
    """The error for a model without model.safetensors: why it is not read.

    where: its folder, or its name on the Hub; files: the names of its files, with those of the folders in it; values:
    its config.json.
    """
    if ADAPTER in files:
        return adapter(where)
    shards = [name for name in files if re.fullmatch(r"model-\d{5}-of-\d{5}\.safetensors", name)]
    if shards:
        return PretrainedError("incomplete", f"{where} holds weights in {len(shards)} parts without "
                                             f"model.safetensors.index.json, which says what is in each. Download the "
                                             f"model again; what is there already is kept.")
    pickled = sorted(name for name in files if PICKLED.search(name) and not name.startswith("consolidated")
                     and name != "training_args.bin" and "/" not in name)
    if pickled:
        return PretrainedError("format", f"{where} comes without safetensors: its weights are in {pickled[0]}, a "
                                         f"format that can run code when it is read, so this program does not. "
                                         f"Where you trust the model, convert it once, and use the folder that this "
                                         f"writes: {conversion(where, values)}{_besides(files)}")
    if file := gguf_file(files):
        return gguf(where, file)
    for name, form in FORMS:
        if file := next((file for file in sorted(files) if re.search(name, file)), None):
            return PretrainedError("format", f"{where} holds its weights as {form} ({file}). This program reads "
                                             f"transformers' model.safetensors alone: choose a version of the model "
                                             f"that comes with it.")
    return PretrainedError("incomplete", f"{where} holds no weights: there is neither model.safetensors nor "
                                         f"model.safetensors.index.json. Download the model again.")


def no_config(where: str, files: Collection[str]) -> PretrainedError | None:
    """The error for a folder, or a model on the Hub, without config.json, by its kind; None if its files do not show
    it.
    """
    if ADAPTER in files:
        return adapter(where)
    file = gguf_file(files)
    return gguf(where, file) if file else None


def gguf_file(files: Iterable[str]) -> str:
    """The first GGUF file among the names; "" if there is none."""
    return next((name for name in sorted(files) if name.lower().endswith(".gguf")), "")


def gguf(where: str, file: str) -> PretrainedError:
    """The error for a model of llama.cpp, with the command that converts it for transformers."""
    new = re.sub(r"\.gguf$", "", file.rsplit("/", 1)[-1], flags=re.IGNORECASE)
    command = (f'python -c "from transformers import AutoModelForCausalLM as M, AutoTokenizer as T; name, file, new = '
               f'{where!r}, {file!r}, {new!r}; m = M.from_pretrained(name, gguf_file=file); m.hf_quantizer = None; '
               f'del m.config.quantization_config; m.save_pretrained(new); T.from_pretrained(name, gguf_file=file)'
               f'.save_pretrained(new)"')
    return PretrainedError("format", f"{where} is a model of llama.cpp (GGUF, {file}), whose weights are mostly kept "
                                     f"in few bits, and this program reads transformers' model.safetensors. Best "
                                     f"choose the model that it was made from. Or convert this one once, with the "
                                     f"packages gguf and accelerate, and use the folder that this writes: {command}")


def adapter(where: str) -> PretrainedError:
    """The error for a folder with only the changes of a fine-tuning."""
    return PretrainedError("format", f"{where} is an adapter ({ADAPTER}: LoRA or the like), a small change "
                                     f"to another model, and no model by itself. Merge it into that one with peft "
                                     f"(merge_and_unload, then save_pretrained), or choose a whole model.")


def conversion(where: str, values: Mapping[str, object]) -> str:
    """The command that writes a model again as safetensors, with its tokenizer, by the class that keeps its head."""
    published = _architecture(values)
    reader = next((f"AutoModelFor{reader}" for end, reader in READERS.items() if published.endswith(end)), "AutoModel")
    new = f"{where.rstrip('/').rsplit('/', 1)[-1]}-safetensors"
    return (f'python -c "from transformers import {reader} as M, AutoTokenizer as T; name, new = {where!r}, {new!r}; '
            f'M.from_pretrained(name).save_pretrained(new); T.from_pretrained(name).save_pretrained(new)"')


def _besides(files: Collection[str]) -> str:
    """The packages that this command needs besides transformers and torch."""
    return " (it needs the packages sentencepiece and protobuf)" if any(map(PIECES.search, files)) else ""


def _architecture(values: Mapping[str, object]) -> str:
    named = values.get("architectures")
    return str(named[0]) if isinstance(named, list) and named else ""
