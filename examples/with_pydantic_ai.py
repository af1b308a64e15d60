"""An agent of pydantic-ai that is held to its plan; a function is in the place of the model.

Runs offline, with the extra `planbound[model]`: `python examples/with_pydantic_ai.py`.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import planbound
from planbound.loop.pydantic_ai import PlanCapability

PLAN = {
    "objective": "Say hello",
    "steps": [{"title": "Write the greeting", "contract": "grep -qx hello hello.txt"}],
}
WORDS = ["All done!", "Really done, trust me.", "The greeting is written."]


def main() -> None:
    """Let an agent say twice that it is done before it is."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "workspace")
        folder.mkdir()
        os.environ["PLANBOUND_STATE"] = str(Path(scratch, "state"))

        def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            del info
            turn = sum(isinstance(message, ModelResponse) for message in messages)
            if turn == 0:
                return ModelResponse(parts=[ToolCallPart("plan_create", PLAN)])
            if turn == len(WORDS):
                (folder / "hello.txt").write_text("hello\n")
            print(f"it says: {WORDS[turn - 1]}")
            return ModelResponse(parts=[TextPart(WORDS[turn - 1])])

        session = planbound.open_session(str(folder))
        agent = Agent(FunctionModel(model), capabilities=[PlanCapability(session)])
        result = agent.run_sync("Say hello in hello.txt.")
        print(f"the run returns: {result.output}")
        for event in session.call("plan_log").text.splitlines():
            print(f"  {event.split()[1]}")


if __name__ == "__main__":
    main()
