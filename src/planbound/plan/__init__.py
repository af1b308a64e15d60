"""The plan language (pure): `parse.parse`, `parse.write`, `digest.digest`, `edit`, `model`.

Nothing is imported here: a module and the function that it is named for would hide each other.
"""
