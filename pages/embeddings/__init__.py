"""The lesson Embeddings: what each of its views shows, says in numbers and asks."""
