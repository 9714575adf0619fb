"""`python -m tconv`."""

from __future__ import annotations

from tconv.cli import main

if __name__ == "__main__":
    main()
