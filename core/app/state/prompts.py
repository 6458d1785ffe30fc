"""The prompts that are offered, and a typed one as it is kept."""
from core.app.base import deployment, prose


def default_prompt() -> str:
    return example_prompts()[0]


def example_prompts() -> tuple[str, ...]:
    """The good prompts of assets/text, one a line, `\\n` for a new line."""
    return tuple(line.replace("\\n", "\n") for line in prose.load("app").section("prompts").splitlines()
                 if line.strip())


def clean_prompt(typed: str) -> str:
    """A typed or pasted text as it is kept: line ends as \\n, its last characters, as many as are allowed."""
    most = deployment.current().prompt_characters
    return typed[-2 * most:].replace("\r\n", "\n").replace("\r", "\n")[-most:]
