"""The views of the lesson "Residual stream", one file each."""
