"""`python -m core.training NAME` trains a bundled model again, by its recipe in core/training/recipes.py."""
from core.training.run import main

if __name__ == "__main__":
    main()
