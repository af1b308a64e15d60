"""What is wrong, and what nobody needs any more."""
