"""Sites of the fourth set that show what was typed: in an attribute, after a filter of handlers, and in a list of names."""
import re

from flask import Flask, redirect, request

from kit import e


def tapas(v, files):
    """What was searched for stands in an attribute in single quotes, which stay as they are."""
    app = Flask('tapas')
    dishes = ['patatas bravas', 'croquetas', 'pimientos de Padrón', 'boquerones']

    def show(s): return s.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;').replace('"', '&quot;') if v == 'weak' else e(s)

    def look(q, body):
        return f"""<!DOCTYPE html><html lang='es'><head><meta charset='utf-8'><title>Tapas y más</title></head><body><header class='masthead'><a href='/'>Tapas y más</a>
<form action='/carta' method='get'><input type='search' name='plato' value='{show(q)}' placeholder='¿Qué te apetece?'><select name='orden'><option value='precio'>precio</option></select><button>Buscar</button></form></header><ul>{body}</ul></body></html>"""

    @app.get('/')
    def home(): return look('', '<li><a href="/carta?plato=croquetas&amp;orden=precio">La más pedida</a></li>')

    @app.get('/carta')
    def menu():
        q = request.args.get('plato', '')[:150]
        return look(q, ''.join(f'<li>{d}</li>' for d in dishes if q.lower() in d.lower()))
    return app


def campfire(v, files):
    """Stories by the fire: scripts and handlers are taken out, but not every spelling of a handler."""
    app, told = Flask('campfire'), ['The <b>bear</b> only wanted the jam.']

    def clean(s): return re.sub(r'(?i)</?script[^>]*>|\bon\w+=|javascript:', '', s) if v == 'weak' else e(s)

    def look(body): return f'<!doctype html><html lang="en-CA"><head><meta charset="utf-8"><title>Campfire</title></head><body class="tw-bg-black"><h1>Campfire stories</h1>{body}</body></html>'

    @app.get('/')
    def home():
        return look(''.join(f'<blockquote>{s}</blockquote>' for s in told) + '<a href="/tell">Tell one</a>')

    @app.get('/tell')
    def ask(): return look('<form method="post" action="/tell"><textarea name="story" maxlength="200"></textarea><input name="teller" value="Anon"><button>Tell</button></form>')

    @app.post('/tell')
    def tell():
        story = request.form.get('story', '').strip()[:200]
        if story:
            told[:] = told[:1] + told[1:][-25:] + [clean(story)]
        return redirect('/')
    return app
