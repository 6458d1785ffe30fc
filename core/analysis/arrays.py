"""What a pass computed, as numpy has it."""
import numpy as np
from torch import Tensor


def to_numpy(tensor: Tensor) -> np.ndarray:
    """A tensor from any device as float64."""
    return tensor.detach().double().cpu().numpy()
