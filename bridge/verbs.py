"""The commands of the phone and its rounds."""

import click


def add(group: click.Group) -> None:
    """Join the command line."""
