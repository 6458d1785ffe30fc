"""What a decoder is worth, measured: one file a subject, a function a measure, each giving frozen records.

`python -m core.evaluation` prints all of it.

Whatever takes more than a second is an iterator, so that a caller can show how far it is and stop it. Every function
takes the model where it is, on any device.
"""
