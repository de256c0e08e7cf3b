"""The source repo as values: its files, the objects in them, and the groups they form."""
