"""Skips that a gate allows: with `--strict-skips` any other skip fails the session.

A gate that is green because its tests were skipped holds nothing. What a machine has to have, as
root, an engine with the image, QEMU and shells, `make test` gets or names.
"""

import pytest

OPTION = "--strict-skips"

ALLOWED = {
    "make lowest has not run": "`make lowest` downloads 2 GB",
    "the box serves where the kernel has no netem": "a kernel with netem tests the other half",
    "with the box alone, packets are seen between": "a kernel with netem tests the other half",
    "this kernel has not loaded the congestion control": "not every kernel is built with each",
    "needs a kernel with": "not every kernel is built with each congestion control",
}
"""The begin of the reason of a skip, and why it is no failure."""


class StrictSkips:
    """Collects the skips of a session, and fails it for those that nothing allows."""

    def __init__(self) -> None:
        self.unexpected: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._note(report)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unexpected and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.unexpected:
            terminalreporter.section(f"skips that {OPTION} does not allow", red=True)
            for line in self.unexpected:
                terminalreporter.line(line)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        _, _, why = report.longrepr if isinstance(report.longrepr, tuple) else ("", 0, "")
        reason = why.removeprefix("Skipped: ")
        if not reason.startswith(tuple(ALLOWED)):
            self.unexpected.append(f"{report.nodeid}: {reason}")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option, for tests/conftest.py."""
    parser.addoption(OPTION, action="store_true", help="fail if a test is skipped that need not be")


def pytest_configure(config: pytest.Config) -> None:
    """Watch the session if asked to; of several processes the one that reports."""
    if config.getoption(OPTION) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(StrictSkips(), "strict-skips")
