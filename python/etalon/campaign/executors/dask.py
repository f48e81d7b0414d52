# SPDX-License-Identifier: MIT OR Apache-2.0
"""Dask: the cluster whose scheduler DASK_SCHEDULER_ADDRESS names, or workers on this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from etalon.campaign.executors import worker
from etalon.campaign.executors.cluster import Cluster, WorkerLost
from etalon.campaign.executors.worker import Answer, Task
from etalon.errors import EtalonError


class Dask(Cluster):
    """An executor over Dask's distributed scheduler."""

    NAME = "dask"
    DESCRIPTION = "the Dask cluster of DASK_SCHEDULER_ADDRESS, or worker processes on this machine"
    MODULES = ("distributed",)

    @contextmanager
    def open(self, jobs: int) -> Iterator[DaskPool]:
        """Joins the cluster, or starts one of `jobs` processes."""
        import dask
        from distributed import Client, LocalCluster

        if address := dask.config.get("scheduler-address", None):
            with _joined(address) as client:
                yield DaskPool(client)
            return
        # Deaths are counted here, so that the scheduler need not count them too.
        settings = {"distributed.scheduler.allowed-failures": 0}
        with (
            dask.config.set(settings),
            LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.ERROR,
            ) as workers,
            Client(workers, set_as_default=False) as client,
        ):
            yield DaskPool(client)


def _joined(address: str) -> Any:
    """A client of the scheduler at this address; what Dask logs while it tries is left out, the error says it."""
    from distributed import Client

    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        return Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise EtalonError(f"the Dask scheduler at {address} cannot be reached: {error}") from None
    finally:
        logger.setLevel(level)


class DaskPool:
    """The workers of a Dask cluster; a handle is a future."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def submit(self, task: Task) -> Any:
        """Queues a task."""
        return self.client.submit(worker.perform, task, pure=False)

    def answer(self, handle: Any) -> Answer | None:
        """What came of a task, None while it is not over."""
        from distributed import CancelledError, KilledWorker
        from distributed.comm import CommClosedError

        if not handle.done():
            return None
        try:
            answer: Answer = handle.result()
        except (KilledWorker, CancelledError, CommClosedError) as error:
            raise WorkerLost(str(error)) from error
        finally:
            handle.release()
        return answer

    def cancel(self, handle: Any) -> None:
        """Drops a task."""
        handle.cancel()
