"""`python -m scriptschema`: see `cli.py`."""

from scriptschema.cli import main

if __name__ == "__main__":  # worker processes import this module under another name
    main(prog_name="python -m scriptschema")
