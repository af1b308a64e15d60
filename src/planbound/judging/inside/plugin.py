"""The plugin of pytest: it writes down what becomes of each test."""

import sys

import pytest

import planbound.judging.inside.loading as watch

watch.change_rewriting()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    # All of them have to fail, not only the first.
    config.option.maxfail = 0
    config.option.stepwise = config.option.stepwise_skip = False
    config.option.tbstyle = "no"


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    watch.alone()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    found = sys.modules.get("hypothesis")
    if found is not None:
        # The first example that fails is enough.
        phases = [found.Phase.explicit, found.Phase.generate]
        found.settings.register_profile(watch.HOOK, phases=phases, database=None)
        found.settings.load_profile(watch.HOOK)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    watch.watch_modules()
    watch.begin(item.nodeid)
    yield
    watch.finish()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    watch.weigh()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        watch.ended(report.nodeid, "skipped" if hasattr(report, "wasxfail") else report.outcome)
