"""What the app needs before any model: prose files, the catalogue of lessons, the operator's settings,
devices, addresses.

Begin with catalogue.py (which lessons there are) and prose.py (where their text comes from).
"""
