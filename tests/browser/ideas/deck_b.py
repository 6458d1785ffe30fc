"""What is seen of lecture B, idea by idea."""
from __future__ import annotations


