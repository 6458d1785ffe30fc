"""The kinds of model, for whoever needs no tensor: what is known of views is read before torch is."""
KINDS = ("decoder", "encoder", "encoder-decoder")
