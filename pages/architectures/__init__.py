"""The views of the lesson Architectures, one file each."""
