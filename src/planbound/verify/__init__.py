"""Static verification: one rule per file (pure).

Nothing is imported here: who only wants to know the roles does not pay for the rules.
"""
