"""What each Python of a contract loads in its cell, while judges are tried with other values.

The harness itself runs only `equalities`. It joins the texts of the others to one module that is
laid into the cell, with `settings` of its own; so they import each other by name, need nothing but
an old Python, and have names that do not collide.
"""
