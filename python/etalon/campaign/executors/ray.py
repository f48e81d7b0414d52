# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ray: the cluster that RAY_ADDRESS names, or workers on this machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from etalon.campaign.executors import worker
from etalon.campaign.executors.cluster import Cluster, WorkerLost
from etalon.campaign.executors.worker import Answer, Task


class Ray(Cluster):
    """An executor over Ray's tasks."""

    NAME = "ray"
    DESCRIPTION = "the Ray cluster of RAY_ADDRESS, or worker processes on this machine"
    MODULES = ("ray",)

    @contextmanager
    def open(self, jobs: int) -> Iterator[RayPool]:
        """Joins the cluster, or starts one of `jobs` processes; one that this process has joined already stays open."""
        import ray

        if ray.is_initialized():
            yield RayPool()
            return
        address = os.environ.get("RAY_ADDRESS")
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if address:
            ray.init(address=address, **quiet)
        else:
            ray.init(address="local", num_cpus=jobs, include_dashboard=False, **quiet)
        try:
            yield RayPool()
        finally:
            ray.shutdown()


class RayPool:
    """The workers of the Ray cluster that this process has joined; a handle is a reference to an object."""

    def __init__(self) -> None:
        import ray

        # Deaths are counted here, so that Ray need not count them too.
        self.perform = ray.remote(max_retries=0)(worker.perform)

    def submit(self, task: Task) -> Any:
        """Queues a task."""
        return self.perform.remote(task)

    def answer(self, handle: Any) -> Answer | None:
        """What came of a task, None while it is not over."""
        import ray
        from ray import exceptions

        ready, _ = ray.wait([handle], timeout=0)
        if not ready:
            return None
        try:
            answer: Answer = ray.get(handle)
        except exceptions.RayTaskError:
            raise  # the function's own, which would fail again
        except exceptions.RayError as error:
            raise WorkerLost(str(error).partition("\n")[0]) from error
        return answer

    def cancel(self, handle: Any) -> None:
        """Drops a task, also one that runs."""
        import ray

        ray.cancel(handle, force=True)
