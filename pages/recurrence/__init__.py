"""The views of the lesson "From recurrence to attention", one file each."""
