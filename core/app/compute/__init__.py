"""Parts that readers share: caches, results that grow, the queue of long jobs, turns on a device, the model library.

Begin with cache.py; turns.py and queue.py say who computes when.
"""
