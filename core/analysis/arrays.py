"""The tensors of a pass as numpy arrays."""
import numpy as np
from torch import Tensor


def to_numpy(tensor: Tensor) -> np.ndarray:
    """A tensor from any device as float64."""
    return tensor.detach().double().cpu().numpy()
