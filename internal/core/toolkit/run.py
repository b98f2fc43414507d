# Loads the tool, hands it its input and writes its output after the mark.
import asyncio, inspect, json, os, sys, traceback

asked = json.load(sys.stdin)
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
if os.path.isdir("/packages"):
    sys.path.insert(0, "/packages")
try:
    space = {"__name__": "tool"}
    for name in ("init_code.py", "tool.py"):
        with open("/tool/" + name, encoding="utf-8") as file:
            exec(compile(file.read(), name, "exec"), space)
    if not callable(space.get("run")):
        raise NameError("The tool has no function run.")
    output = space["run"](asked["input"])
    if inspect.isawaitable(output):
        async def wait(it):
            return await it
        output = asyncio.run(wait(output))
    answer = json.dumps({"output": output})
except BaseException:
    answer = json.dumps({"error": traceback.format_exc()[-1900:]})  # its end says what it was
sys.stdout.flush()
out.write(asked["mark"] + answer)
out.flush()
os._exit(0)
