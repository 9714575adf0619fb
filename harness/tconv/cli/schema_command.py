"""`tconv schema`: the JSON Schemas that ship with tconv."""

from __future__ import annotations

import click

from tconv import schemas


@click.command(name="schema")
@click.argument("kind", type=click.Choice(list(schemas.NAMED)))
@click.option("--path", "as_path", is_flag=True, help="Print where it is, for an editor or a validator.")
def command(kind: str, *, as_path: bool) -> None:
    """Print the JSON Schema of case files, waiver files or a line of record files.

    An editor that knows yaml-language-server completes and checks a file whose first line is

        # yaml-language-server: $schema=PATH

    with what --path prints.
    """
    path = schemas.NAMED[kind]
    click.echo(path if as_path else path.read_text(encoding="utf-8"), nl=as_path)
