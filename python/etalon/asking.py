# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs on emulated hosts ask for circuits, if the plan's schedule grants them on request (`schedule.kind = "asked"`)."""

from __future__ import annotations

import os
import select
from types import TracebackType

from etalon.arguments import checked
from etalon.errors import EtalonError

DEVICE = "/dev/circuits"
"""Where hosts ask (kernel/driver/circuits.h)."""
RANKS = "ETALON_RANKS"
"""The variable that names the racks of MPI's ranks."""
SENTENCE = 256
"""The longest answer."""


class Claim:
    """Requested circuits. They stay until the claim is closed, or its process ends.

    A `with` block closes it at its end.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._changed: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Waits until the circuits are up. Returns the number of circuits that changed.

        Args:
            timeout: seconds to wait at most, of the host's clock.

        Raises:
            EtalonError: if they are not up by then.
        """
        if self._changed is None:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            if not poll.poll(None if timeout is None else timeout * 1e3):
                raise EtalonError(f"the circuits are not up after {timeout} s")
            self._changed = int(os.read(self._descriptor, SENTENCE))
        return self._changed

    def keep(self) -> None:
        """Lets programs that this process starts, or becomes, keep the circuits too."""
        os.set_inheritable(self._descriptor, True)

    def close(self) -> None:
        """Gives the circuits back: they stay until another request needs their ports."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def __enter__(self) -> Claim:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@checked
def ask(*circuits: str, wait: bool = True) -> Claim:
    """Asks for circuits, in a program on an emulated host of the Linux engine.

    The controller treats the request like a job's: it grants the whole request, after `schedule.request`, when others hold or
    use no port that it needs. Circuits that change are then dark for `schedule.reconfiguration`.

    Args:
        circuits: like `"r0>r1"`, from rack 0 to rack 1; in a program with ranks also like `"0>1"`, from rank 0's rack to rank
            1's. No two may begin, or end, at the same rack.
        wait: whether to wait until all are up.

    Raises:
        EtalonError: for a malformed request, or if this is no emulated host.
    """
    if not circuits:
        raise EtalonError(
            "name circuits, such as 'r0>r1' (in quotes, or the shell takes > for a file)"
        )
    try:
        descriptor = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise EtalonError(
            "only programs on an emulated host of the Linux engine can ask for circuits "
            f"(etalon run --engine linux, exec, mpirun): {DEVICE}: {error.strerror}"
        ) from error
    claim = Claim(descriptor)
    try:
        ranks = os.environ.get(RANKS)
        os.write(descriptor, f"{f'ranks {ranks}' if ranks else ''}\n{' '.join(circuits)}".encode())
    except OSError as error:
        why = os.read(descriptor, SENTENCE).decode() or str(error)
        claim.close()
        raise EtalonError(why) from error
    if wait:
        try:
            claim.wait()
        except BaseException:
            claim.close()
            raise
    return claim
