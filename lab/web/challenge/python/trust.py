"""Challenges of what an application trusts: tokens, prices, counts, hosts, what it tells, what it left behind."""
import hashlib, json, os, secrets, threading, time, traceback

import jwt
from fastapi import Depends, FastAPI, Header
from fastapi.responses import HTMLResponse, JSONResponse
from flask import Response, g, jsonify, redirect, request, session

from kit import bare, boot, e, form, gate, plain, site, wind


def fleet(v, files):
    """FastAPI; tokens signed with a word."""
    app, key = FastAPI(title='Fleet', docs_url='/docs', openapi_url='/openapi.json'), 'changeme' if v == 'weak' else secrets.token_hex(32)
    users = {'driver7': 'Gearbox-7'}

    def me(authorization: str = Header('')):
        try:
            return jwt.decode(authorization.removeprefix('Bearer '), key, algorithms=['HS256'])
        except jwt.PyJWTError:
            return None

    @app.get('/', response_class=HTMLResponse, include_in_schema=False)
    async def home():
        return '''<!doctype html><title>Fleet</title><h1>Fleet</h1><form id="f"><input name="username"><input name="password" type="password"><button>Log in</button></form><pre id="o"></pre>
<script>document.getElementById('f').onsubmit = async ev => { ev.preventDefault(); const r = await fetch('/auth/token', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ username: ev.target.username.value, password: ev.target.password.value }) });
const t = await r.json(); localStorage.setItem('access_token', t.access_token); const me = await fetch('/trips', { headers: { Authorization: 'Bearer ' + t.access_token } }); document.getElementById('o').textContent = await me.text(); };</script>'''

    @app.post('/auth/token')
    async def token(login: dict):
        name = str(login.get('username'))
        if users.get(name) != login.get('password'):
            return JSONResponse({'detail': 'Incorrect username or password'}, 401)
        return {'access_token': jwt.encode({'sub': name, 'role': 'driver', 'exp': int(time.time()) + 3600}, key, 'HS256'), 'token_type': 'bearer'}

    @app.get('/trips')
    async def trips(who=Depends(me)):
        return {'trips': ['Hamburg', 'Kiel'], 'driver': who['sub']} if who else JSONResponse({'detail': 'Not authenticated'}, 401)

    @app.get('/dispatch/plan')
    async def plan(who=Depends(me)):
        if not who:
            return JSONResponse({'detail': 'Not authenticated'}, 401)
        return {'plan': 'cash transport at 04:30'} if who.get('role') == 'dispatcher' or who.get('role') == 'admin' else JSONResponse({'detail': 'Forbidden'}, 403)
    return app


def bakery(v, files):
    """An order: "price" takes the price of the form, "negative" fewer than none, "twice" a coupon again and again."""
    app = site('bakery')
    users, baskets = {'hungry': 'Brioche-6'}, {}
    prices = {1: 3, 2: 5, 3: 28}
    links = [('/', 'Bakery'), ('/basket', 'Basket'), ('/login', 'Log in'), ('/logout', 'Log out')]
    member = gate(app, lambda t, b, lang: wind(t, b, links), users)

    def basket(): return baskets.setdefault(g.me, {'lines': [], 'off': 0, 'codes': set()})

    @app.get('/')
    def home():
        return wind('Bakery', ''.join(f'<div class="product"><b>{n}</b> {form("/basket/add", [("", "product", i, "hidden")] + ([("", "price", prices[i], "hidden")] if v == "price" else []) + [("Number", "quantity", 1, "number")], "Add")}</div>'
                    for i, n in ((1, 'Roll'), (2, 'Bread'), (3, 'Cake'))), links)

    @app.post('/basket/add')
    @member
    def add():
        try:
            product, n = int(request.form['product']), int(request.form['quantity'])
            price = float(request.form['price']) if v == 'price' else prices[product]
        except (KeyError, ValueError):
            return wind('Basket', '<p>That is not for sale.</p>', links), 400
        if n < 1 and v != 'negative' or n > 99:
            return wind('Basket', '<p>Between 1 and 99, please.</p>', links), 400
        basket()['lines'] = basket()['lines'][-20:] + [(product, n, price)]
        return redirect('/basket')

    @app.post('/basket/coupon')
    @member
    def coupon():
        b, code = basket(), request.form.get('coupon', '')
        if code != 'BUTTER3' or code in b['codes'] and v != 'twice':
            return wind('Basket', '<p>This coupon cannot be used.</p>', links), 400
        b['codes'].add(code)
        b['off'] += 3
        return redirect('/basket')

    @app.get('/basket')
    @member
    def show():
        b = basket()
        total = sum(n * p for _, n, p in b['lines']) - b['off']
        return wind('Basket', ''.join(f'<p>{n} of product {i} at {p:g}</p>' for i, n, p in b['lines']) + f'<p>Off: {b["off"]}</p><p>Total: {total:g}</p><p>This week: BUTTER3</p>' +
                    form('/basket/coupon', [('Coupon', 'coupon')], 'Apply'), links)
    return app


def giftcard(v, files):
    """A card is redeemed by two requests at once."""
    app, weak = site('giftcard'), v == 'weak'
    users, money, used, lock = {'sam': 'Ribbon-3'}, {'sam': 0}, set(), threading.Lock()
    links = [('/', 'Wallet'), ('/redeem', 'Redeem'), ('/logout', 'Leave')]
    member = gate(app, lambda t, b, lang: bare(t, b), users)

    @app.get('/')
    @member
    def home(): return bare('Wallet', f'<p>Balance: {money[g.me]}</p><p>Your cards: ' + ', '.join(c for c in ('GIFT-1', 'GIFT-2', 'GIFT-3') if c not in used) + '</p>', links)

    @app.route('/redeem', methods=['GET', 'POST'])
    @member
    def redeem():
        code = request.form.get('card', '')
        if request.method == 'POST' and code in ('GIFT-1', 'GIFT-2', 'GIFT-3'):
            if not weak:
                lock.acquire()
            try:
                if code in used:
                    return bare('Redeem', '<p>This card was used.</p>', links), 400
                threading.Event().wait(0.1)  # the bank
                money[g.me] += 25
                used.add(code)
            finally:
                if not weak:
                    lock.release()
            return redirect('/')
        return bare('Redeem', form('/redeem', [('Card', 'card')], 'Redeem'), links)
    return app


def forgot(v, files):
    """A reset: "host" puts the host of the request into the mail, "token" makes a token that can be guessed, "users" says who is known."""
    app = site('forgot')
    users, mails, tokens = {'nina': 'Compass-8', 'lars': secrets.token_hex(8)}, [], {}
    links = [('/', 'Trails'), ('/login', 'Log in'), ('/password/forgot', 'Forgot?'), ('/mails', 'My mails')]
    member = gate(app, lambda t, b, lang: boot(t, b, links), users)

    @app.get('/')
    def home(): return boot('Trails', '<p>Walks in the hills.</p>', links)

    @app.route('/password/forgot', methods=['GET', 'POST'])
    def lost():
        said, name = '', request.form.get('username', '')
        if request.method == 'POST':
            if name in users:
                t = hashlib.md5(name.encode()).hexdigest() if v == 'token' else secrets.token_urlsafe(16)
                tokens[t] = name
                host = (request.headers.get('X-Forwarded-Host') or request.host) if v == 'host' else 'trails.example'
                mails.append((name, f'http://{host}/password/reset?token={t}'))
            elif v == 'users':
                said = '<p class="alert">There is no account with this name.</p>'
            said = said or '<p class="alert">If there is such an account, we have sent a mail.</p>'
        return boot('Forgot password', said + form('/password/forgot', [('Username', 'username')], 'Send mail'), links)

    @app.get('/password/reset')
    def reset():
        name = tokens.get(request.args.get('token', ''))
        return boot('New password', f'<p>For {name}</p>' + form('/password/reset', [('New password', 'new', '', 'password')], 'Set'), links) if name else (boot('New password', '<p>This link is not good.</p>', links), 404)

    @app.get('/mails')
    @member
    def inbox(): return boot('My mails', ''.join(f'<p>Reset: <a href="{e(m)}">{e(m)}</a></p>' for to, m in mails[-9:] if to == g.me) or '<p>None.</p>', links)
    return app


def profile(v, files):
    """A profile takes any field that it has."""
    app, weak = site('profile'), v == 'weak'
    users = {'gus': 'Anchor-31'}
    data = {'gus': {'display_name': 'Gus', 'city': 'Bergen', 'plan': 'free', 'verified': False}}
    member = gate(app, lambda t, b, lang: wind(t, b), users)

    @app.get('/')
    @member
    def home():
        return wind('Profile', '''<form id="p"><input name="display_name"><input name="city"><button>Save</button></form><pre id="now"></pre><a href="/logout">Leave</a><script>
fetch('/api/profile').then(r => r.json()).then(d => { now.textContent = JSON.stringify(d); for (const k of ['display_name', 'city']) p.elements[k].value = d[k]; });
p.onsubmit = ev => { ev.preventDefault(); fetch('/api/profile', { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(Object.fromEntries(new FormData(p))) }).then(() => location.reload()); };
</script>''')

    @app.route('/api/profile', methods=['GET', 'PUT'])
    def api():
        if not g.me:
            return jsonify(error='log in'), 401
        d = request.get_json(silent=True)
        if request.method == 'PUT' and isinstance(d, dict):
            data[g.me].update({k: d[k] for k in d if k in data[g.me] and (weak or k in ('display_name', 'city'))})
        return jsonify(data[g.me])
    return app


def leftover(v, files):
    """What was left behind: a repository, a copy of a page, settings, a map of a script, an error with all its details."""
    app, weak = site('leftover'), v == 'weak'
    left = {'.git/HEAD': 'ref: refs/heads/main\n', '.git/config': '[core]\n\trepositoryformatversion = 0\n[remote "origin"]\n\turl = https://deploy:Hq7pX2@code.example/site.git\n',
            '.env': 'APP_ENV=production\nDB_HOST=10.0.0.4\nDB_PASSWORD=v8sTqL1z\n', 'app.py.bak': "from flask import Flask\napp = Flask(__name__)\napp.secret_key = 'bX92-kk1-00'\n",
            'js/main.js.map': json.dumps({'version': 3, 'sources': ['src/main.js'], 'sourcesContent': ["const apiKey = 'sk_live_9aK2mQ7xR4tY8wE1';\nexport default apiKey;\n"], 'mappings': 'AAAA'})}
    links = [('/', 'Museum'), ('/tours', 'Tours'), ('/tour?id=2', 'Tour 2')]

    @app.get('/')
    def home(): return plain('Museum', '<p>Open daily.</p><script src="/js/main.js"></script>', links)

    @app.get('/tours')
    def tours(): return plain('Tours', '<p><a href="/tour?id=1">Bones</a></p><p><a href="/tour?id=2">Stones</a></p>', links)

    @app.get('/js/main.js')
    def script(): return Response('console.log("museum");\n//# sourceMappingURL=main.js.map\n', mimetype='text/javascript')

    @app.get('/tour')
    def tour():
        try:
            return plain('Tour', f'<p>{["", "Bones", "Stones"][int(request.args.get("id", 1))]}</p>', links)
        except Exception:
            return (Response(traceback.format_exc(), 500, mimetype='text/plain') if weak else (plain('Tour', '<p>No such tour.</p>', links), 404))

    @app.get('/<path:name>')
    def other(name):
        if weak and name in left:
            return Response(left[name], mimetype='application/json' if name.endswith('.map') else 'text/plain')
        return plain('Not here', f'<p>We have no page called {e(name)}.</p>', links), 404
    return app
