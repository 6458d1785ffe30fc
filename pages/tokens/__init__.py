"""The lesson "Tokens": the merges of BPE, ways to tokenize a text, live training of BPE and Unigram, the vocabulary."""
