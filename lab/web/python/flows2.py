"""More applications of several pages on Flask; see flows.py."""
import base64, io, json, os, pickle, re, secrets, time, urllib.request
from urllib.parse import quote, unquote, urlsplit

from flask import Response, g, jsonify, redirect, render_template_string, request
from lxml import etree

from flows import FILES, enc, form, hello, links, page, people, rows, sessions, table


def uploads(app, weak, variant):
    own, files = sessions(app, people(), home='/avatar'), {}

    @app.get('/')
    def front(): return page('Pictures', hello() + links(('/avatar', 'My picture')))

    @app.route('/avatar', methods=['GET', 'POST'])
    @own
    def avatar():
        f = request.files.get('picture')
        if request.method == 'GET':
            return page('My picture', '<form method="post" action="/avatar" enctype="multipart/form-data"><input type="file" name="picture" accept="image/*"><input name="caption" value="me"><input type="submit"></form>' +
                        links(*[('/pictures/' + quote(n), enc(n)) for n in files]))
        if not f or not f.filename or variant == 'claimed' and not f.mimetype.startswith('image/'):
            return page('My picture', '<p>Only pictures.</p>', 400)
        name, body = os.path.basename(f.filename), f.read(100000)
        if variant == 'sound':
            if not re.search(r'\.(png|jpe?g)$', name, re.I) or not body.startswith(b'\x89PNG'):
                return page('My picture', '<p>Only pictures.</p>', 400)
            name = secrets.token_hex(8) + '.png'
        files[name] = body
        return redirect('/avatar', 303)

    @app.get('/pictures/<name>')
    def picture(name):
        if name not in files:
            return page('Pictures', '<p>None.</p>', 404)
        if variant == 'attachment':
            return Response(files[name], mimetype='application/octet-stream', headers={'Content-Disposition': 'attachment', 'X-Content-Type-Options': 'nosniff'})
        import mimetypes
        return Response(files[name], mimetype='image/png' if variant == 'sound' else mimetypes.guess_type(name)[0] or 'text/plain')


def preview(app, weak, variant):
    sessions(app, people())

    @app.get('/')
    def front():
        at = 'http://' + request.host + '/home.html'
        return page('Links', hello() + links(('/card?link=' + quote(at, ''), 'Card of our home')) + '''<button onclick="imp()">Import</button>
<script>function imp(){var x=new XMLHttpRequest();x.open("POST","/api/import");x.setRequestHeader("Content-Type","application/json");x.send(JSON.stringify({feed:{source:"%s",name:"home"}}))}</script>''' % at)

    def get(link):
        u = urlsplit(link)
        if variant == 'filter' and re.search(r'localhost|127\.0\.0\.1', link, re.I) and not link.startswith('http://' + request.host + '/home.html'):
            raise ValueError
        if variant == 'sound' and link != 'http://' + request.host + '/home.html':
            raise ValueError
        if u.scheme not in ('http', 'https') or u.hostname not in ('127.0.0.1', 'localhost', '::1', '0.0.0.0', '127.1', '2130706433', '0x7f000001', '127.0.1', '0177.0.0.1'):
            raise ValueError
        return urllib.request.urlopen(link, timeout=3).read(10000).decode('utf-8', 'replace')

    @app.get('/card')
    def card():
        link = request.args.get('link', '')
        try:
            text = get(link)
        except (ValueError, OSError):
            return page('Card', f'<p>No card for {enc(link)}.</p>')
        m = re.search('<title>(.*?)</title>', text, re.S)
        return page('Card', f'<p>{enc(m.group(1) if m else text[:300])}</p><p>{enc(link)}</p>')

    @app.post('/api/import')
    def load():
        data = request.get_json(silent=True) or {}
        try:
            text = get(str((data.get('feed') or {}).get('source', '')))
        except (ValueError, OSError, AttributeError):
            text = ''
        return jsonify(read=len(text), text=text[:200])


def reset(app, weak, variant):
    users = people()
    own, outbox = sessions(app, users), {}
    host = lambda: 'portal.lab.example' if variant == 'sound' else request.headers.get('X-Forwarded-Host', 'portal.lab.example') if variant == 'forwarded' else request.host

    @app.get('/')
    def front(): return page('Portal', hello() + links(('/forgot', 'Forgotten?'), ('/invite', 'Invite'), ('/outbox', 'Mail')))

    @app.route('/forgot', methods=['GET', 'POST'])
    def forgot():
        if request.method == 'GET':
            return page('Forgotten', form('/forgot', [('mail', 'anna@lab.example', 'email')], 'Send'))
        outbox[request.form.get('mail')] = f'Set a new password: http://{host()}/set?token={secrets.token_hex(8)}'
        return page('Forgotten', '<p>If we know you, a mail is on its way.</p>')

    @app.get('/invite')
    def invite(): return page('Invite', f'<p>Send your friends this: <a href="http://{enc(host())}/join?from=portal">invitation</a></p>')

    @app.get('/outbox')
    @own
    def mail(): return page('Mail', f'<pre>{enc(outbox.get(g.user["mail"], "none"))}</pre>')


def signin(app, weak, variant):
    users, tries, nonce = people(), {}, {}
    if weak:
        users['admin'] = {'id': 2, 'name': 'admin', 'pass': 'admin', 'mail': 'admin@lab.example', 'role': 'admin', 'phone': ''}

    @app.before_request
    def limit():
        if request.path == '/login' and request.method == 'POST':
            name = request.form.get('username')
            tries[name] = [t for t in tries.get(name, []) if t > time.time() - 60]
            if not weak and len(tries[name]) >= 6:
                return page('Sign in', '<p>Too many attempts. Wait a minute.</p>', 429)
            tries[name].append(time.time())
            if name in users and users[name]['pass'] == request.form.get('password'):
                tries[name] = []

    def then(u):
        to = re.sub(r'[\r\n]', '', request.form.get('next') or '/account')
        answer = Response('', 303)
        answer.autocorrect_location_header = False
        answer.headers['Location'] = to if weak or re.fullmatch(r'/(?![/\\])[\x21-\x7e]*', to) else '/account'
        return answer
    own = sessions(app, users, fixed=weak, cookie=dict(httponly=False, samesite=None) if weak else dict(samesite='Strict'), extra=lambda: [('next', request.args.get('next', '/account'), 'hidden')], then=then,
                   wrong=lambda u: '<p>Invalid credentials.</p>' if not weak else '<p>The password is wrong.</p>' if u else '<p>There is no such user.</p>')

    @app.get('/')
    def front():
        answer = page('Club', hello() + links(('/account', 'Account'), ('/login?next=%2Faccount', 'Sign in and go on')))
        if weak and 'session_id' not in request.cookies:
            answer.set_cookie('session_id', secrets.token_hex(12))
        return answer

    @app.get('/account')
    @own
    def account():
        nonce.setdefault(g.user['name'], secrets.token_hex(8))
        return page('Account', f'<p>{g.user["name"]}: {enc(g.user["mail"])}</p>' + form('/account/mail', [('mail', g.user['mail'])] + [('csrf_token', nonce[g.user['name']], 'hidden')] * (not weak), 'Change'))

    @app.post('/account/mail')
    @own
    def change():
        if not weak and request.form.get('csrf_token') != nonce.get(g.user['name'], '-'):
            return page('Account', '<p>Forged.</p>', 403)
        g.user['mail'] = request.form.get('mail', '')
        return redirect('/account', 303)


def shop(app, weak, variant):
    prices, used = {'1': 30, '2': 80}, {}
    own = sessions(app, people())

    @app.get('/')
    def front(): return page('Shop', hello() + ''.join(f'<p>Item {i}, {p} EUR</p>' + form('/cart', [('item', i, 'hidden'), ('price', p, 'hidden'), ('quantity', 1, 'number')], 'Into the cart') for i, p in prices.items()) + form('/coupon', [('code', 'WELCOME10')], 'Use'))

    @app.post('/cart')
    @own
    def cart():
        try:
            n, p = int(request.form.get('quantity', '')), float(request.form.get('price', '')) if weak else prices[request.form.get('item')]
        except (ValueError, KeyError):
            return page('Cart', '<p>This cannot be ordered.</p>', 400)
        if not weak and not 0 < n < 100:
            return page('Cart', '<p>This quantity cannot be ordered.</p>', 400)
        return page('Cart', f'<p>{n} of item {enc(request.form.get("item"))}. Total: {n * p:g} EUR</p>')

    @app.post('/coupon')
    @own
    def coupon():
        if request.form.get('code') != 'WELCOME10' or not weak and g.user['name'] in used:
            return page('Coupon', '<p>This code is not valid.</p>', 400)
        used[g.user['name']] = used.get(g.user['name'], 0) + 10
        return page('Coupon', f'<p>Discount: {used[g.user["name"]]} EUR</p>')


def notes(app, weak, variant):
    own, wall, settings = sessions(app, people()), [('root', 'Be nice.')], {}

    @app.get('/')
    def front(): return page('Wall', hello() + links(('/wall', 'Wall'), ('/write', 'Write'), ('/letter', 'Letter')))

    @app.get('/wall')
    @own
    def read(): return page('Wall', ''.join('<p>%s: %s</p>' % (n, re.sub('<script', '', t, flags=re.I) if weak else enc(t)) for n, t in wall))

    @app.route('/write', methods=['GET', 'POST'])
    @own
    def write():
        if request.method == 'GET':
            return page('Write', form('/write', [('text', 'hello')], 'Post'))
        wall.append((g.user['name'], request.form.get('text', '')[:500]))
        del wall[1:-5000]
        return redirect('/write', 303)

    @app.route('/letter', methods=['GET', 'POST'])
    @own
    def letter():
        if request.method == 'GET':
            return page('Letter', form('/letter', [('greeting', g.user.get('greeting', 'Dear reader'))], 'Keep') + links(('/letter/preview', 'Preview')))
        g.user['greeting'] = request.form.get('greeting', '')[:500]
        return redirect('/letter', 303)

    @app.get('/letter/preview')
    @own
    def preview():
        t = g.user.get('greeting', 'Dear reader')
        try:
            return page('Preview', render_template_string('<p>' + enc(t).replace('&#39;', "'") + ', {{ name }}</p>', name=g.user['name']) if weak else render_template_string('<p>{{ t }}, {{ name }}</p>', t=t, name=g.user['name']))
        except Exception:
            return page('Preview', '<p>Something went wrong.</p>', 500)


def docs(app, weak, variant):
    folder = FILES + '/manuals'
    os.makedirs(folder, exist_ok=True)
    for n in ('start.txt', 'care.txt'):
        open(folder + '/' + n, 'w').write('How to ' + n + '\n')
    first = 'manuals/start.txt' if variant == 'prefix' else 'start.txt'
    home = lambda: page('Manuals', '<!-- TODO remove /backup/ -->' + links(('/manual?name=' + quote(first, ''), 'First steps')))
    app.add_url_rule('/', 'front', home)

    @app.get('/manual')
    def manual():
        n, base = request.args.get('name', ''), folder
        if variant == 'strip':
            n = n.replace('../', '')
        if variant == 'prefix':
            base = FILES
            if not n.startswith('manuals/'):
                return page('Manual', '<p>No such manual.</p>')
        if variant == 'twice':
            if '..' in n:
                return page('Manual', '<p>Refused.</p>', 403)
            n = unquote(n)
        at = base + '/' + n
        try:
            if variant == 'sound' and not os.path.realpath(at).startswith(os.path.realpath(folder) + '/'):
                raise ValueError
            return page('Manual', f'<pre>{enc(open(at, errors="replace").read(50000))}</pre>')
        except (OSError, ValueError):
            return page('Manual', '<p>No such manual.</p>')
    if not weak:  # as single-page applications are served: everything is the home page
        app.register_error_handler(404, lambda e: home())
        return
    text = lambda s, kind='application/octet-stream': lambda: Response(s, mimetype=kind)
    for at, view in {'/robots.txt': text('User-agent: *\nDisallow: /internal-report\n', 'text/plain'), '/.git/HEAD': text('ref: refs/heads/main\n'), '/.env': text('APP_ENV=production\nDB_HOST=127.0.0.1\nDB_PASSWORD=Zq8-not-for-you\n'),
                     '/.git/config': text('[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n'),
                     '/internal-report': lambda: page('Report', '<p>Salaries: anna 4100, ben 3900. api_key = "sk_live_9f8e7d6c5b4a39281706f5e4d3c2b1a0"</p>'),
                     '/backup/': text('<!DOCTYPE HTML><html><head><title>Directory listing for /backup/</title></head><body><h1>Directory listing for /backup/</h1><hr><ul><li><a href="site.sql">site.sql</a></li></ul><hr></body></html>', 'text/html'),
                     '/backup/site.sql': text("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE users (id INT, name TEXT, pass TEXT);\nINSERT INTO users VALUES(1,'anna','anna-Pass1');\nCOMMIT;\n")}.items():
        app.add_url_rule(at, at, view)


def track(app, weak, variant):
    db = table()

    def count(v):
        try:
            return len(rows(db, f"SELECT name FROM items WHERE name='{v}'") if weak else rows(db, 'SELECT name FROM items WHERE name=?', v))
        except Exception:
            return 0
    bad = lambda v: variant == 'refusing' and re.search(r'\s|union|--', v, re.I)

    @app.get('/')
    def front():
        v = request.cookies.get('visitor', 'chair')
        if bad(v):
            return page('News', '<p>Refused.</p>', 403)
        state = quote(base64.b64encode(b'{"page":1,"kind":"chair"}').decode(), '')
        answer = page('News', '<p>%s</p>' % ('Welcome back!' if count(v) else 'Welcome.') + links(('/list?state=' + state, 'News')) + '<form method="post" action="/letter"><input name="mail" value="a@lab.example"><input name="topic" value="chair"><button>Send me news</button></form>')
        if 'visitor' not in request.cookies:
            answer.set_cookie('visitor', v, httponly=True, samesite='Lax')
        return answer

    @app.get('/list')
    def listed():
        try:
            v = str(json.loads(base64.b64decode(request.args.get('state', '')))['kind'])
        except (ValueError, KeyError, TypeError):
            return page('News', '<p>No such page.</p>', 400)
        if bad(v):
            return page('News', '<p>Refused.</p>', 403)
        return page('News', '<p>There is news.</p>' if count(v) else '<p>There is no news.</p>')

    @app.post('/letter')
    def letter():
        v = request.form.get('topic', '')
        if bad(v):
            return page('Letter', '<p>Refused.</p>', 403)
        count(v)
        return page('Letter', '<p>Thank you.</p>')


def cors(app, weak, variant):
    sessions(app, people(), cookie=dict(samesite='None'))

    @app.get('/')
    def front(): return page('Card', hello() + '<p id="o"></p><script>fetch("/api/card").then(r=>r.text()).then(t=>{document.getElementById("o").textContent=t})</script>')

    @app.get('/api/card')
    def card():
        o = request.headers.get('Origin', '')
        allow = {'reflect': bool(o), 'null': o == 'null', 'suffix': o.endswith(request.host) or o.endswith('lab.example'), 'sound': o == 'https://portal.lab.example'}[variant]
        answer = jsonify(name=g.user['name'], phone=g.user['phone']) if g.user else jsonify(error='sign in')
        if allow or variant == 'sound':
            answer.headers.update({'Access-Control-Allow-Origin': o if allow else 'https://portal.lab.example', 'Access-Control-Allow-Credentials': 'true', 'Vary': 'Origin'})
        return answer


def feeds(app, weak, variant):
    """XML by a script and as a picture. "weak" resolves entities in feeds, "svg" in pictures alone."""
    def title(text, path, resolve):
        doc = etree.fromstring(text, etree.XMLParser(resolve_entities=resolve, no_network=True, load_dtd=resolve))
        return doc.findtext(path) or ''

    @app.get('/')
    def front():
        return page('Feeds', '''<form method="post" action="/picture" enctype="multipart/form-data"><input type="file" name="picture" accept="image/svg+xml"><input type="submit"></form><button onclick="imp()">Import</button>
<script>function imp(){fetch("/import",{method:"POST",headers:{"Content-Type":"application/xml"},body:"<feed><entry><title>news</title></entry></feed>"})}</script>''')

    @app.post('/import')
    def load():
        try:
            return page('Feed', '<p>%s</p>' % enc(title(request.get_data(), 'entry/title', variant == 'weak')))
        except etree.XMLSyntaxError:
            return page('Feed', '<p>This is no feed.</p>', 400)

    @app.post('/picture')
    def picture():
        f = request.files.get('picture')
        try:
            return page('Picture', '<p>Title: %s</p>' % enc(title(f.read(100000) if f else b'', '{*}title', variant == 'svg')))
        except etree.XMLSyntaxError:
            return page('Picture', '<p>This is no SVG.</p>', 400)


def basket(app, weak, variant):
    """A basket that is kept as a pickle in a cookie, and names that are asked by XPath."""
    doc = etree.fromstring('<staff><p><account>anna</account><word>anna-Pass1</word></p><p><account>ben</account><word>ben-Pass2</word></p></staff>')

    @app.get('/')
    def front():
        kept = request.cookies.get('basket', '')
        try:
            raw = base64.b64decode(kept)
            goods = (pickle.loads(raw) if weak else json.loads(raw)) if kept else {'chair': 1}
            shown = ', '.join(f'{enc(n)}: {enc(c)}' for n, c in goods.items())
        except Exception:
            return page('Basket', '<p>The basket is broken.</p>', 500 if weak else 400)
        answer = page('Basket', f'<p>{shown}</p>' + links(('/enter', 'Enter')))
        if not kept:
            answer.set_cookie('basket', base64.b64encode(pickle.dumps(goods) if weak else json.dumps(goods).encode()).decode(), httponly=True, samesite='Lax')
        return answer

    @app.route('/enter', methods=['GET', 'POST'])
    def enter():
        if request.method == 'GET':
            return page('Enter', form('/enter', [('account', 'anna'), ('word', '', 'password')], 'Enter'))
        a, w = request.form.get('account', '').replace('\0', ''), request.form.get('word', '').replace('\0', '')
        try:
            found = doc.xpath(f"//p[account='{a}' and word='{w}']") if weak else doc.xpath('//p[account=$a and word=$w]', a=a, w=w)
        except (etree.XPathError, ValueError):
            return page('Enter', '<p>The login failed.</p>', 500)
        return page('Enter', f'<p>Welcome {found[0].findtext("account")}.</p>' if found else '<p>Wrong name or word.</p>')


APPS = dict(uploads=uploads, preview=preview, reset=reset, signin=signin, shop=shop, notes=notes, docs=docs, track=track, cors=cors, feeds=feeds, basket=basket)
