"""The prompts that are offered, and the cleaning of a typed one."""
from core.base import deployment, prose


def default_prompt() -> str:
    return example_prompts()[0]


def example_prompts() -> tuple[str, ...]:
    """The good prompts of assets/text, one a line, `\\n` for a new line."""
    return tuple(line.replace("\\n", "\n") for line in prose.load("app").section("prompts").splitlines()
                 if line.strip())


def clean_prompt(typed: str) -> str:
    """A typed or pasted text in the form that is kept: line ends as \\n, and only the last characters that are allowed.
    """
    most = deployment.current().prompt_characters
    return typed[-2 * most:].replace("\r\n", "\n").replace("\r", "\n")[-most:]
