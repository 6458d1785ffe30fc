"""The formulas that may stand beside a picture which has none of their numbers, by view and label, and why."""

ENTRY = "an entry of a large array, in which any number would be found: cases.py says which"
STEP = "a step or a sum of its own, worked out from what the picture shows; the arithmetic is checked"
SIZES = "sizes, counts or constants, which the picture has as words, as lengths or not at all"
EDGE = "in some states only: all of its numbers are 0, 1 or short, or the array is a large one"

_EACH = {
    "overview": {ENTRY: "numbers_embed"},
    "tokens/merges": {EDGE: "numbers_rate"},
    "tokens/methods": {EDGE: "numbers_compression"},
    "tokens/unigram": {STEP: "numbers_word"},
    "tokens/vocabulary": {EDGE: "numbers_utf8"},
    "tokens/train": {STEP: "numbers_word"},
    "embeddings/neighbours": {STEP: "neighbours_numbers_dot neighbours_numbers_cosine neighbours_numbers_distance"},
    "embeddings/product": {ENTRY: "product_numbers_one product_numbers_row product_numbers_length"},
    "embeddings/map": {ENTRY: "map_numbers_place"},
    "embeddings/arithmetic": {ENTRY: "arithmetic_numbers_sum"},
    "positions/symmetry": {ENTRY: "symmetry_numbers_row", EDGE: "symmetry_numbers_largest"},
    "positions/waves": {EDGE: "waves_entries waves_residual waves_step"},
    "positions/rotary": {STEP: "rotary_numbers_pair"},
    "positions/learned": {ENTRY: "learned_numbers_sum learned_numbers_product learned_numbers_before"},
    "positions/biases": {STEP: "bias_numbers_weight bias_numbers_relative",
                         EDGE: "bias_numbers_slope bias_numbers_score"},
    "positions/beyond": {SIZES: "beyond_numbers_relative"},
    "attention/scaling": {STEP: "scaling_numbers_gradient"},
    "attention/roles": {STEP: "roles_numbers_pair roles_numbers_parts roles_numbers_share roles_numbers_alike "
                              "roles_numbers_effect roles_numbers_condition roles_numbers_same roles_numbers_logits",
                        SIZES: "roles_numbers_all roles_numbers_factorial roles_numbers_logits_relabelled"},
    "attention/averages": {ENTRY: "numbers_length", STEP: "numbers_bend_average numbers_bend_output"},
    "heads/change": {EDGE: "numbers_change numbers_change_part"},
    "residual_stream/lens": {ENTRY: "numbers_lens numbers_lens_p"},
    "residual_stream/patching": {ENTRY: "numbers_patch_share",
                                 STEP: "numbers_patch_here numbers_patch_there numbers_patch_exchanged"},
    "residual_stream/block": {ENTRY: "numbers_block_sum numbers_block_out"},
    "residual_stream/mlp": {ENTRY: "numbers_neuron"},
    "residual_stream/norms": {STEP: "numbers_added", EDGE: "numbers_norm numbers_change"},
    "residual_stream/norm": {EDGE: "numbers_mean numbers_batch_stat numbers_same_cell numbers_component"},
    "residual_stream/cut": {EDGE: "numbers_kl numbers_alike"},
    "next_token": {ENTRY: "numbers_tied numbers_scaled numbers_softmax numbers_entropy", EDGE: "numbers_interval_miss"},
    "generation/beam": {SIZES: "numbers_compared"},
    "generation/cache": {SIZES: "numbers_bytes"},
    "language_models/guess": {STEP: "numbers_upper numbers_lower"},
    "language_models/tasks": {EDGE: "numbers_right"},
    "language_models/toy": {STEP: "numbers_toy_likelihood"},
    "language_models/table": {SIZES: "numbers_table_slide numbers_table_entries numbers_table_parameters"},
    "language_models/decipher": {SIZES: "numbers_keys numbers_unicity"},
    "training/forcing": {STEP: "numbers_text", SIZES: "numbers_uniform"},
    "training/backprop": {STEP: "numbers_backprop_first numbers_backprop_loss"},
    "training/live": {SIZES: "numbers_parameters numbers_adam numbers_sgd numbers_momentum numbers_state "
                             "numbers_floor"},
    "training/childhood": {STEP: "numbers_prompt_then"},
    "training/tuning": {STEP: "numbers_masked_before numbers_masked_now numbers_margin numbers_answer_price "
                              "numbers_answer_probability", SIZES: "numbers_adapters"},
    "training/instructions": {STEP: "numbers_collections", EDGE: "numbers_template numbers_turn"},
    "training/schedules": {EDGE: "numbers_middle numbers_warmup"},
    "training/packing": {EDGE: "numbers_ratio"},
    "training/kepler": {STEP: "numbers_left numbers_directions"},
    "architectures/kinds": {STEP: "numbers_prefix_loss", EDGE: "numbers_kinds_kl"},
    "architectures/blank": {STEP: "blank_numbers_class"},
    "architectures/translate": {STEP: "translate_numbers_score translate_numbers_weight"},
    "architectures/norms": {STEP: "norms_numbers_joined norms_numbers_share", EDGE: "norms_numbers_rms "
                                                                                   "norms_numbers_layer"},
    "architectures/experts": {STEP: "experts_numbers_share", SIZES: "experts_numbers_active",
                              EDGE: "experts_numbers_weight"},
    "architectures/hardware": {SIZES: "numbers_pass_mlp numbers_pass_scores numbers_roofline_square "
                                      "numbers_roofline_size numbers_array_ticks numbers_array_tpu"},
    "architectures/record": {STEP: "numbers_cheaper numbers_modification_weights numbers_days numbers_power "
                                    "numbers_best numbers_training_own numbers_rate numbers_energy numbers_flat "
                                    "numbers_video"},
    "recurrence/unrolled": {STEP: "numbers_rnn numbers_gate_lstm_i numbers_gate_lstm_f numbers_gate_lstm_g "
                                  "numbers_gate_lstm_o numbers_gate_gru_r numbers_gate_gru_u", EDGE: "numbers_gru_h"},
    "recurrence/gradient": {STEP: "numbers_keep", EDGE: "numbers_gradient numbers_bound numbers_rate numbers_gates "
                                                        "numbers_lstm numbers_attention"},
    "recurrence/serial": {STEP: "numbers_mean numbers_untrained", SIZES: "numbers_crossing"},
    "recurrence/copy": {SIZES: "numbers_chance numbers_sizes"},
    "recurrence/bottleneck": {SIZES: "numbers_vectors"},
    "limits/facts": {STEP: "numbers_said"},
    "limits/memory": {SIZES: "numbers_ids numbers_weights numbers_packed numbers_left"},
    "limits/calibration": {STEP: "numbers_ece numbers_chance", EDGE: "numbers_log_loss numbers_gap"},
    "limits/inputs": {STEP: "numbers_gradient numbers_complete numbers_spearman numbers_slope "
                            "numbers_difference_of", EDGE: "numbers_replaced"},
    "limits/meaning": {STEP: "numbers_item"},
    "limits/context": {SIZES: "numbers_context_bits numbers_crossing", STEP: "numbers_probe_bits numbers_probe_sum"},
    "limits/structure": {SIZES: "numbers_typical"},
}
# view -> label -> reason
BESIDE = {view: {label: reason for reason, labels in reasons.items() for label in labels.split()}
          for view, reasons in _EACH.items()}
