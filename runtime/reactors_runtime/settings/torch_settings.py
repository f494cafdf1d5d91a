"""Which settings of torch decide values?

Its default dtype, how exact products are, and which kernels it may choose hold for a process. Whether gradients are
recorded, autocast, the default device, and whether the smallest numbers are flushed to zero are a thread's own. What a
version of torch does not have is left out, and what is as it is wanted is not set again.
"""

from __future__ import annotations

import sys
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

_CALLS = {  # what asks, what sets
    "get_default_dtype": "set_default_dtype",
    "get_deterministic_debug_mode": "set_deterministic_debug_mode",
    "get_float32_matmul_precision": "set_float32_matmul_precision",
    "backends.mha.get_fastpath_enabled": "backends.mha.set_fastpath_enabled",
    "backends.cuda.flash_sdp_enabled": "backends.cuda.enable_flash_sdp",
    "backends.cuda.mem_efficient_sdp_enabled": "backends.cuda.enable_mem_efficient_sdp",
    "backends.cuda.math_sdp_enabled": "backends.cuda.enable_math_sdp",
    "backends.cuda.cudnn_sdp_enabled": "backends.cuda.enable_cudnn_sdp",
}
_ATTRIBUTES = (  # general ones before those that are had from them
    "backends.fp32_precision",
    "backends.cuda.matmul.fp32_precision",
    "backends.cudnn.fp32_precision",
    "backends.cudnn.conv.fp32_precision",
    "backends.cudnn.rnn.fp32_precision",
    "backends.mkldnn.matmul.fp32_precision",
    "backends.mkldnn.conv.fp32_precision",
    "backends.mkldnn.rnn.fp32_precision",
    "backends.cuda.matmul.allow_tf32",
    "backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
    "backends.cuda.matmul.allow_bf16_reduced_precision_reduction",
    "backends.cudnn.allow_tf32",
    "backends.cudnn.enabled",
    "backends.cudnn.benchmark",
    "backends.cudnn.deterministic",
    "backends.mkldnn.enabled",
    "backends.mkldnn.deterministic",
    "backends.opt_einsum.enabled",
    "backends.opt_einsum.strategy",
    "backends.quantized.engine",
    "utils.deterministic.fill_uninitialized_memory",
)
_DEVICES = ("cpu", "cuda")

State = dict[str, Any]


def now(torch: ModuleType) -> tuple[State, State]:
    """Those of the process, and those of this thread."""
    return _of_process(torch), _of_thread(torch)


def accept(torch: ModuleType, wanted: tuple[State, State]) -> None:
    """Make them this process's, and this thread's."""
    of_process, _ = wanted
    for name, value in of_process.items():
        if _asked(torch, name) == value:  # by now: some are set by others
            continue
        if name in _CALLS:
            attrgetter(_CALLS[name])(torch)(value)
        else:
            owner, _, attribute = name.rpartition(".")
            setattr(attrgetter(owner)(torch), attribute, value)
    accept_in_thread(torch, wanted)


def accept_in_thread(torch: ModuleType, wanted: tuple[State, State]) -> None:
    """Make those of a thread this one's, to its end."""
    _, state = wanted
    before = _of_thread(torch)
    if state["gradients"] != before["gradients"]:
        torch.set_grad_enabled(state["gradients"])
    if state["device"] != before["device"]:
        torch.set_default_device(state["device"])
    for device, (dtype, cached) in state["autocast"].items():
        if device not in before["autocast"]:
            torch.autocast(device, dtype=dtype, cache_enabled=cached).__enter__()
    if state["denormals"] != before["denormals"]:
        torch.set_flush_denormal(not state["denormals"])


def _of_process(torch: ModuleType) -> State:
    return {name: value for name in (*_CALLS, *_ATTRIBUTES) if (value := _asked(torch, name)) is not None}


def _of_thread(torch: ModuleType) -> State:
    return {
        "gradients": torch.is_grad_enabled(),
        "device": str(torch.get_default_device()),
        "autocast": {
            device: (torch.get_autocast_dtype(device), torch.is_autocast_cache_enabled())
            for device in _DEVICES
            if torch.is_autocast_enabled(device)
        },
        "denormals": sys.float_info.min / 2 > 0,
    }


def _asked(torch: ModuleType, name: str) -> Any:
    try:
        found = attrgetter(name)(torch)
        return found() if name in _CALLS else found
    except (AttributeError, RuntimeError):  # RuntimeError: the older of two names for what was set by the newer
        return None
