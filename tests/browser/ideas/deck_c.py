"""What is seen of lecture C, idea by idea."""
from __future__ import annotations


