"""An agent of pydantic-ai in a DBOS workflow: `python -m tests.loop.durable_agent FOLDER [crash]`.

It says twice that it is done before it is; with `crash` the process dies in the fourth request.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from dbos import DBOS, SetWorkflowID, WorkflowHandleAsync
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.models.function import AgentInfo, FunctionModel

import planbound
from planbound.loop.pydantic_ai import PlanCapability

PLAN = {
    "objective": "Say hello",
    "steps": [{"title": "Write the greeting", "check": {"file_exists": {"path": "hello.txt"}}}],
}
FOLDER = Path(sys.argv[1])
WORKSPACE = FOLDER / "workspace"


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    del info
    count = sum(isinstance(message, ModelResponse) for message in messages)
    with (FOLDER / "requests").open("a") as file:
        file.write(f"{count}\n")
    if count == 0:
        return ModelResponse(parts=[ToolCallPart("plan_create", PLAN)])
    if count == 3:
        if "crash" in sys.argv:
            os._exit(9)
        (WORKSPACE / "hello.txt").write_text("hello\n")
    return ModelResponse(parts=[TextPart(f"done {count}")])


SESSION = planbound.open_session(str(WORKSPACE), session="durable")
DBOS(
    config={
        "name": "durable-agent",
        "system_database_url": f"sqlite:///{FOLDER}/dbos.sqlite",
        "application_version": "1",
        "log_level": "ERROR",
    }
)
AGENT = Agent(
    FunctionModel(model), name="worker", capabilities=[PlanCapability(SESSION), DBOSDurability()]
)


@DBOS.workflow()
async def work() -> str:
    return (await AGENT.run("Say hello.")).output


async def main() -> None:
    if not await DBOS.list_workflows_async():
        with SetWorkflowID("one"):
            await DBOS.start_workflow_async(work)
    handle: WorkflowHandleAsync[str] = await DBOS.retrieve_workflow_async("one")
    print(await handle.get_result())


if __name__ == "__main__":
    DBOS.launch()
    asyncio.run(main())
    print([step["function_name"] for step in DBOS.list_workflow_steps("one")])
    DBOS.destroy()
