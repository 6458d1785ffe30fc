"""The course: the lessons in order, what each lecture needs of them, a class of fifty minutes, the glossary, and
sheets to print.
"""
from pages.course import views

views.draw()
