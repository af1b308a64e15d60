"""Cells: where agents and contracts run.

`host` starts a cell and reads its output. What is in `inside` runs in the cell's own processes:
a fresh interpreter without site-packages, so that no thread, lock or memory of the harness is
there when namespaces are made.
"""
