"""Deploys a flow, does its task, and prints the result.

Start a server with `meantime dev`, then `python3 examples/greeter.py [URL]`.
"""

import asyncio
import sys

from meantime import Client, Worker

FLOW = """
let greeting = await Task.run("greet", { name: Inputs.name })
return greeting
"""


async def main(url: str) -> None:
    worker = Worker(url, poll=5)

    @worker.task("greet")
    async def greet(input):
        return f"Hello, {input['name']}!"

    client = Client(url)
    client.deploy(FLOW, name="greeter")
    working = asyncio.create_task(worker.work())
    instance = await asyncio.to_thread(client.start, "greeter", {"name": "Ada"}, wait="PT10S")
    print(instance["output"])
    worker.stop()
    await working
    client.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8088"))
