"""Tokens with a meaning of their own, beside the one that ends a text."""
from __future__ import annotations

from dataclasses import dataclass

from core.model.record import Record


@dataclass(frozen=True)
class SpecialTokens(Record):
    """Ids of the vocabulary."""

    begin_of_text: int | None = None      # the token every sequence begins with, if it is not end_of_text
    end_tokens: tuple[int, ...] = ()      # further tokens that end a text, such as the one that ends a turn
    mask_token: int | None = None         # the token that stands for a blank to fill in; None: the model knows none
    never_written: tuple[int, ...] = ()   # tokens that no translation has, however probable they are

    def named(self) -> list[tuple[str, int]]:
        """Each id with the name of its setting."""
        named = [("begin_of_text", self.begin_of_text), ("mask_token", self.mask_token),
                 *(("end_tokens", token_id) for token_id in self.end_tokens),
                 *(("never_written", token_id) for token_id in self.never_written)]
        return [(name, token_id) for name, token_id in named if token_id is not None]
