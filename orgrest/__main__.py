"""``python -m orgrest``."""

from orgrest.cli import main

if __name__ == "__main__":
    main()
