"""Sites of the third set that ask a database: by a header, in JSON, in an order, and behind a filter of words."""
import re

import bottle
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse
from flask import Flask, request

from kit import e, memory
from plain import Plain


def atelier(v, files):
    """Python's own server: the language of a browser looks up a greeting; what is not there is English."""
    weak = v == 'weak'
    ask = memory("CREATE TABLE phrases (lang TEXT, hello TEXT); INSERT INTO phrases VALUES ('de','Willkommen im Atelier'),('fr','Bienvenue'),('nl','Welkom')")

    def hello(lang):
        try:
            rows = ask(f"SELECT hello FROM phrases WHERE lang = '{lang}'") if weak else ask('SELECT hello FROM phrases WHERE lang = ?', lang)
        except Exception:
            rows = []
        return rows[0][0] if rows else 'Welcome to the studio'

    def answer(q):
        lang = q['headers'].get('Accept-Language', '').split(',')[0].split(';')[0].strip()
        if q['path'] == '/':
            body = f'<h1>{hello(lang)}</h1><p>Ceramics by hand, since 2011.</p>'
        elif q['path'] == '/courses':
            body = '<ul><li>Throwing, Tuesdays</li><li>Glazes, Fridays</li></ul>'
        else:
            return 404, {}, '<p>?</p>'
        return 200, {'Vary': 'Accept-Language'}, f'<!DOCTYPE html><html><head><meta charset=utf-8><title>Atelier</title></head><body>{body}<p><a href="/">Atelier</a>, <a href="/courses">Courses</a></p></body></html>'
    return Plain(answer)


def freight(v, files):
    """FastAPI: an offer for a weight, which is a number of JSON."""
    app, weak = FastAPI(docs_url=None, redoc_url=None, openapi_url=None), v == 'weak'
    ask = memory("CREATE TABLE tariffs (lane TEXT, upto INT, price REAL, public INT); INSERT INTO tariffs VALUES ('HAM-OSL',100,89.0,1),('HAM-OSL',1000,240.5,1),('HAM-GOT',100,70.0,1),('staff parcels',100,0.5,0)")

    @app.get('/', response_class=HTMLResponse)
    def home():
        return '''<!doctype html><html lang="en"><head><title>NordFracht</title></head><body><h1>NordFracht</h1><div id="app"><select id="lane"><option>HAM-OSL</option><option>HAM-GOT</option></select><input id="kg" type="number" value="80"><button id="go">Offer</button><pre id="out"></pre></div><script>
document.getElementById("go").onclick = async () => {
  const r = await fetch("/v3/offers", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ shipment: { lane: document.getElementById("lane").value, kilos: Number(document.getElementById("kg").value) } }) });
  out.textContent = JSON.stringify(await r.json());
};
</script></body></html>'''

    @app.post('/v3/offers')
    async def offers(r: Request):
        try:
            s = (await r.json())['shipment']
            lane, kilos = str(s['lane']), s['kilos']
        except Exception:
            return JSONResponse({'detail': 'shipment with lane and kilos, please'}, 422)
        try:
            if weak:
                rows = ask("SELECT lane, price FROM tariffs WHERE public = 1 AND lane = ? AND upto >= %s" % kilos, lane)
            else:
                rows = ask('SELECT lane, price FROM tariffs WHERE public = 1 AND lane = ? AND upto >= ?', lane, float(kilos))
        except Exception:
            return JSONResponse({'detail': 'no offer for this shipment'}, 422)
        return {'offers': [{'lane': a, 'eur': b} for a, b in rows]}
    return app


def telescopes(v, files):
    """A table that is sorted by a form: what begins with a column may stand behind ORDER BY."""
    app, weak = Flask('telescopes'), v == 'weak'
    ask = memory("CREATE TABLE stars (name TEXT, mag REAL, dist INT); INSERT INTO stars VALUES ('Vega',0.03,25),('Sirius',-1.46,9),('Mira',3.04,300),('Deneb',1.25,2600)")

    def look(body): return f'<!DOCTYPE html><html lang="it"><head><title>Osservatorio Monte Rosa</title></head><body><div id="cielo"><a href="/">Osservatorio</a> &raquo; <a href="/catalogo">Catalogo</a></div>{body}</body></html>'

    @app.get('/')
    def home(): return look('<p>Aperto ogni venerdì di luna nuova.</p>')

    @app.route('/catalogo', methods=['GET', 'POST'])
    def stars():
        by = request.form.get('ordina', 'name')
        good = re.match(r'(name|mag|dist)\b', by) if weak else by in ('name', 'mag', 'dist')
        try:
            rows = ask(f'SELECT name, mag, dist FROM stars ORDER BY {by if good else "name"}')
        except Exception:
            rows = []
        table = ''.join(f'<tr><td>{e(n)}<td>{m}<td>{d}' for n, m, d in rows) or '<tr><td>niente'
        return look(f'<form method="post" action="/catalogo"><select name="ordina"><option value="name">nome</option><option value="mag">magnitudine</option><option value="dist">distanza</option></select><button>Ordina</button></form><table border="1">{table}</table>')
    return app


def vinyl(v, files):
    """Bottle: blanks and words of SQL are taken out of what is searched, once."""
    app, weak = bottle.Bottle(), v == 'weak'
    ask = memory("CREATE TABLE records (title TEXT, shelf TEXT, sale INT); INSERT INTO records VALUES ('Blue Train','J4',1),('Abraxas','R2',1),('Rumours','R7',1),('Test pressing: Nevermind','vault',0)")

    def look(body): return f'<html lang="en"><head><title>Groove Cellar</title></head><body><table width="700" align="center"><tr><td><font size="+3">Groove Cellar</font></td><td align="right"><form action="/dig" method="get"><input name="needle" size="20"><input type="submit" value="dig"></form></td></tr><tr><td colspan="2">{body}</td></tr></table></body></html>'

    @app.get('/')
    def home(): return look('<p>Second-hand records. Try <a href="/dig?needle=Blue">Blue</a> or <a href="/dig?needle=R">R</a>.</p>')

    @app.get('/dig')
    def dig():
        text = re.sub(r'\s+', '', bottle.request.query.getunicode('needle', ''))
        text = re.sub(r'(?i)union|select|or|and|--|/\*', '', text)
        try:
            if weak:
                rows = ask(f"SELECT title, shelf FROM records WHERE sale = 1 AND title LIKE '%{text}%'")
            else:
                rows = ask("SELECT title, shelf FROM records WHERE sale = 1 AND title LIKE '%' || ? || '%'", text)
        except Exception:
            rows = []
        return look(''.join(f'<p>{e(t)} <i>{e(s)}</i></p>' for t, s in rows) or '<p>Not in the crates.</p>')
    return app


def birds(v, files):
    """Flask: a species by its number, which is a part of the address."""
    app = Flask('birds')
    ask = memory("CREATE TABLE species (id INT, name TEXT, place TEXT, secret INT); INSERT INTO species VALUES (1,'Hoopoe','Neusiedl',0),(2,'Wryneck','Lauwersmeer',0),(3,'Bittern','Camargue',0),(9,'Eagle owl','nest at quarry 4',1)")

    def look(body): return f'<!DOCTYPE html><html lang="en"><head><title>Birds we saw</title></head><body><aside><a href="/">All birds</a></aside><section>{body}</section></body></html>'

    @app.get('/')
    def home(): return look(''.join(f'<p><a href="/species/{n}">{t}</a></p>' for n, t in ask('SELECT id, name FROM species WHERE secret = 0')))

    @app.get('/species/<n>')
    def one(n):
        try:
            rows = ask(f'SELECT name, place FROM species WHERE secret = 0 AND id = {n}') if v == 'weak' else ask('SELECT name, place FROM species WHERE secret = 0 AND id = ?', int(n))
        except Exception:
            rows = []
        if not rows:
            return look('<p>Nobody saw this bird.</p>'), 404
        return look(''.join(f'<h2>{e(a)}</h2><p>{e(b)}</p>' for a, b in rows))
    return app
