"""`tconv backends`: the backends that are installed."""

from __future__ import annotations

import click

from tconv.backends import names
from tconv.errors import BackendMissing
from tconv.execution.pool import Pool
from tconv.execution.worker import Assignment


@click.command(name="backends")
def command() -> None:
    """Print the installed backends, their versions, the dialects that they speak, and the options that they have."""
    for name in names():
        try:
            with Pool(Assignment(name, None, None, ""), 1, 60.0) as pool:
                sums = ", ".join(f"{dtype} in {accumulator}" for dtype, accumulator in pool.backend.accumulates.items())
                accumulates = f"  accumulates {sums}" if sums else ""
                click.echo(f"{name}  {pool.backend.version}  {pool.dialect}{accumulates}")
                for option, meaning, default, allowed in pool.options:
                    click.echo(f"  --option {option}={default}  {meaning}: {allowed}")
        except BackendMissing as error:
            click.echo(f"{name}  not there: {error}")
