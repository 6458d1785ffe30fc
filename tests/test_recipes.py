"""The recipes: what the settings of a run mean, and what every bundled model is trained with."""
import math

import pytest

from core.recipes import RECIPES, TrainingConfig


# Settings

def test_learning_rate_by_hand():
    config = TrainingConfig(steps=100, learning_rate=1.0, warmup_steps=9)
    assert config.learning_rate_at(0) == pytest.approx(0.1)
    assert config.learning_rate_at(4) == pytest.approx(0.5 * 0.5 * (1 + math.cos(0.04 * math.pi)))
    assert config.learning_rate_at(50) == pytest.approx(0.5)
    assert config.learning_rate_at(100) == pytest.approx(0.0)


def test_minutes_bring_the_end_of_the_schedule_forward():
    config = TrainingConfig(steps=1000, minutes=10, learning_rate=1.0, warmup_steps=0)
    assert config.learning_rate_at(100, seconds=300) == pytest.approx(0.5)
    assert config.progress(100, 300) == 0.5 and config.progress(700, 300) == 0.7 and config.progress(1, 601) == 1.0


@pytest.mark.parametrize("wrong", [dict(steps=0), dict(minutes=0), dict(learning_rate=-1), dict(warmup_steps=-1), dict(precision="int8"), dict(clip_norm=math.nan)])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError):
        TrainingConfig(**wrong)
