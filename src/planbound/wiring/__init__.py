"""The one place where parts are put together."""
