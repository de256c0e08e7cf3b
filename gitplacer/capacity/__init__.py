"""Capacity snapshots on their way: where they are read from, and how they get there."""
