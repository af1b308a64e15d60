"""Task lists of other tools, read into tasks and written as a draft in our language."""
