"""The training programme with one more recipe, `pair`: small enough for a test that starts it in two
processes by torchrun.
"""
from core.model.config import ModelConfig
from core.model.tokenizer import Tokenizer
from core.training import run
from core.training.corpus import read_documents
from core.training.language_modelling import LanguageModelling
from core.training.recipes import RECIPES, Recipe, Stage, TrainingConfig

PAIR = Recipe("pair", ModelConfig(vocab_size=300, d_model=8, n_layers=1, n_heads=1, n_context=16),
              (Stage(LanguageModelling((("text.txt", 1),), measured=("new.txt",)),
                     TrainingConfig(steps=6, batch_size=5, learning_rate=1e-2, warmup_steps=1)),),
              tokenizer=lambda folder: Tokenizer.train(read_documents(folder / "text.txt"), 300))


def main(argv: list[str] | None = None) -> None:
    RECIPES[PAIR.name] = PAIR
    run.main(argv)


if __name__ == "__main__":
    main()
