"""How plans come to be: drafted or imported."""
