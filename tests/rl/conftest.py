"""One thread of torch: the suite runs on all cores as it is, and more threads would wait for each other."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
