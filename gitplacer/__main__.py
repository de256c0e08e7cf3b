"""`python -m gitplacer`."""

from gitplacer.cli import program

program()
