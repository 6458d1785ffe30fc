"""Parts that the app needs before any model: prose files, the catalogue of lessons, the operator's settings, devices.

Begin with catalogue.py (the lessons) and prose.py (their texts).
"""
