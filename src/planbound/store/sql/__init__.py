"""The journal in SQL: migrations in their order, rows, queries, and where a record goes."""
