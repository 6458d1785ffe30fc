"""What is trained or fitted while a reader watches: small tasks, recurrent cells, fine-tuning, schedules, an orbit.

Begin with learner.py, the training loop that gives back every step.
"""
