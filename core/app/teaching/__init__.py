"""Teaching on the wall: the bar of a class, its plan, its games, a class of one's own, a class that answers by phone.

Begin with live_class.py.
"""
