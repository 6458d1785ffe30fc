"""The tour of a first visit: twelve short steps, each a prediction or a deed of the reader, and after it what the
model says.
"""
