"""`python -m numapin`: the same as the `numapin` command."""

from numapin.cli import main

main()
