"""Run the command-line program with `python -m scriptschema`: see `commands/main.py`."""

from scriptschema.commands.main import run

if __name__ == "__main__":  # worker processes import this module under another name
    run()
