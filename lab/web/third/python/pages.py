"""Sites of the third set that show what was typed, each behind another filter."""
import json, re
from urllib.parse import parse_qs

import bottle
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from flask import Flask, redirect, request

from kit import e
from plain import Plain


def dictionary(v, files):
    """An Irish dictionary takes words of scripts away, once."""
    app, weak = Flask('dictionary'), v == 'weak'
    words = {'cat': 'cat', 'madra': 'dog', 'teach': 'house', 'bóthar': 'road'}

    def look(title, body):
        return f'''<!DOCTYPE html><html lang="ga"><head><meta charset="utf-8"><title>{title}</title><style>dt{{font-weight:bold}}</style></head>
<body><header><a href="/">Foclóir Beag</a></header><form action="/sainmhiniu" role="search"><input type="search" name="focal" placeholder="focal"><button>Cuardaigh</button></form><dl>{body}</dl></body></html>'''

    @app.get('/')
    def home(): return look('Foclóir Beag', ''.join(f'<dt><a href="/sainmhiniu?focal={w}">{w}</a></dt>' for w in words))

    @app.get('/sainmhiniu')
    def define():
        word = request.args.get('focal', '')
        shown = re.sub(r'(?i)script|on\w+\s*=|javascript:', '', word) if weak else e(word)
        return look('Sainmhíniú', f'<dt>{shown}</dt><dd>{words.get(word, "Ní bhfuarthas an focal seo.")}</dd>')
    return app


def lostfound(v, files):
    """Bottle: what was found in trains is listed; some tags are refused."""
    app, weak = bottle.Bottle(), v == 'weak'
    found = ['Grey umbrella', 'One ski']

    def look(body):
        return f'''<html><body><div class=hd><b>Lost property office</b> / <a href=/>found</a> / <a href=/report>report</a></div><div class=bd>{body}</div></body></html>'''

    @app.get('/')
    def items(): return look('<ol>' + ''.join(f'<li>{i if weak else e(i)}' for i in found) + '</ol>')

    @app.get('/report')
    def ask(): return look('<form method=post action=/report>What <input name=thing size=40> Train <input name=train value="IC 704"> <input type=submit value=Report></form>')

    @app.post('/report')
    def report():
        thing = bottle.request.forms.getunicode('thing', '')[:150]
        if re.search(r'(?i)<\s*/?\s*(script|img|svg|iframe|body|object|embed|a|b|i|u|style|link|math|input|form|h\d)\b', thing):
            bottle.response.status = 400
            return look('<p>No tags, please.</p>')
        if thing.strip():
            found[:] = found[:2] + found[2:][-20:] + [thing]
        bottle.redirect('/')
    return app


def apartments(v, files):
    """Python's own server: a quarter of the town stands in a string of a script, and its quotes get a backslash."""
    weak = v == 'weak'
    flats = {'Alfama': 3, 'Graça': 1, 'Belém': 2}

    def look(body):
        return f'''<!doctype html><html lang="pt"><head><meta charset="utf-8"><title>Casas de Lisboa</title></head><body class="p-4"><h5>Casas de Lisboa</h5><ul class="pills"><li><a href="/">Início</a></li><li><a href="/mapa?bairro=Alfama">Mapa</a></li></ul>{body}</body></html>'''

    def answer(q):
        if q['path'] == '/':
            return 200, {}, look(''.join(f'<p><a href="/mapa?bairro={b}&amp;zoom=14">{b} ({n})</a></p>' for b, n in flats.items()))
        if q['path'] != '/mapa':
            return 404, {}, look('<p>Não encontrado</p>')
        where = q['query'].get('bairro', '')
        text = "'" + where.replace("'", "\\'").replace('<', '\\x3c').replace('\n', ' ').replace('\r', ' ') + "'"
        if not weak:
            text = json.dumps(where).replace('<', '\\u003c')
        return 200, {}, look(f'<div id="map"></div><script>var centro = {text}; document.getElementById("map").textContent = centro;</script>')
    return Plain(answer)


def seismo(v, files):
    """FastAPI: a remark of the page says what was asked; the end of a remark is taken out of it."""
    app, weak = FastAPI(docs_url=None, redoc_url=None, openapi_url=None), v == 'weak'
    quakes = [('Kermadec', 5.1), ('Crete', 4.4), ('Iquique', 6.0)]

    def look(body): return HTMLResponse(f'<!DOCTYPE html><html><head><title>Quakes today</title></head><body><table><caption>Quakes today</caption>{body}</table><form action="/near"><label>Near <input name="place"></label><label>Above <input name="min" value="4"></label><button>Show</button></form></body></html>')

    @app.get('/')
    def home(): return look(''.join(f'<tr><td><a href="/near?place={p}&amp;min=4">{p}</a></td><td>{m}</td></tr>' for p, m in quakes))

    @app.get('/near')
    def near(place: str = '', min: str = '4'):
        note = place.replace('-->', '') if weak else e(place).replace('--', '')
        rows = ''.join(f'<tr><td>{p}</td><td>{m}</td></tr>' for p, m in quakes if place.lower() in p.lower())
        return look(f'{rows}<!-- cache key: near/{note} --><tr><td>{e(place)}</td></tr>')
    return app


def scoreboard(v, files):
    """FastAPI: names of players in capitals."""
    app, weak = FastAPI(docs_url=None, redoc_url=None, openapi_url=None), v == 'weak'
    top = [('ZOE', 9120), ('MAX', 8800)]

    def look(body): return f'<!doctype html><html lang="en"><head><title>ARCADE</title></head><body style="background:#000;color:#0f0;font-family:monospace"><h1>HALL OF FAME</h1>{body}<p><a style="color:#0f0" href="/insert-coin">INSERT COIN</a></p></body></html>'

    @app.get('/', response_class=HTMLResponse)
    def home(): return look('<pre>' + '\n'.join(f'{s:6} {n if weak else e(n)}' for n, s in top) + '</pre>')

    @app.get('/insert-coin', response_class=HTMLResponse)
    def coin(): return look('<form method="post" action="/insert-coin"><p>YOUR NAME <input name="initials"></p><p>YOUR SCORE <input name="points" value="100"></p><button>SAVE</button></form>')

    @app.post('/insert-coin')
    async def save(r: Request):
        sent = parse_qs((await r.body()).decode('utf-8', 'replace'))
        initials, points = sent.get('initials', [''])[0], sent.get('points', ['0'])[0]
        score = int(points) if points.isdigit() and len(points) < 6 else 0
        top[:] = top[:2] + top[2:][-15:] + [(re.sub('(?i)<script', '', initials).upper()[:90], score)]
        return RedirectResponse('/', 303)
    return app


def allotment(v, files):
    """A wiki of gardeners: its links are checked for one spelling of a scheme."""
    app, weak = Flask('allotment'), v == 'weak'
    pages = {'compost': '# Compost\nTurn it *every* month. See [the rota](/wiki/rota).', 'rota': '# Rota\n**May**: plot 4\n[Home](/)'}

    def link(m):
        text, to = m.group(1), m.group(2)
        bad = 'javascript:' in to if weak else not re.match(r'(?:https?://|/(?!/))', to)
        return text if bad else f'<a href="{to}">{text}</a>'

    def render(text):
        text = e(text)
        text = re.sub(r'(?m)^# (.*)$', r'<h2>\1</h2>', text)
        text = re.sub(r'\[([^\]]*)\]\(([^)\s]*\)?)\)', link, text)
        text = re.sub(r'\*\*(.+?)\*\*', r'<strong>\1</strong>', text)
        return re.sub(r'\*(.+?)\*', r'<em>\1</em>', text).replace('\n', '<br>')

    def look(title, body): return f'<!DOCTYPE html><html lang="en-GB"><head><title>{title}</title></head><body><nav>{" ".join(f"<a href=/wiki/{p}>{p}</a>" for p in pages)}</nav><main>{body}</main></body></html>'

    @app.get('/')
    def home(): return look('Allotment wiki', '<p>All that we know about plots.</p>')

    @app.get('/wiki/<name>')
    def page(name):
        if name not in pages:
            return look('Nothing', '<p>Nobody has written this.</p>'), 404
        return look(name, render(pages[name]) + f'<p><a href="/wiki/{name}/edit">Edit</a></p>')

    @app.route('/wiki/<name>/edit', methods=['GET', 'POST'])
    def edit(name):
        if name not in pages:
            return look('Nothing', '<p>Nobody has written this.</p>'), 404
        if request.method == 'POST':
            pages[name] = request.form.get('source', '')[:1500]
            return redirect(f'/wiki/{name}')
        return look(name, f'<form method="post"><textarea name="source" rows="12" cols="70">{e(pages[name])}</textarea><br><button>Publish</button></form>')
    return app


def haiku(v, files):
    """Python's own server: an answer in JSON that says it is a page."""
    poems = {'frog': 'old pond / a frog leaps in / water', 'moth': 'lamp / a moth / the lamp'}

    def answer(q):
        if q['path'] == '/':
            return 200, {}, """<!doctype html><title>haiku</title><form id=f><input name=word value=frog><button>find</button></form><p id=p></p><script>
f.onsubmit=function(e){e.preventDefault();fetch("/find.json?word="+encodeURIComponent(f.word.value)).then(function(r){return r.json()}).then(function(d){p.textContent=d.poem||"none with "+d.word})}
</script><p><a href="/find.json?word=moth">as data</a>"""
        if q['path'] != '/find.json':
            return 404, {}, '<!doctype html><title>haiku</title><p>empty branch'
        word = q['query'].get('word', '')[:100]
        kind = 'text/html; charset=utf-8' if v == 'weak' else 'application/json'
        return 200, {'Content-Type': kind, **({} if v == 'weak' else {'X-Content-Type-Options': 'nosniff'})}, json.dumps({'word': word, 'poem': poems.get(word)}, ensure_ascii=False)
    return Plain(answer)
