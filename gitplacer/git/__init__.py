"""Reading and writing Git: objects, never a checkout; one push that is a compare-and-swap."""
