"""The training programme with one more recipe, `pair`: small enough for a test that starts it in two processes by torchrun."""
from core import training
from core.config import ModelConfig
from core.corpus import read_documents
from core.recipes import RECIPES, Recipe, Stage, TrainingConfig
from core.tasks import LanguageModelling
from core.tokenizer import Tokenizer

PAIR = Recipe("pair", ModelConfig(vocab_size=300, d_model=8, n_layers=1, n_heads=1, n_context=16),
              (Stage(LanguageModelling((("text.txt", 1),), measured=("new.txt",)), TrainingConfig(steps=6, batch_size=5, learning_rate=1e-2, warmup_steps=1)),),
              tokenizer=lambda folder: Tokenizer.train(read_documents(folder / "text.txt"), 300))


def main(argv: list[str] | None = None) -> None:
    RECIPES[PAIR.name] = PAIR
    training.main(argv)


if __name__ == "__main__":
    main()
