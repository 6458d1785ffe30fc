"""Every formula under In numbers, in drawn states of its view's settings: true as it is written, and of the case that
its picture shows.
"""
