"""The plan language: parse, edit, repair, digest.

Nothing is imported here: a module and the function that it is named for would hide each other.
"""
