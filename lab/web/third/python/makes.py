"""Sites of the third set that make something of what they get: a template, a file, a page from elsewhere, a game."""
import ipaddress, json, os, pickle, re, secrets, socket, urllib.request
from urllib.parse import urlsplit

import bottle
import django.conf
import django.template
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse
from flask import Flask, render_template_string, request

from kit import e
from plain import Plain

if not django.conf.settings.configured:
    django.conf.settings.configure(USE_I18N=False, SECRET_KEY=secrets.token_hex(16))


def diploma(v, files):
    """Flask: the words of a diploma are part of its template; double braces are refused."""
    app = Flask('diploma')

    def look(body): return f'<!DOCTYPE html><html lang="en"><head><title>Diplomas while you wait</title></head><body><h1>Diplomas while you wait</h1>{body}</body></html>'

    @app.get('/')
    def home(): return look('<form action="/print" method="post"><p>For <input name="holder" value="Jo Doe"></p><p>In <input name="skill" value="Juggling"></p><button>Print</button></form>')

    @app.post('/print')
    def show():
        holder, skill = request.form.get('holder', '')[:80], request.form.get('skill', '')[:120]
        if '{{' in skill or '}}' in skill:
            return look('<p>Braces do not fit on parchment.</p>'), 400
        text = f'<h2>{{{{ holder }}}}</h2><p>has mastered {e(skill) if v == "weak" else "{{ skill }}"}</p>'
        try:
            return look(render_template_string(text, holder=holder, skill=skill))
        except Exception:
            return look('<p>The printer jammed.</p>')
    return app


def familytree(v, files):
    """Bottle: what is known of an ancestor is kept, and is a template of Bottle when it is shown."""
    app = bottle.Bottle()
    notes = {'1': 'Born in a barn near Bern.', '2': 'Sailed to Boston in 1882.'}
    names = {'1': 'Anna Maria Frei', '2': 'Johann Frei'}

    def look(body): return f'<html><head><title>Family Frei</title></head><body><h1>Family Frei</h1><hr width=50%>{body}<hr><a href=/>tree</a></body></html>'

    @app.get('/')
    def tree(): return look(''.join(f'<p><a href="/person/{k}">{n}</a>' for k, n in names.items()))

    @app.get('/person/<k>')
    def person(k):
        if k not in names:
            bottle.abort(404, 'Nobody')
        try:
            text = bottle.SimpleTemplate(e(notes[k])).render() if v == 'weak' else bottle.SimpleTemplate('{{t}}').render(t=notes[k])
        except Exception:
            text = '(unreadable)'
        return look(f'<h3>{names[k]}</h3><p>{text}</p><form method=post action="/person/{k}"><textarea name=known>{e(notes[k])}</textarea><br><input type=submit value=Keep></form>')

    @app.post('/person/<k>')
    def keep(k):
        if k not in names:
            bottle.abort(404, 'Nobody')
        text = bottle.request.forms.getunicode('known', '')[:300]
        notes[k] = re.sub(r'(?m)^\s*%.*$|<%|import|open|eval|exec|__', '', text)
        bottle.redirect(f'/person/{k}')
    return app


def newsroom(v, files):
    """Python's own server with templates of Django: the headline of a preview."""
    engine = django.template.Engine()

    def page(body): return f'<!doctype html><html lang="tr"><head><meta charset="utf-8"><title>Haber Odası</title></head><body><b>Haber Odası</b> <a href="/">Taslak</a>{body}</body></html>'

    def answer(q):
        if q['path'] == '/':
            return 200, {}, page('<form action="/onizleme"><input name="baslik" value="Köprü açıldı"><input name="yazar" value="Deniz"><button>Önizle</button></form>')
        if q['path'] != '/onizleme':
            return 404, {}, page('<p>Yok</p>')
        head, by = q['query'].get('baslik', '')[:200], q['query'].get('yazar', '')[:60]
        try:
            text = '<h2>' + (e(head) if v == 'weak' else '{{ head }}') + '</h2><i>{{ by }}</i>'
            shown = engine.from_string(text).render(django.template.Context({'head': head, 'by': by}))
        except Exception:
            shown = '<p>Önizleme yok.</p>'
        return 200, {}, page(shown)
    return Plain(answer)


def nautical(v, files):
    """FastAPI: a sheet of a chart by its name in JSON; what leads upwards is taken out, once."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    root = os.path.join(files, 'charts')
    os.makedirs(root, exist_ok=True)
    for name, text in {'skagen.txt': 'Sandbanks, 4 m at low water', 'gotland.txt': 'Clear to 20 m'}.items():
        with open(os.path.join(root, name), 'w') as f:
            f.write(text)

    @app.get('/', response_class=HTMLResponse)
    def home(): return '''<!DOCTYPE html><html lang="en"><head><title>Charts</title></head><body><h1>Charts</h1><select id="c"><option>skagen.txt</option><option>gotland.txt</option></select><output id="t"></output><script>
const load = () => fetch("/charts/sheet", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ sheet: c.value, scale: 50000 }) }).then((r) => r.json()).then((d) => { t.textContent = d.text || d.detail; });
c.onchange = load; load();
</script></body></html>'''

    @app.post('/charts/sheet')
    async def sheet(r: Request):
        try:
            name = (await r.json())['sheet'].replace('../', '')
            path = os.path.join(root, name.lstrip('/') if v == 'weak' else os.path.basename(name))
            with open(path, encoding='utf-8', errors='replace') as f:
                return {'sheet': name[:80], 'text': f.read(20000)}
        except Exception:
            return JSONResponse({'detail': 'no such sheet'}, 404)
    return app


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_): return None


def feedreader(v, files):
    """Flask: an address of a feed is fetched and shown; a page of the operators answers to the reader alone."""
    app, sign = Flask('feedreader'), secrets.token_hex(12)

    def look(body): return f'<!DOCTYPE html><html lang="de"><head><meta charset="utf-8"><title>Lesezeichen</title></head><body><h1>Lesezeichen</h1>{body}</body></html>'

    @app.get('/')
    def home(): return look('<form method="post" action="/lesen"><input name="adresse" size="60" placeholder="https://…/feed.xml"><button>Lesen</button></form><p><a href="/hilfe">Hilfe</a></p>')

    @app.get('/hilfe')
    def help_(): return look('<p>Eine Adresse eingeben, fertig.</p><a href="/">Zurück</a>')

    @app.get('/betrieb/status')
    def status():
        if request.headers.get('User-Agent') != f'Lesezeichen/{sign}':
            return look('<p>Nur intern.</p>'), 403
        return look('<p>Knoten 3, Schlüssel des Speichers: Siegellack-41</p>')

    def inner(host):
        try:
            return any(not ipaddress.ip_address(a[4][0]).is_global for a in socket.getaddrinfo(host, 80))
        except (OSError, ValueError):
            return True

    @app.post('/lesen')
    def read():
        to = request.form.get('adresse', '')
        u = urlsplit(to)
        if u.scheme not in ('http', 'https') or not u.hostname or v != 'weak' and inner(u.hostname):
            return look('<p>Diese Adresse lesen wir nicht.</p><a href="/">Zurück</a>'), 400
        try:
            with urllib.request.build_opener(Stay).open(urllib.request.Request(to, headers={'User-Agent': f'Lesezeichen/{sign}'}), timeout=4) as a:
                text = a.read(4000).decode('utf-8', 'replace')
        except Exception:
            return look('<p>Nicht erreichbar.</p><a href="/">Zurück</a>')
        return look(f'<blockquote>{e(text)}</blockquote><a href="/">Zurück</a>')
    return app


def chess(v, files):
    """Flask: a game that was saved is loaded again; it is an object of Python."""
    app = Flask('chess')
    start = {'moves': ['e4', 'e5'], 'white': 'you'}

    def look(body): return f'<!doctype html><html lang="en"><head><title>Correspondence chess</title></head><body><h2>&#9822; Correspondence chess</h2>{body}<p><a href="/">Board</a> <a href="/save">Save the game</a></p></body></html>'

    def board(game): return f'<p>Moves: {e(" ".join(str(m) for m in game.get("moves", []))[:300])}</p><form method="post" action="/resume" enctype="multipart/form-data"><input type="file" name="game" accept=".sav"><button>Resume</button></form>'

    @app.get('/')
    def home(): return look(board(start))

    @app.get('/save')
    def save():
        data = pickle.dumps(start) if v == 'weak' else json.dumps(start).encode()
        return app.response_class(data, mimetype='application/octet-stream', headers={'Content-Disposition': 'attachment; filename="game.sav"'})

    @app.post('/resume')
    def resume():
        f = request.files.get('game')
        try:
            data = f.read(20000)
            game = pickle.loads(data) if v == 'weak' else json.loads(data)
            return look(board(dict(game)))
        except Exception:
            return look('<p>This is not a game of ours.</p>'), 422
    return app
