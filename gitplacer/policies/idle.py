"""stub"""


def idle_policies(source, memo):
    return []
