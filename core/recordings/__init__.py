"""Figures that take long to measure: each is recorded once, kept in assets/teaching/, and shown by the app.

    python -m core.recordings NAME ...          records these again
    python -m core.recordings --stale           records again those whose weights, texts or code have changed

Begin with registry.py, the list of all recordings. assets/teaching/recordings.json tells when and from what each one
was made.
"""
