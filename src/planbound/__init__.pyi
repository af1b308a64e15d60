# What is loaded when it is first asked for, as type checkers see it.
from planbound.loop import Accept as Accept
from planbound.loop import Capped as Capped
from planbound.loop import Ending as Ending
from planbound.loop import FinalizationGate as FinalizationGate
from planbound.loop import IncompletePlan as IncompletePlan
from planbound.loop import Reject as Reject
from planbound.loop import Session as Session
from planbound.loop import Silent as Silent
from planbound.loop import Told as Told
from planbound.loop import Verifier as Verifier
from planbound.loop import gate as gate
from planbound.loop import instructions as instructions
from planbound.loop import open_session as open_session
from planbound.loop import run_gated as run_gated
from planbound.loop import tools as tools

__version__: str
