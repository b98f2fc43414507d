"""Challenges of SQL injection: a login, a filter of words, an order, cookies, a log of visitors, JSON, names kept for later."""
import asyncio, json, re, secrets, sqlite3

import bottle
from fastapi import Body, FastAPI, Query
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from flask import g, jsonify, redirect, request, session

from kit import bare, boot, e, form, gate, memory, plain, site, wind


def garage(v, files):
    app, weak = site('garage'), v == 'weak'
    ask = memory("CREATE TABLE konto (name TEXT, wort TEXT); INSERT INTO konto VALUES ('meister','%s')" % secrets.token_hex(8))
    links = [('/', 'Start'), ('/preise', 'Preise'), ('/intern', 'Intern')]

    @app.get('/')
    def home(): return plain('Autowerkstatt Krüger', '<p>Reifen, Bremsen, Öl.</p>', links, 'de')

    @app.get('/preise')
    def prices(): return plain('Preise', '<p>Ölwechsel 79</p><p>Bremsen 240</p>', links, 'de')

    @app.route('/intern', methods=['GET', 'POST'])
    def inside():
        said = ''
        if request.method == 'POST':
            name, word = request.form.get('name', ''), request.form.get('wort', '')
            try:
                got = ask(f"SELECT name FROM konto WHERE name = '{name}' AND wort = '{word}'") if weak else ask('SELECT name FROM konto WHERE name = ? AND wort = ?', name, word)
            except sqlite3.Error:
                got = []
            if got:
                session['who'] = got[0][0]
                return redirect('/auftraege')
            said = '<p><font color="red">Zugang verweigert</font></p>'
        return plain('Intern', said + form('/intern', [('Name', 'name'), ('Kennwort', 'wort', '', 'password')], 'Anmelden'), links, 'de')

    @app.get('/auftraege')
    def orders(): return plain('Aufträge', '<p>B-KR 77, Bremsen</p>', links, 'de') if session.get('who') else redirect('/intern')
    return app


def recipes(v, files):
    """A search whose filter removes words once, in lower case, and blanks."""
    app, weak = site('recipes'), v == 'weak'
    ask = memory("CREATE TABLE dishes (name TEXT, minutes INT); INSERT INTO dishes VALUES ('Lasagne',60),('Ramen',40),('Toast',5),('Paella',50); CREATE TABLE keys (k TEXT)")
    links = [('/', 'Recipes'), ('/search', 'Search'), ('/tips', 'Tips')]

    @app.get('/')
    def home(): return boot('Recipes', '<p>What to cook tonight?</p>' + form('/search', [('Dish', 'q')], 'Search', 'get'), links)

    @app.get('/tips')
    def tips(): return boot('Tips', '<p>Salt the water.</p>', links)

    @app.get('/search')
    def search():
        q = request.args.get('q', '')
        cut = re.sub(r'select|union|or|and|\s|--', '', q)
        try:
            got = ask(f"SELECT name, minutes FROM dishes WHERE name LIKE '%{cut}%'") if weak else ask('SELECT name, minutes FROM dishes WHERE name LIKE ?', f'%{cut}%')
        except sqlite3.Error:
            got = []
        return boot('Search', form('/search', [('Dish', 'q', q, 'text')], 'Search', 'get') + (''.join(f'<div class="card">{n}, {m} minutes</div>' for n, m in got) or '<p>Nothing found.</p>'), links)
    return app


def metrics(v, files):
    """FastAPI with its description; the order of a list is a column by name."""
    app, weak = FastAPI(title='Metrics'), v == 'weak'
    ask = memory("CREATE TABLE hosts (id INT, name TEXT, load REAL); INSERT INTO hosts VALUES (1,'web-1',0.4),(2,'web-2',1.2),(3,'db-1',0.9)")

    @app.get('/', response_class=HTMLResponse, include_in_schema=False)
    async def home():
        return '''<!doctype html><title>Metrics</title><h1>Hosts</h1><select id="s"><option>name</option><option>load</option></select><ul id="l"></ul>
<script>const s = document.getElementById('s'); async function show() { const r = await fetch(`/api/hosts?sort=${s.value}&limit=10`); const all = await r.json();
document.getElementById('l').replaceChildren(...all.items.map(h => { const li = document.createElement('li'); li.textContent = h.name + ' ' + h.load; return li; })); } s.onchange = show; show();</script>'''

    @app.get('/api/hosts')
    async def hosts(sort: str = 'name', limit: int = Query(10, ge=1, le=100)):
        if not weak and sort not in ('id', 'name', 'load'):
            return JSONResponse({'detail': 'unknown column'}, 422)
        try:
            return {'items': [{'id': r[0], 'name': r[1], 'load': r[2]} for r in ask(f'SELECT id, name, load FROM hosts ORDER BY {sort} LIMIT {limit}')]}
        except sqlite3.Error:
            return JSONResponse({'detail': 'cannot sort'}, 400)

    @app.get('/api/hosts/{number}')
    async def host(number: int):
        got = ask('SELECT name, load FROM hosts WHERE id = ?', number)
        return {'name': got[0][0], 'load': got[0][1]} if got else JSONResponse({'detail': 'Not Found'}, 404)
    return app


def boutique(v, files):
    """A cookie chooses the currency; the page shows only whether there is one."""
    app, weak = site('boutique'), v == 'weak'
    ask = memory("CREATE TABLE money (code TEXT, rate REAL); INSERT INTO money VALUES ('eur',1),('usd',1.1)")
    links = [('/', 'Boutique'), ('/coats', 'Manteaux'), ('/devise?c=usd', 'USD')]

    @app.get('/devise')
    def choose():
        answer = redirect('/coats')
        answer.set_cookie('devise', 'usd' if request.args.get('c') == 'usd' else 'eur', samesite='Lax')
        return answer

    @app.get('/')
    def home():
        answer = app.make_response(wind('Boutique', '<p>Bienvenue.</p>', links, 'fr'))
        if 'devise' not in request.cookies:
            answer.set_cookie('devise', 'eur', samesite='Lax')
        return answer

    @app.get('/coats')
    def coats():
        c = request.cookies.get('devise', 'eur')
        try:
            got = ask(f"SELECT 1 FROM money WHERE code = '{c}'") if weak else ask('SELECT 1 FROM money WHERE code = ?', c)
        except sqlite3.Error:
            got = []
        return wind('Manteaux', '<p>Laine, 120</p><p>Lin, 80</p>' + ('<p>Prix convertis.</p>' if got else ''), links, 'fr')
    return app


def visits(v, files):
    """Each visit is kept with its User-Agent."""
    app, weak = site('visits'), v == 'weak'
    ask = memory('CREATE TABLE seen (agent TEXT, page TEXT)')
    links = [('/', 'Home'), ('/numbers', 'Numbers')]

    @app.get('/')
    def home():
        agent = request.headers.get('User-Agent', '')[:300]
        if weak:
            ask(f"INSERT INTO seen VALUES ('{agent}', '/')")
        else:
            ask('INSERT INTO seen VALUES (?, ?)', agent, '/')
        return bare('A small page', '<p>Every visit counts.</p>', links)

    @app.errorhandler(sqlite3.Error)
    def broken(x): return bare('Oops', f'<p>Database error: {e(str(x))}</p>', links), 500

    @app.get('/numbers')
    def numbers(): return bare('Numbers', f'<p>{ask("SELECT count(*) FROM seen")[0][0]} visits</p>', links)
    return app


def parts(v, files):
    """Bottle; a nested field of JSON."""
    app, weak = bottle.Bottle(), v == 'weak'
    ask = memory("CREATE TABLE parts (sku TEXT, name TEXT, hidden INT); INSERT INTO parts VALUES ('A-1','gear',0),('A-2','belt',0),('X-9','prototype rotor',1)")

    @app.get('/')
    def home():
        return '''<!DOCTYPE html><html><head><title>Spare parts</title><script src="/js/find.js" defer></script></head><body><h1>Spare parts</h1><form id=f><input name=sku value="A-1"><button>Find</button></form><div id=out></div></body></html>'''

    @app.get('/js/find.js')
    def script():
        bottle.response.content_type = 'text/javascript'
        return '''document.querySelector('#f').addEventListener('submit', function (ev) {
  ev.preventDefault();
  var body = { query: { sku: this.sku.value, stock: true }, page: 1 };
  fetch('/rpc/find', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })
    .then(function (r) { return r.json(); })
    .then(function (all) { document.querySelector('#out').textContent = all.parts.map(function (p) { return p.name; }).join(', '); });
});
'''

    @app.post('/rpc/find')
    def find():
        try:
            sku = (bottle.request.json or {})['query']['sku']
        except Exception:
            bottle.response.status = 400
            return {'error': 'query.sku is needed'}
        try:
            got = ask(f"SELECT name FROM parts WHERE hidden = 0 AND sku = '{sku}'") if weak else ask('SELECT name FROM parts WHERE hidden = 0 AND sku = ?', str(sku))
        except sqlite3.Error:
            bottle.response.status = 500
            return {'error': 'search failed'}
        return {'parts': [{'name': r[0]} for r in got]}
    return app


def guild(v, files):
    """Second order: the name one registers with is put into a statement of another page."""
    app, weak = site('guild'), v == 'weak'
    ask = memory("CREATE TABLE quests (owner TEXT, title TEXT); INSERT INTO quests VALUES ('gm','The vault opens with 5519'),('gm','Slay the wyrm')")
    users = {'gm': secrets.token_hex(8)}
    links = [('/', 'Guild'), ('/enlist', 'Enlist'), ('/login', 'Enter'), ('/quests', 'Quests')]
    member = gate(app, lambda t, b, lang: wind(t, b, links), users, home='/quests')

    @app.get('/')
    def home(): return wind('Guild hall', '<p>Enlist, adventurer.</p>', links)

    @app.route('/enlist', methods=['GET', 'POST'])
    def enlist():
        f, said = request.form, ''
        if request.method == 'POST':
            if f.get('username') and f.get('password') and f['username'] not in users:
                users[f['username']] = f['password']
                ask('INSERT INTO quests VALUES (?, ?)', f['username'], 'Find the tavern')
                return redirect('/login')
            said = '<p>Taken.</p>'
        return wind('Enlist', said + form('/enlist', [('Username', 'username'), ('Password', 'password', '', 'password')], 'Enlist'), links)

    @app.get('/quests')
    @member
    def quests():
        try:
            got = ask(f"SELECT title FROM quests WHERE owner = '{g.me}'") if weak else ask('SELECT title FROM quests WHERE owner = ?', g.me)
        except sqlite3.Error:
            return wind('Quests', '<p>The scroll is torn.</p>', links), 500
        return wind('Quests', ''.join(f'<li>{e(r[0])}</li>' for r in got), links)
    return app


def vouchers(v, files):
    """htmx-like fragments; whether a voucher is good is all that one sees."""
    app, weak = site('vouchers'), v == 'weak'
    ask = memory("CREATE TABLE vouchers (code TEXT); INSERT INTO vouchers VALUES ('SPRING-%s')" % secrets.token_hex(4))
    links = [('/', 'Shop'), ('/basket', 'Basket')]
    head = '<script>document.addEventListener("click", ev => { const b = ev.target.closest("[hx-post]"); if (!b) return; ev.preventDefault(); fetch(b.getAttribute("hx-post"), { method: "POST", body: new URLSearchParams(new FormData(b.closest("form"))) }).then(r => r.text()).then(t => { document.querySelector(b.getAttribute("hx-target")).innerHTML = t; }); });</script>'

    @app.get('/')
    def home(): return boot('Tea shop', '<div class="card">Assam</div><div class="card">Sencha</div>', links, head=head)

    @app.get('/basket')
    def basket():
        return boot('Basket', '<form><input name="code" placeholder="Voucher"><input type="hidden" name="total" value="24"><button hx-post="/fragments/voucher" hx-target="#said">Apply</button></form><div id="said"></div>', links, head=head)

    @app.post('/fragments/voucher')
    def voucher():
        code = request.form.get('code', '')
        try:
            got = ask(f"SELECT 1 FROM vouchers WHERE code = '{code}'") if weak else ask('SELECT 1 FROM vouchers WHERE code = ?', code)
        except sqlite3.Error:
            got = []
        return '<span class="text-success">Voucher accepted</span>' if got else '<span class="text-danger">Unknown voucher</span>'
    return app
