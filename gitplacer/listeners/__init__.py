"""
Three listeners of the controller, each of which is off unless it is asked for: webhooks, probes with metrics, and the report.

Each has an address of its own, because each is for others: webhooks come from the internet, probes from the node and the monitoring, and the report is
for whoever may see the fleet. `serving` bounds what a connection may cost; who sent a webhook is found before a byte of it is read as
anything (`signatures`), and what it says is never more than a reason to look (`payloads`).
"""
