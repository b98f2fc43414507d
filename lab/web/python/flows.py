"""The applications of several pages on Flask: LAB_FLOWS says which, in which variant, on which port. Each variant is weak in
its own way; "sound" only looks weak. Weak on purpose; loopback only."""
import base64, hashlib, hmac, json, logging, os, secrets, sqlite3, subprocess, sys, threading, time, urllib.request
from urllib.parse import quote, urlsplit

from flask import Flask, Response, g, jsonify, redirect, request
from werkzeug.serving import make_server

FILES = os.environ['LAB_FILES']
os.makedirs(FILES, exist_ok=True)


def enc(s):
    for a, b in (('&', '&amp;'), ('<', '&lt;'), ('>', '&gt;'), ('"', '&quot;'), ("'", '&#39;')):
        s = str(s).replace(a, b)
    return s


def page(title, body, status=200):
    return Response(f'<!DOCTYPE html><html><head><title>{title}</title></head>\n<body><p><a href="/">Home</a></p><h2>{title}</h2>\n{body}</body></html>', status, mimetype='text/html')


def form(action, fields, button='Save'):
    return f'<form method="POST" action="{action}">' + ''.join('<p>%s <input name="%s" value="%s" type="%s"></p>' % (f[0], f[0], enc(f[1]), f[2] if len(f) > 2 else 'text') for f in fields) + \
        f'<input type="submit" value="{button}"></form>'


def links(*all):
    return '<ul>' + ''.join(f'<li><a href="{to}">{text}</a></li>' for to, text in all) + '</ul>'


def people():
    return {n: {'id': i, 'name': n, 'pass': f'{n}-Pass{p}', 'mail': n + '@lab.example', 'role': r, 'phone': f'555-0{100 + i}'}
            for n, i, p, r in (('anna', 11, 1, 'customer'), ('ben', 12, 2, 'customer'), ('root', 1, 9, 'admin'))}


def table():
    db = sqlite3.connect(':memory:', check_same_thread=False, isolation_level=None)
    db.executescript("CREATE TABLE items (name TEXT, price INT); INSERT INTO items VALUES ('chair',30),('table',80),('lamp',120),('desk',200),('sofa',500);")
    return db


LOCK = threading.Lock()


def rows(db, text, *values):
    with LOCK:
        return db.execute(text, values).fetchall()


def sessions(app, users, at='/login', field='username', home='/', cookie=None, extra=None, wrong=None, then=None, fixed=False, html=True):
    """A form to log in; g.user is who has."""
    live = {}
    flags = dict(path='/', httponly=True, samesite='Lax') | (cookie or {})

    @app.before_request
    def who():
        g.user = users.get(live.get(request.cookies.get('session_id')))

    def login():
        if request.method == 'GET':
            return page('Sign in', form(at, [(field, ''), ('password', '', 'password')] + (extra() if extra else []), 'Sign in'))
        data = (request.get_json(silent=True) or {}) if not html else request.form
        u = users.get(data.get(field))
        if not u or u['pass'] != data.get('password'):
            return page('Sign in', (wrong(u) if wrong else '<p>Invalid credentials.</p>') + form(at, [(field, ''), ('password', '', 'password')], 'Sign in'))
        sid = fixed and request.cookies.get('session_id') or secrets.token_hex(12)
        live[sid] = u['name']
        answer = then(u) if then else redirect(home, 303)
        answer.set_cookie('session_id', sid, **flags)
        return answer

    def logout():
        live.pop(request.cookies.get('session_id'), None)
        return redirect('/', 303)
    app.add_url_rule(at, 'login', login, methods=['GET', 'POST'] if html else ['POST'])
    app.add_url_rule('/logout', 'logout', logout)

    def own(view):
        def inner(*a, **k):
            return view(*a, **k) if g.user else redirect(at)
        inner.__name__ = view.__name__
        return inner
    return own


def hello():
    return f'<p>Signed in as {g.user["name"]}. <a href="/logout">Sign out</a></p>' if g.user else '<p><a href="/login">Sign in</a></p>'


def orders(app, weak, variant):
    users = people()
    own = sessions(app, users, home='/orders')
    data = {101: ('anna', 'lamp', 'Mill Lane 3'), 102: ('anna', 'desk', 'Mill Lane 3'), 103: ('ben', 'sofa', 'Harbour 9'), 104: ('ben', 'chair', 'Harbour 9')}

    @app.get('/')
    def front(): return page('Furniture', hello() + links(('/orders', 'My orders'), ('/profile', 'My profile'), ('/products/1', 'Chair'), ('/products/2', 'Table')))

    @app.get('/products/<int:n>')
    def product(n): return page('Product', '<p>A %s, made of oak.</p>' % ['chair', 'table', 'lamp'][n - 1]) if 0 < n < 4 else page('Product', '<p>None.</p>', 404)

    @app.get('/orders')
    @own
    def mine(): return page('My orders', links(*[x for n, o in data.items() if o[0] == g.user['name'] for x in ((f'/orders/{n}', f'Order {n}'), (f'/invoice?number={n + 9000}', 'Invoice'))]))

    def one(n, what):
        o = data.get(n)
        if not o:
            return page(what, '<p>There is none.</p>', 404)
        if not weak and o[0] != g.user['name']:
            return page(what, '<p>This order is not yours.</p>') if what == 'Order' else page(what, '<p>There is none.</p>', 404)
        return page(what, f'<table><tr><td>Name</td><td>{o[0]}</td></tr><tr><td>Goods</td><td>{o[1]}</td></tr><tr><td>Ship to</td><td>{o[2]}</td></tr></table>')

    @app.get('/orders/<int:n>')
    @own
    def order(n): return one(n, 'Order')

    @app.get('/invoice')
    @own
    def invoice(): return one(request.args.get('number', 0, int) - 9000, 'Invoice')

    @app.route('/profile', methods=['GET', 'POST'])
    @own
    def profile():
        if request.method == 'POST':
            for k in request.form if weak else ('mail', 'phone'):
                if k in g.user and k not in ('id', 'name', 'pass'):
                    g.user[k] = request.form.get(k, '')
            return redirect('/profile', 303)
        return page('My profile', f'<p>Role: {enc(g.user["role"])}</p>' + form('/profile', [('mail', g.user['mail']), ('phone', g.user['phone'])]))


def desk(app, weak, variant):
    users = people()

    def then(u):
        answer = redirect('/tickets', 303)
        if variant == 'cookie':
            answer.set_cookie('role', u['role'], httponly=True, samesite='Lax')
        return answer
    own = sessions(app, users, '/signin', 'user', then=then)
    role = lambda: request.cookies.get('role') if variant == 'cookie' else g.user['role']

    def admin(view):
        def inner():
            if variant == 'weak' or role() == 'admin':
                return view()
            return page('Desk', '<p>This page is for administrators.</p>') if request.path.endswith('export') else page('Desk', '<p>Forbidden</p>', 403)
        inner.__name__ = view.__name__
        return own(inner)

    @app.get('/')
    def front(): return redirect('/tickets') if g.user else page('Desk', links(('/signin', 'Sign in')))

    @app.get('/tickets')
    @own
    def tickets(): return page('Tickets', f'<p>{g.user["name"]} ({role()}) <a href="/logout">Sign out</a></p>' + links(('/faq', 'Questions'), *[('/admin/people', 'People'), ('/admin/export', 'Export')] * (role() == 'admin')))

    @app.get('/faq')
    @own
    def faq(): return page('Questions', '<p>Turn it off and on again.</p>')

    @app.get('/admin/people')
    @admin
    def everybody(): return page('People', '<table>' + ''.join(f'<tr><td>{u["name"]}</td><td>{u["mail"]}</td><td>{u["phone"]}</td></tr>' for u in users.values()) + '</table>' + form('/admin/role', [('person', 'ben'), ('level', 'customer')], 'Change'))

    @app.get('/admin/export')
    @admin
    def export(): return page('Export', '<pre>id,name,phone\n' + '\n'.join(f'{u["id"]},{u["name"]},{u["phone"]}' for u in users.values()) + '</pre>')

    @app.post('/admin/role')
    @admin
    def change(): return page('People', f'<p>{enc(request.form.get("person"))} is now {enc(request.form.get("level"))}.</p>')


def rest(app, weak, variant):
    users, tokens, db = people(), {}, table()
    notes = {'n-501': ('anna', 'dentist at nine'), 'n-502': ('ben', 'the safe is 4-17-33')}

    def who(view):
        def inner(**k):
            g.user = users.get(tokens.get(request.headers.get('Authorization', '').removeprefix('Bearer ')))
            return view(**k) if g.user else (jsonify(detail='Not authenticated'), 401)
        inner.__name__ = view.__name__
        return inner
    op = lambda s, **more: {'summary': s, 'responses': {'200': {'description': 'fine'}}, 'security': [{'token': []}]} | more
    par = lambda n, where, example: {'parameters': [{'name': n, 'in': where, 'required': True, 'schema': {'type': 'integer' if isinstance(example, int) else 'string', 'example': example}}]}
    body = lambda **all: {'requestBody': {'content': {'application/json': {'schema': {'type': 'object', 'properties': {k: {'type': 'string', 'example': v} for k, v in all.items()}}}}}}

    @app.get('/openapi.json')
    def described():
        return jsonify(openapi='3.1.0', info={'title': 'Accounts', 'version': '1'}, components={'securitySchemes': {'token': {'type': 'http', 'scheme': 'bearer'}}}, paths={
            '/api/login': {'post': op('Log in', **body(username='anna', password='x'))}, '/api/accounts': {'get': op('Mine')}, '/api/accounts/{id}': {'get': op('One', **par('id', 'path', 11))},
            '/api/notes': {'get': op('My notes')}, '/api/notes/{key}': {'get': op('One note', **par('key', 'path', 'n-501'))}, '/api/items': {'get': op('Items', **par('q', 'query', 'chair'))},
            '/api/me': {'get': op('Me'), 'put': op('Change me', **body(mail='a@lab.example', phone='555-0111'))}, '/api/check': {'post': op('Check', **body(host='alpha'))}, '/api/admin/users': {'get': op('All')}})

    @app.get('/')
    def front(): return jsonify(service='accounts')

    @app.post('/api/login')
    def login():
        data = request.get_json(silent=True) or {}
        u = users.get(data.get('username'))
        if not u or u['pass'] != data.get('password'):
            return jsonify(detail='Bad credentials'), 401
        t = secrets.token_hex(16)
        tokens[t] = u['name']
        return jsonify(token=t, token_type='bearer')
    shown = lambda u: {k: u[k] for k in ('id', 'name', 'mail', 'phone', 'role')}

    @app.get('/api/accounts')
    @who
    def mine(): return jsonify([{'id': g.user['id']}])

    @app.get('/api/accounts/<int:n>')
    @who
    def account(n):
        u = next((u for u in users.values() if u['id'] == n), None)
        if not u:
            return jsonify(detail='Not found'), 404
        if not weak and u is not g.user:
            return jsonify(detail='This is not your account')
        return jsonify(id=n, owner=u['name'], iban='LAB00%d' % (n * 7919), phone=u['phone'])

    @app.get('/api/notes')
    @who
    def keys(): return jsonify([{'key': k} for k, n in notes.items() if n[0] == g.user['name']])

    @app.get('/api/notes/<key>')
    @who
    def note(key):
        n = notes.get(key)
        return jsonify(key=key, owner=n[0], text=n[1]) if n and (weak or n[0] == g.user['name']) else (jsonify(detail='Not found'), 404)

    @app.get('/api/items')
    @who
    def items():
        q = request.args.get('q', '')
        try:
            return jsonify(rows(db, f"SELECT name, price FROM items WHERE name LIKE '%{q}%'") if weak else rows(db, 'SELECT name, price FROM items WHERE name LIKE ?', f'%{q}%'))
        except sqlite3.Error:
            return jsonify(detail='Internal error'), 500

    @app.route('/api/me', methods=['GET', 'PUT'])
    @who
    def me():
        data = request.get_json(silent=True) or {}
        if request.method == 'PUT':
            g.user.update({k: v for k, v in data.items() if k not in ('id', 'name', 'pass') and (weak or k in ('mail', 'phone'))})
        return jsonify(shown(g.user))

    @app.post('/api/check')
    @who
    def check():
        host = str((request.get_json(silent=True) or {}).get('host', '')).replace('\0', '')
        out = subprocess.run('echo checking ' + host, shell=True, capture_output=True, text=True, errors='replace', cwd=FILES) if weak else subprocess.run(['echo', 'checking', host], capture_output=True, text=True)
        return jsonify(out=out.stdout)

    @app.get('/api/admin/users')
    @who
    def everybody(): return jsonify([shown(u) for u in users.values()]) if weak or g.user['role'] == 'admin' else (jsonify(detail='Forbidden'), 403)


def tokens(app, weak, variant):
    """JSON Web Tokens in a cookie. "confusion" signs with RSA and verifies what the header says."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding, rsa
    users, random = people(), secrets.token_hex(32)
    pair = rsa.generate_private_key(65537, 2048)
    pem = pair.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    keys = FILES + '/keys-' + variant
    os.makedirs(keys, exist_ok=True)
    open(keys + '/main.key', 'w').write(random)
    key = b'secret' if variant == 'key' else random.encode()
    b64 = lambda b: base64.urlsafe_b64encode(b).rstrip(b'=').decode()
    un = lambda s: base64.urlsafe_b64decode(s + '=' * (-len(s) % 4))
    mac = lambda text, k: b64(hmac.new(k, text.encode(), hashlib.sha256).digest())

    def sign(claims):
        head = {'typ': 'JWT', 'alg': 'RS256' if variant == 'confusion' else 'HS256'} | ({'kid': 'main.key'} if variant == 'kid' else {})
        text = b64(json.dumps(head).encode()) + '.' + b64(json.dumps(claims).encode())
        return text + '.' + (b64(pair.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())) if variant == 'confusion' else mac(text, key))

    def read(token):
        try:
            h, p, s = token.split('.')
            head, claims, text = json.loads(un(h)), json.loads(un(p)), h + '.' + p
            if claims['exp'] < time.time():
                return None
            if variant == 'unsigned' or variant == 'none' and head['alg'].lower() == 'none':
                return claims
            if variant == 'confusion' and head['alg'] == 'RS256':
                pair.public_key().verify(un(s), text.encode(), padding.PKCS1v15(), hashes.SHA256())
                return claims
            secret = pem if variant == 'confusion' else open(keys + '/' + head['kid'], 'rb').read() if variant == 'kid' else key
            return claims if head['alg'] == 'HS256' and hmac.compare_digest(s, mac(text, secret)) else None
        except Exception:
            return None

    @app.before_request
    def who():
        c = read(request.cookies.get('token', '')) or {}
        g.user = users[c['sub']] | {'role': c.get('role')} if c.get('sub') in users else None

    @app.get('/')
    def front(): return page('Portal', hello() + links(('/me', 'Me'), ('/public.pem', 'Key')))

    @app.get('/public.pem')
    def public(): return Response(pem, mimetype='text/plain') if variant == 'confusion' else page('Key', '<p>None.</p>', 404)

    @app.route('/login', methods=['GET', 'POST'])
    def login():
        u = users.get(request.form.get('username'))
        if request.method == 'GET' or not u or u['pass'] != request.form.get('password'):
            return page('Sign in', form('/login', [('username', ''), ('password', '', 'password')], 'Sign in'))
        answer = redirect('/me', 303)
        answer.set_cookie('token', sign({'sub': u['name'], 'role': u['role'], 'exp': int(time.time()) + 36000}), httponly=True, samesite='Lax')
        return answer

    @app.get('/logout')
    def logout():
        answer = redirect('/', 303)
        answer.delete_cookie('token')
        return answer

    @app.get('/me')
    def me(): return page('Me', f'<p>You are {g.user["name"]}, {enc(g.user["role"])}, {g.user["phone"]}.</p>' + hello()) if g.user else redirect('/login')

    @app.get('/admin')
    def admin(): return page('Admin', '<p>All keys are in the drawer.</p>') if g.user and g.user['role'] == 'admin' else page('Admin', '<p>Forbidden</p>', 403)


def spa(app, weak, variant):
    users, db = people(), table()
    sessions(app, users, '/api/session', html=False, cookie={'samesite': 'Strict'}, then=lambda u: jsonify(ok=True))
    mails = {31: ('anna', 'Your lamp is on its way'), 32: ('ben', 'The code of the gate is 7733')}

    @app.get('/')
    def front(): return Response('<!DOCTYPE html><html><head><title>Box</title></head><body><div id="root"></div><script src="/static/main.js"></script></body></html>', mimetype='text/html')

    @app.get('/static/main.js')
    def script():
        return Response('''(function(){var root=document.getElementById("root"),base="/api/";
function call(m,u,b,f){var x=new XMLHttpRequest();x.open(m,base+u);x.setRequestHeader("Content-Type","application/json");x.onload=function(){f(JSON.parse(x.responseText||"{}"))};x.send(b?JSON.stringify(b):null)}
function login(){root.innerHTML='<form><input id="u" name="username"><input id="p" name="password" type="password"><button>Go</button></form>';root.querySelector("form").onsubmit=function(e){e.preventDefault();call("POST","session",{username:u.value,password:p.value},function(){location.hash="#/list"})}}
function list(){root.innerHTML='<input id="t" value="chair"><button id="b">Search</button><pre id="o"></pre><a href="#/mail">Mail</a> <a href="#/hello/you">Hello</a>';b.onclick=function(){call("POST","search",{term:t.value,sort:"name"},function(l){o.textContent=JSON.stringify(l)})};b.onclick()}
function mail(){call("GET","mails",null,function(l){root.textContent="";l.forEach(function(m){call("GET","mails/"+m.id,null,function(x){var d=document.createElement("div");d.textContent=x.text;root.appendChild(d)})})})}
function hello(n){root.SINK="Hello "+decodeURIComponent(n||"you")}
function route(){var h=location.hash.split("/");var v={list:list,mail:mail,hello:hello,login:login}[h[1]];if(v)return v(h[2]);call("GET","me",null,function(m){m.name?list():login()})}onhashchange=route;route()})();'''.replace('SINK', 'innerHTML' if weak else 'textContent'), mimetype='text/javascript')

    @app.get('/api/me')
    def me(): return jsonify(name=g.user['name'], phone=g.user['phone']) if g.user else (jsonify({}), 401)

    @app.post('/api/search')
    def search():
        data = request.get_json(silent=True) or {}
        term, sort = str(data.get('term', '')), str(data.get('sort', 'name'))
        by = sort if weak or sort in ('name', 'price') else 'name'
        try:
            return jsonify(rows(db, f"SELECT name, price FROM items WHERE name='{term}' OR price>150 ORDER BY {by}") if weak else rows(db, f'SELECT name, price FROM items WHERE name=? OR price>150 ORDER BY {by}', term))
        except sqlite3.Error:
            return jsonify([])

    @app.get('/api/mails')
    def mine(): return jsonify([{'id': n} for n, m in mails.items() if m[0] == g.user['name']]) if g.user else (jsonify({}), 401)

    @app.get('/api/mails/<int:n>')
    def one(n):
        if not g.user:
            return jsonify({}), 401
        m = mails.get(n)
        return jsonify(id=n, to=m[0], text=m[1]) if m and (weak or m[0] == g.user['name']) else jsonify(id=n, text='')


APPS = dict(orders=orders, desk=desk, rest=rest, tokens=tokens, spa=spa)

if __name__ == '__main__':
    import flows2, flows3
    logging.getLogger('werkzeug').setLevel(logging.ERROR)
    APPS.update(flows2.APPS, lockers=flows3.lockers, depot=flows3.lockers)
    for one in os.environ['LAB_FLOWS'].split():
        name, variant, port = one.split(':')
        application = Flask(name + variant, static_folder=None)
        application.register_error_handler(404, lambda e: page('Not found', '<p>There is no such page.</p>', 404))
        application.register_error_handler(500, lambda e: page('Error', '<p>Something went wrong.</p>', 500))
        application.add_url_rule('/home.html', 'home_page', lambda: page('Home', '<p>Welcome home.</p>'))
        APPS[name](application, variant != 'sound', variant)
        threading.Thread(target=make_server('127.0.0.1', int(port), application, threaded=True).serve_forever).start()
