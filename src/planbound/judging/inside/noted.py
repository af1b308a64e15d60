"""How a module is changed that was not loaded yet; processes that are watched load it, too."""


class Noted:
    """Changes a module right after it was loaded."""

    changes = {}  # noqa: RUF012 - it has no instances

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        change = cls.changes.pop(name, None)
        if change is None:
            return None
        import importlib.util

        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        real = spec.loader.exec_module

        def load(module):
            real(module)
            change(module)

        spec.loader.exec_module = load
        return spec
