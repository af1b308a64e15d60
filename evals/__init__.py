"""`make evals`: what harnesses make of honest work and of tricks, on public exercises.

`evals/README.md` says which sets there are and how to get them.
"""
