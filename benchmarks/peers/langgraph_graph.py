"""LangGraph with its SQLite checkpointer: one node in a loop, a checkpoint before each turn.

A chain of as many nodes as there are steps is slower; the loop is its better side.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from benchmarks.peers.stopwatch import Stopwatch


class State(TypedDict):
    """What goes from turn to turn."""

    done: int


def main(steps: int, folder: str) -> None:
    """Run the steps."""
    watch = Stopwatch()

    def work(state: State) -> State:
        watch.step()
        return {"done": state["done"] + 1}

    def after(state: State) -> str:
        return END if state["done"] == steps else "work"

    graph = StateGraph(State)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    graph.add_conditional_edges("work", after, ["work", END])
    database = sqlite3.connect(os.path.join(folder, "graph.db"), check_same_thread=False)
    application = graph.compile(checkpointer=SqliteSaver(database))
    settings = {"configurable": {"thread_id": "plan"}, "recursion_limit": steps + 2}
    application.invoke({"done": 0}, settings, durability="sync")
    watch.stop()
    database.close()
    watch.write(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
