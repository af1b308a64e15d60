"""What runs inside a cell, before the command does."""
