"""Several processes that train one model together, each on its share of every batch, by torch.distributed; `torchrun`
starts them.

Source: Li et al. 2020, "PyTorch Distributed". Without torchrun there is one process, and the methods change nothing.
"""
from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass

import torch
from torch import distributed, nn


@dataclass(frozen=True)
class ProcessGroup:
    """This process in a group that trains together: its rank, 0 to size − 1, and its device.

    Only rank 0 writes files.
    """

    rank: int = 0
    size: int = 1
    device: torch.device = torch.device("cpu")

    @classmethod
    def join(cls, device: str) -> ProcessGroup:
        """Join the group that torchrun's environment names, with one GPU for each process; without torchrun, the
        process is alone.
        """
        size = int(os.environ.get("WORLD_SIZE", 1))
        if size == 1:
            return cls(device=torch.device(device))
        if device == "cuda":
            device = f"cuda:{os.environ['LOCAL_RANK']}"
            torch.cuda.set_device(device)
        distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
        return cls(distributed.get_rank(), size, torch.device(device))

    def leave(self) -> None:
        if self.size > 1:
            distributed.destroy_process_group()

    @property
    def writes(self) -> bool:
        return self.rank == 0

    def share(self, batch):
        """This process's rows of a batch, a dataclass of arrays: every size-th row, starting at its rank.

        Raises ValueError for fewer rows than processes.
        """
        if any(len(array) < self.size for array in vars(batch).values()):
            raise ValueError(f"A batch has fewer rows than the {self.size} processes that share it; take a larger "
                             f"batch or fewer processes.")
        return dataclasses.replace(batch, **{name: array[self.rank::self.size] for name, array in vars(batch).items()})

    def parallel(self, module: nn.Module) -> nn.Module:
        """The module, with gradients that are averaged over the processes."""
        return nn.parallel.DistributedDataParallel(module) if self.size > 1 else module

    def mean(self, *values: float) -> tuple[float, ...]:
        """Each value averaged over the processes, identical to the bit in all of them."""
        if self.size == 1:
            return values
        total = torch.tensor(values, dtype=torch.float64, device=self.device)
        distributed.all_reduce(total)
        return tuple((total / self.size).tolist())

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in at least one process."""
        return self.mean(float(flag))[0] > 0

    def wait(self) -> None:
        """Wait until every process has called this."""
        if self.size > 1:
            distributed.barrier()


ALONE = ProcessGroup()
