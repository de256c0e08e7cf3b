"""The decision: which group goes where. Values in, values out; nothing here knows files or git."""
