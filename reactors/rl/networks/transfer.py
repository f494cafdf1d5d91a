"""How do batches get to the device of a learner, and weights from there?

On a CPU they are there. To and from CUDA they go through pinned memory, on streams of their own: a batch is copied
while the learner's stream is busy with the one before, and the learner's stream never waits for weights to be copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from reactors.rl.replay.batch import Columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

CUDA: Any = torch.cuda  # not all of it has types


class Upload:
    """Arrays to tensors on a device; on the CPU they share their memory.

    On CUDA there are two sets of pinned buffers, which take turns: the third batch waits until the first is copied.

    >>> import numpy as np
    >>> Upload("cpu")({"reward": np.ones(2, np.float32)})
    {'reward': tensor([1., 1.])}
    """

    def __init__(self, device: str) -> None:
        self.device = torch.device(device)
        self.on_cuda = self.device.type == "cuda"
        if self.on_cuda:
            self.stream = CUDA.Stream(self.device)
            self.sets: list[tuple[dict[str, torch.Tensor], Any]] = [({}, CUDA.Event()) for _ in range(2)]
            self.turn = 0

    def __call__(self, arrays: Mapping[str, NDArray[Any]]) -> Columns[torch.Tensor]:
        """Tensors that the current stream may use."""
        sources = Columns({name: torch.from_numpy(array) for name, array in arrays.items()})
        return self.through_buffers(sources) if self.on_cuda else sources

    def through_buffers(self, sources: Mapping[str, torch.Tensor]) -> Columns[torch.Tensor]:
        """Pinned, and copied on a stream of its own, for which the current one waits."""
        buffers, copied = self.sets[self.turn]
        self.turn = 1 - self.turn
        copied.synchronize()
        found = Columns[torch.Tensor]()
        with CUDA.stream(self.stream):
            for name, source in sources.items():
                buffer = buffers.get(name)
                if buffer is None or buffer.shape != source.shape or buffer.dtype != source.dtype:
                    buffer = buffers[name] = torch.empty_like(source, pin_memory=True)
                buffer.copy_(source)
                found[name] = buffer.to(self.device, non_blocking=True)
            copied.record(self.stream)
        current = CUDA.current_stream(self.device)
        current.wait_event(copied)
        for each in found.values():
            each.record_stream(current)  # its memory is not used again before that stream is done with it
        return found


class Download:
    """A vector on a CUDA device to an array, by a pinned buffer and a stream of its own.

    The caller waits until the vector is what the current stream makes of it, and copied; the stream does not.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.stream = CUDA.Stream(device)
        self.copied = CUDA.Event()
        self.buffer = torch.empty(0)

    def __call__(self, vector: torch.Tensor) -> NDArray[np.float32]:
        """An array of its own."""
        if len(self.buffer) != len(vector):
            self.buffer = torch.empty(len(vector), dtype=vector.dtype, pin_memory=True)
        self.stream.wait_stream(CUDA.current_stream(self.device))
        with CUDA.stream(self.stream):
            self.buffer.copy_(vector, non_blocking=True)
            self.copied.record(self.stream)
        self.copied.synchronize()
        found: NDArray[np.float32] = self.buffer.numpy().copy()
        return found
