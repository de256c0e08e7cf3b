"""
Which machines an autoscaler should add for a gang, so that they cost least.

`cost` says what "least" means, `greedy` opens machines one after another and is never far off, `patterns` says what one
machine takes at most, `exact` looks for the best set of machines and knows when there is no better, and `limits` says what
stands in the way where none will do.
"""
