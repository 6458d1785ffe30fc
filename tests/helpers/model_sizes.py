"""Sizes of the small Hugging Face models of the tests, which their families share."""
N_TOKENS, N_SOURCE = 23, 31
SIZES = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
             max_position_embeddings=40)
GROUPED = SIZES | dict(num_key_value_heads=2)
GPT2 = dict(vocab_size=61, n_embd=24, n_layer=2, n_head=3, n_positions=40)
OPT = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, ffn_dim=40,
           max_position_embeddings=40, word_embed_proj_dim=24)
BERT = SIZES | dict(pad_token_id=0)
T5 = dict(vocab_size=61, d_model=24, d_kv=8, d_ff=40, num_layers=2, num_decoder_layers=3, num_heads=4,
          decoder_start_token_id=0, relative_attention_num_buckets=8, relative_attention_max_distance=12)
LLAMA3 = dict(rope_type="llama3", rope_theta=500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=16)
