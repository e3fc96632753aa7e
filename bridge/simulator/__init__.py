"""A phone with WhatsApp on it, spoken to through a real adb server: for the demo, for practice and for tests.

Everything the rest of the program learns about it, it learns over adb. What really happened on it (who was
written to, what was marked read, what was touched that should not be) is kept on `SimPhone` for whoever
checks.
"""
