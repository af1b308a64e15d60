"""The page: watch, understand and decide in a browser.

It shows the one fold of the journal, as every command does, and nothing that an agent feeds it.
What a person decides here goes through the same functions as on the command line.
"""
