"""The fault lab: runs of tasks that really go wrong, one way each, and some that do not.

    with Lab(tmp_path) as lab:
        made = FAULTS["accepted, then silent"].make(lab)
        made.tape          # of the run; made.tapes: with those that follow it

Every fault is run, by the command line, against programs that misbehave: no tape is edited.
"""

from tests.journeys.faults.lab import Lab, Made
from tests.journeys.faults.plane_faults import FAULTS, Fault

__all__ = ["FAULTS", "Fault", "Lab", "Made"]
