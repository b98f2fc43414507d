"""Serves the challenges in Python: LAB_FLOWS says which, in which variant, on which port. Weak on purpose; loopback only."""
import importlib, logging, os, threading

import bottle
import uvicorn
from fastapi import FastAPI
from werkzeug.serving import make_server

MODULES = [importlib.import_module(m) for m in ('access', 'sqls', 'inject', 'fronts', 'trust', 'blog')]
logging.disable(logging.CRITICAL)


def serve(name, variant, port):
    files = os.path.join(os.environ['LAB_FILES'], f'{name}-{variant}')
    os.makedirs(files, exist_ok=True)
    make = next(getattr(m, name) for m in MODULES if getattr(getattr(m, name, None), '__module__', '') == m.__name__)
    app = make(variant, files)
    if isinstance(app, FastAPI):
        return uvicorn.Server(uvicorn.Config(app, '127.0.0.1', port, log_level='critical', access_log=False)).run
    return make_server('127.0.0.1', port, app, threaded=True).serve_forever


bottle.debug(False)
runs = [threading.Thread(target=serve(*one.split(':')[:2], int(one.split(':')[2]))) for one in os.environ['LAB_FLOWS'].split()]
for t in runs:
    t.start()
for t in runs:
    t.join()
