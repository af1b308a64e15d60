"""What is wrong with a plan, before anything runs.

Nothing is imported here: who only wants to know the roles does not pay for the rules.
"""
