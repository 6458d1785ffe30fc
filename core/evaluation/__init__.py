"""Measures of how good a decoder is: a file for each subject, a function for each measure, results in frozen records.

`python -m core.evaluation` prints all of it.

Whatever takes more than a second is an iterator, so that a caller can show how far it is and stop it. Every function
takes the model where it is, on any device.
"""
