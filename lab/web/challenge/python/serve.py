"""Serves the sites of a set in Python: LAB_SET says of which, LAB_FLOWS which, in which variant, on which port. Weak on purpose; loopback only."""
import importlib, logging, os, sys, threading

import bottle
import uvicorn
from fastapi import FastAPI
from werkzeug.serving import make_server

HERE = os.path.join(os.environ['LAB_SET'], 'python')
sys.path.insert(0, HERE)
MODULES = [importlib.import_module(m[:-3]) for m in sorted(os.listdir(HERE)) if m.endswith('.py') and m not in ('kit.py', 'serve.py')]
logging.disable(logging.CRITICAL)


def serve(name, variant, port):
    files = os.path.join(os.environ['LAB_FILES'], f'{name}-{variant}')
    os.makedirs(files, exist_ok=True)
    make = next(getattr(m, name) for m in MODULES if getattr(getattr(m, name, None), '__module__', '') == m.__name__)
    app = make(variant, files)
    if isinstance(app, FastAPI):
        return uvicorn.Server(uvicorn.Config(app, '127.0.0.1', port, log_level='critical', access_log=False)).run
    if hasattr(app, 'server'):  # of the standard library
        return app.server(port).serve_forever
    return make_server('127.0.0.1', port, app, threaded=True).serve_forever


bottle.debug(False)
runs = [threading.Thread(target=serve(*one.split(':')[:2], int(one.split(':')[2]))) for one in os.environ['LAB_FLOWS'].split()]
for t in runs:
    t.start()
for t in runs:
    t.join()
