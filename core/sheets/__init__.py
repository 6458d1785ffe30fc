"""Exercises to print: what is asked, its solution, and the printed page.

Begin with exercises.py; the files *_print.py turn a sheet into HTML.
"""
