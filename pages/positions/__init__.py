"""The views of the lesson "Positions", one file each."""
