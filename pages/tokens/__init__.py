"""The lesson "Tokens": merges played, ways to cut a text, BPE and Unigram learned live, the vocabulary."""
