"""Codes that cannot be misread or guessed, and keys that nobody finds."""
from core.app.classroom import codes

ALIKE = ["0OQ", "1IL", "2Z", "5S", "8B", "6G", "UV", "AEIOU"]       # the last: what makes a word of letters


def test_no_two_letters_of_a_code_are_taken_for_each_other():
    for group in ALIKE:
        assert len(set(group) & set(codes.LETTERS)) <= (0 if group == "AEIOU" else 1), group
    assert len(set(codes.LETTERS)) == len(codes.LETTERS)


def test_codes_are_many_and_differ():
    found = {codes.new_code() for _ in range(500)}
    assert len(found) > 490 and all(codes.as_code(code) == code for code in found)
    assert set("".join(found)) == set(codes.LETTERS) and len(codes.LETTERS) ** codes.LENGTH > 40_000_000


def test_a_code_is_read_as_it_is_typed():
    code = codes.new_code()
    assert codes.as_code(f" {code[:2].lower()}-{code[2:].lower()} ") == code


def test_what_is_no_code_is_none():
    for written in ("", "KXM4", "KXM4T", "KXM4TTT", "KXM4TO", "'; --", "K" * 10_000, "ＫＸＭ４ＴＲ", "KXM4T\u0000"):
        assert codes.as_code(written) is None, written


def test_a_key_opens_what_it_was_made_for_and_nothing_else():
    key, other = codes.new_key(), codes.new_key()
    kept = codes.kept(key)
    assert codes.opens(key, kept) and not codes.opens(other, kept) and key not in kept
    assert not any(codes.opens(wrong, kept) for wrong in (None, 0, "", kept, [key], {"key": key}))
