"""Client and workers for the Meantime workflow engine.

A *worker* does the tasks that workflows schedule::

    from meantime import Worker

    worker = Worker("http://127.0.0.1:8088")

    @worker.task("charge-card")
    async def charge(order, task):
        return {"receipt": f"r-{order['id']}"}

    worker.run()

A *client* starts workflows and talks to them::

    from meantime import Client

    client = Client("http://127.0.0.1:8088")
    instance = client.start("checkout", {"id": 7}, wait="PT10S")
"""

from .client import Client
from .errors import BpmnError, MeantimeError, NotJson, Problem, TaskFailed, Unavailable
from .task import Task
from .worker import Worker

__all__ = [
    "BpmnError",
    "Client",
    "MeantimeError",
    "NotJson",
    "Problem",
    "Task",
    "TaskFailed",
    "Unavailable",
    "Worker",
]
