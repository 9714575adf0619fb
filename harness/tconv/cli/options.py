"""Options that several commands take."""

from __future__ import annotations

from pathlib import Path

import click

from tconv.corpus.corpus import TIERS, TIERS_TO_FULL
from tconv.dialects import Dialect, dialect_named

cases = click.option(
    "--cases",
    type=click.Path(path_type=Path),
    default=None,
    help="A case file or a folder of them; default: tconv's own.",
)
tier = click.option("--tier", type=click.Choice(TIERS), default="gate", show_default=True, help="How much is run.")
tier_to_full = click.option(
    "--tier", type=click.Choice(TIERS_TO_FULL), default="gate", show_default=True, help="How much is looked at."
)
waivers = click.option(
    "--waivers", default=None, metavar="FILE|none", help="Known deviations; default: those that ship for the backend."
)
strict = click.option("--strict", is_flag=True, help="Accepting an invalid model is a failure.")
output = click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("reports"),
    show_default=True,
    help="The folder of records, artifacts and the page.",
)
junit = click.option(
    "--junit", "junit_file", type=click.Path(path_type=Path, dir_okay=False), default=None, help="Write JUnit XML too."
)


def dialect(name: str | None) -> Dialect | None:
    """Return the dialect that an option names; None for the backend's first.

    Raises:
        UsageError: no dialect has that name.
    """
    return None if name is None else dialect_named(name)
