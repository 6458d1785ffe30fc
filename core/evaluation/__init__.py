"""Measures of the quality of a decoder: a file for each subject, a function for each measure, results in frozen
records.

`python -m core.evaluation` prints them all.

Functions that take more than a second are iterators, so that a caller can show progress and stop. Every function
works on the device of its model.
"""
