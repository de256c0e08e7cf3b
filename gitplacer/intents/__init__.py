"""
What somebody wants of the fleet, as changes to its source: consent to a move, an app that is to pause.

Commands make them, and whoever reviews the commit or the patch sees all there is. Nothing here decides or deploys anything.
"""
