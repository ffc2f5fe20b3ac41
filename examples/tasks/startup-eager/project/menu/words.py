"""`words TEXT`: how many there are."""


def run(arguments: list[str]) -> str:
    return str(len(arguments[0].split()))
