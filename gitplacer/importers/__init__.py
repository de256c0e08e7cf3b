"""
Coming from another scheduler: its files in, a fleet repo out, and a report that accounts for every line.

Each importer is a pure function from files to files and a report. What they share is here: `foreign` reads a folder of
somebody else's manifests, with variables filled; `reader` remembers which fields were understood; `report` says what became of each
thing; `overlaps` gives policies an order; `shelves` finds a place for manifests; `writing` writes our own kinds for people to read. One
package or module for each system that people come from.
"""
