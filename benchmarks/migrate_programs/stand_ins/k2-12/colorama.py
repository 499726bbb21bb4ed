"""No colours."""


class Fore:
    GREEN = BLUE = RESET = ""
