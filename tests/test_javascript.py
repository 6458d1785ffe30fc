"""The tests of JavaScript that need no page: tests/js, run by node."""
from tests.helpers import javascript


def test_javascript():
    javascript.run_tests(javascript.PROJECT / "tests" / "js")
