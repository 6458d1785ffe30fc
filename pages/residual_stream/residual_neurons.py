"""The feed-forward part at one token: the curve that its neurons' inputs go through, every neuron's activation, and what some of them promote. See residual_neurons.js."""
from __future__ import annotations

from core.components.lib.token_view import token_view

residual_neurons = token_view("residual_neurons", __file__)
