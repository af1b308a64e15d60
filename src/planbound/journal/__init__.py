"""Typed events in a chained log; leases."""
