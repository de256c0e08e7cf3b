"""
What is told of the controller: figures, lines, notices, events.

Each is an observer of turns (`controller.observing`). What there is to tell is found by pure functions (`figures`, `notices`, `logs`); who
sends it elsewhere does so in a thread of its own, with bounds (`courier`), so that no pass waits for whoever listens.
"""
