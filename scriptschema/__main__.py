"""`python -m scriptschema`: see `cli.py`."""

from scriptschema.cli import main

main(prog_name="python -m scriptschema")
