"""The known families of Hugging Face models: the ModelConfig of their config.json, and the names of their weights.

A family is a function from a config.json's Fields (and the names in its weight files, which alone show a few things) to
a Plan. Features that our Transformer lacks are refused by name, never ignored.
"""
from collections.abc import Callable, Collection

from core.huggingface import decoders, encoder_decoders, encoders, newer_decoders
from core.huggingface.errors import PretrainedError
from core.huggingface.fields import Fields, unsupported
from core.huggingface.plan import Plan

FAMILIES: dict[str, Callable[[Fields, Collection[str]], Plan]] = {family.__name__: family for family in (
    *decoders.FAMILIES, *newer_decoders.FAMILIES, *encoders.FAMILIES, *encoder_decoders.FAMILIES)}
TITLES = {"gpt2": "GPT-2", "opt": "OPT", "gpt_neox": "GPT-NeoX (Pythia)", "llama": "Llama", "mistral": "Mistral",
          "qwen2": "Qwen2", "qwen3": "Qwen3", "gemma": "Gemma", "phi": "Phi",
          "bert": "BERT", "roberta": "RoBERTa", "distilbert": "DistilBERT", "t5": "T5",
          "gemma3_text": "Gemma 3", "gemma2": "Gemma 2", "smollm3": "SmolLM3", "olmo": "OLMo", "olmo2": "OLMo 2",
          "phi3": "Phi-3 and Phi-4", "granite": "Granite", "cohere": "Command R", "cohere2": "Command R7B"}


def plan_of(values: dict, names: Collection[str]) -> Plan:
    """The plan for a model with this config.json and weights of these names.

    Raises PretrainedError for an unknown family or option.
    """
    family = values.get("model_type")
    if family not in FAMILIES:
        raise PretrainedError("family", f"This program does not know models of the family {family!r}. It knows "
                                        f"{', '.join(TITLES.values())}: choose one of those.")
    if values.get("quantization_config"):
        raise unsupported("quantised weights")
    try:
        return FAMILIES[family](Fields(values), names)
    except PretrainedError:
        raise
    except (ArithmeticError, ValueError, TypeError, AttributeError) as error:
        raise PretrainedError("config", f"config.json describes no model that can be built: {error} Fetch the original "
                                        f"file again.") from error
