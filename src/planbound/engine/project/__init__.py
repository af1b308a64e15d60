"""What a repository says of itself: in which languages it is written, and how it is tested."""

from planbound.engine.project.look import look
from planbound.engine.project.suite import Seen, Suite

__all__ = ["Seen", "Suite", "look"]
