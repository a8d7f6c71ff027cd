"""Fills in the answers of the official DataWeave engine.

    pip install dataweave-native==2.12.2
    python3 generate.py [FILE…]

A `.txt` file has one expression per line, followed by ` => ` and the engine's answer as JSON, or
`error`. Lines that begin with `#` are comments; `#import a::b` imports everything of a module for the
lines that follow. `scripts.json` holds whole scripts with their inputs. Expressions are ours; only
what stands behind the arrow comes from the engine. It runs in a process of its own with a time limit,
because a script that never ends cannot be interrupted.
"""

import json
import multiprocessing
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
SECONDS = 20


def worker(pipe):
    from dataweave import DataWeave, InputValue

    engine = DataWeave()
    engine.initialize()
    while True:
        script, inputs = pipe.recv()
        values = {name: InputValue(text, "application/json") for name, text in inputs.items()}
        result = engine.run(script, values)
        pipe.send(result.get_string() if result.success else None)


class Engine:
    def __init__(self):
        self.process = None

    def run(self, script, inputs):
        if self.process is None or not self.process.is_alive():
            self.pipe, other = multiprocessing.Pipe()
            self.process = multiprocessing.Process(target=worker, args=(other,), daemon=True)
            self.process.start()
        self.pipe.send((script, inputs))
        if not self.pipe.poll(SECONDS):
            self.process.kill()
            return None
        return self.pipe.recv()


def fill_lines(engine, path):
    out = []
    imports = []
    for line in path.read_text().splitlines():
        if line.startswith("#import "):
            imports.append("import * from " + line.removeprefix("#import ").strip())
        if not line.strip() or line.startswith("#"):
            out.append(line)
            continue
        expression = line.rsplit(" =>", 1)[0].rstrip()
        header = ["%dw 2.0", "output application/json indent=false", *imports, "---", expression]
        answer = engine.run("\n".join(header), {})
        out.append(f"{expression} => {'error' if answer is None else answer}")
    path.write_text("\n".join(out) + "\n")


def fill_scripts(engine, path):
    cases = json.loads(path.read_text())
    for case in cases:
        inputs = {name: json.dumps(value) for name, value in case.get("inputs", {}).items()}
        answer = engine.run("\n".join(case["script"]), inputs)
        case["expect"] = "error" if answer is None else json.loads(answer)
    path.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")


def main():
    engine = Engine()
    given = [pathlib.Path(name) for name in sys.argv[1:]]
    for path in given or sorted([*HERE.glob("*.txt"), *HERE.glob("*.json")]):
        print(path.name, flush=True)
        (fill_scripts if path.suffix == ".json" else fill_lines)(engine, path)


if __name__ == "__main__":
    main()
