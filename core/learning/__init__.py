"""Trainings and fits that a reader watches: small tasks, recurrent cells, fine-tuning, schedules, an orbit.

Begin with learner.py, the training loop that yields its progress.
"""
