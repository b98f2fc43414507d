"""Challenges of what a browser runs and keeps: scripts, redirects, uploads, CORS, forged requests, sessions."""
import json, os, re, secrets

from flask import Response, g, jsonify, redirect, request, session

from kit import bare, boot, e, form, gate, plain, site, wind


def movies(v, files):
    """Reflected; script tags are removed once."""
    app, weak = site('movies'), v == 'weak'
    links = [('/', 'Movies'), ('/find', 'Find'), ('/top', 'Top')]

    @app.get('/')
    def home(): return boot('Movies', form('/find', [('Title', 'title')], 'Find', 'get'), links)

    @app.get('/top')
    def top(): return boot('Top', '<ol><li>Stalker</li><li>Ran</li></ol>', links)

    @app.get('/find')
    def find():
        t = re.sub(r'</?script>', '', request.args.get('title', ''))
        t = re.sub(r'on\w+\s*=', '', t, flags=re.I) if weak else e(t)
        return boot('Find', f'<p>No movie called {t}</p>', links)
    return app


def players(v, files):
    """In a string of a script; quotes are escaped, a backslash is not."""
    app, weak = site('players'), v == 'weak'
    links = [('/', 'Radio'), ('/play?station=jazz', 'Jazz'), ('/play?station=rock', 'Rock')]

    @app.get('/')
    def home(): return wind('Radio', '<p>Choose a station.</p>', links)

    @app.get('/play')
    def play():
        s = request.args.get('station', '').replace('<', '\\x3c')
        s = s.replace('"', '\\"') if weak else json.dumps(s)[1:-1]
        return wind('Now playing', f'<p id="now"></p><script>var station = "{s}"; document.getElementById("now").textContent = station;</script>', links)
    return app


def travel(v, files):
    """In an attribute of a form; angle brackets are escaped, quotes are not."""
    app, weak = site('travel'), v == 'weak'
    links = [('/', 'Viajes'), ('/buscar', 'Buscar'), ('/ofertas', 'Ofertas')]

    @app.get('/')
    def home(): return plain('Viajes', '<p>Playas y montañas.</p>', links, 'es')

    @app.get('/ofertas')
    def offers(): return plain('Ofertas', '<p>Lisboa 200</p>', links, 'es')

    @app.route('/buscar', methods=['GET', 'POST'])
    def search():
        d = request.form.get('destino', '')
        value = d.replace('<', '&lt;').replace('>', '&gt;') if weak else e(d)
        return plain('Buscar', f'<form method="post" action="/buscar"><input name="destino" value="{value}"><select name="mes"><option>mayo<option>junio</select><input type="submit" value="Buscar"></form>' +
                     ('<p>Sin resultados.</p>' if d else ''), links, 'es')
    return app


def boards(v, files):
    """State of a page as JSON in a script element; what closes it is not escaped."""
    app, weak = site('boards'), v == 'weak'
    links = [('/', 'Boards'), ('/boards?filter=open', 'Open'), ('/boards?filter=done', 'Done')]

    @app.get('/')
    def home(): return bare('Boards', '<p>Cards on boards.</p>', links)

    @app.get('/boards')
    def show():
        state = json.dumps({'filter': request.args.get('filter', ''), 'cards': ['paint', 'saw']})
        if not weak:
            state = state.replace('<', '\\u003c')
        return bare('Boards', f'<div id="root"></div><script>window.__STATE__ = {state};</script>', links)
    return app


def guests(v, files):
    """Stored, in upper case, without a login."""
    app, weak = site('guests'), v == 'weak'
    kept = ['LOVELY PLACE']
    links = [('/', 'Inn'), ('/book', 'Guest book'), ('/way', 'How to find us')]

    @app.get('/')
    def home(): return plain('The Old Inn', '<p>Since 1720.</p>', links)

    @app.get('/way')
    def way(): return plain('How to find us', '<p>Left at the oak.</p>', links)

    @app.route('/book', methods=['GET', 'POST'])
    def book():
        if request.method == 'POST':
            kept.append(request.form.get('entry', '')[:500].upper())
            return redirect('/book')
        return plain('Guest book', ''.join(f'<blockquote>{k if weak else e(k)}</blockquote>' for k in kept[-30:]) + form('/book', [('Entry', 'entry')], 'Sign'), links)
    return app


def tasks(v, files):
    """Stored by an interface, and set as HTML by a script of the page that all members see. Two users."""
    app, weak = site('tasks'), v == 'weak'
    users = {'iris': 'Lavender-1', 'noah': 'Cedar-2'}
    kept = [{'by': 'noah', 'text': 'water the plants'}]
    links = [('/', 'Tasks'), ('/logout', 'Leave')]
    member = gate(app, lambda t, b, lang: boot(t, b), users)

    @app.get('/')
    @member
    def home():
        way = 'innerHTML' if weak else 'textContent'
        return boot('Tasks', f'''<form id="f"><input name="text"><button>Add</button></form><ul id="l"></ul><script>
const l = document.getElementById('l');
function show() {{ fetch('/api/tasks').then(r => r.json()).then(all => {{ l.textContent = ''; for (const t of all) {{ const li = document.createElement('li'); li.{way} = t.text; l.append(li); }} }}); }}
document.getElementById('f').onsubmit = ev => {{ ev.preventDefault(); fetch('/api/tasks', {{ method: 'POST', headers: {{ 'Content-Type': 'application/json' }}, body: JSON.stringify({{ text: ev.target.text.value }}) }}).then(show); }};
show();
</script>''', links)

    @app.route('/api/tasks', methods=['GET', 'POST'])
    def api():
        if not g.me:
            return jsonify(error='log in'), 401
        if request.method == 'POST':
            d = request.get_json(silent=True) or {}
            kept.append({'by': g.me, 'text': str(d.get('text', ''))[:300]})
            return jsonify(ok=True), 201
        return jsonify(kept[-40:])
    return app


def welcome(v, files):
    """The fragment of the address is written into the page."""
    app, weak = site('welcome'), v == 'weak'

    @app.get('/')
    def home():
        do = "box.innerHTML = 'Section: ' + name;" if weak else "box.textContent = 'Section: ' + name;"
        return f'''<!doctype html><html><head><title>Handbook</title></head><body><nav><a href="#start">Start</a> <a href="#travel">Travel</a> <a href="/contact">Contact</a></nav><div id="box"></div>
<script>function show() {{ var name = decodeURIComponent(location.hash.slice(1)); var box = document.getElementById('box'); {do} }} window.addEventListener('hashchange', show); show();</script></body></html>'''

    @app.get('/contact')
    def contact(): return '<!doctype html><title>Contact</title><p>Room 4</p><a href="/">Back</a>'
    return app


def club(v, files):
    """Where a login leads to must begin with a slash; two of them do."""
    app, weak = site('club'), v == 'weak'
    users = {'member': 'Racket-40'}
    links = [('/', 'Tennis club'), ('/courts', 'Courts'), ('/in?return=/courts', 'Sign in'), ('/out', 'Sign out')]

    @app.get('/')
    def home(): return boot('Tennis club', '<p>Four courts.</p>', links)

    @app.get('/courts')
    def courts(): return boot('Courts', '<p>Court 2 is free.</p>' if session.get('who') else '<p>For members.</p>', links)

    @app.get('/out')
    def out():
        session.clear()
        return redirect('/')

    @app.route('/in', methods=['GET', 'POST'])
    def enter():
        to = request.values.get('return', '/')
        if request.method == 'POST' and users.get(request.form.get('login', '')) == request.form.get('password', ''):
            session['who'] = request.form['login']
            if not to.startswith('/') or not weak and (to.startswith('//') or '\\' in to):
                to = '/'
            return Response('', 302, {'Location': to.replace('\n', '').replace('\r', '')})
        return boot('Sign in', form('/in', [('Login', 'login'), ('Password', 'password', '', 'password'), ('', 'return', to, 'hidden')], 'Sign in'), links)
    return app


def artists(v, files):
    """Pictures may be SVG, with what it has."""
    app, weak = site('artists'), v == 'weak'
    users = {'painter': 'Ochre-12'}
    kept = {}
    links = [('/', 'Gallery'), ('/submit', 'Submit'), ('/logout', 'Leave')]
    member = gate(app, lambda t, b, lang: wind(t, b), users)

    @app.get('/')
    @member
    def home(): return wind('Gallery', ''.join(f'<img src="/art/{n}" alt="">' for n in kept) or '<p>Empty walls.</p>', links)

    @app.route('/submit', methods=['GET', 'POST'])
    @member
    def submit():
        said, f = '', request.files.get('art')
        if f and f.filename:
            name = re.sub(r'[^\w.-]', '', f.filename)
            if not re.search(r'\.(png|jpe?g|svg)$', name) or len(kept) > 200:
                said = '<p>Only PNG, JPEG and SVG.</p>'
            else:
                kept[name] = f.read(20000)
                return redirect('/')
        return wind('Submit', said + '<form method="post" enctype="multipart/form-data"><input type="file" name="art"><button>Submit</button></form>', links)

    @app.get('/art/<name>')
    def art(name):
        if name not in kept:
            return '', 404
        kind = {'svg': 'image/svg+xml', 'png': 'image/png'}.get(name.rsplit('.', 1)[-1], 'image/jpeg')
        kind = kind if weak or 'svg' not in kind else 'application/octet-stream'
        more = {} if weak else {'Content-Security-Policy': "default-src 'none'; sandbox", 'Content-Disposition': 'attachment', 'X-Content-Type-Options': 'nosniff'}
        return Response(kept[name], mimetype=kind, headers=more)
    return app


def energy(v, files):
    """CORS for any origin with credentials; a forged change of the mail; a session that a login keeps."""
    app = site('energy')
    cors, forged, fixed = v in ('weak', 'cors'), v == 'forged', v == 'fixed'
    users, mails, live = {'rosa': 'Turbine-5'}, {'rosa': 'rosa@power.example'}, {}
    links = [('/', 'Power'), ('/me', 'My account'), ('/signin', 'Sign in')]
    none = 'Lax' if not (cors or forged) else 'None'

    def who(): return live.get(request.cookies.get('pid'))

    @app.before_request
    def start():
        g.new = None if request.cookies.get('pid') else secrets.token_hex(12)

    @app.after_request
    def end(answer):
        if g.new:
            answer.set_cookie('pid', g.new, httponly=True, samesite=none, secure=none == 'None')
        return answer

    @app.get('/')
    def home(): return boot('Power to the people', '<p>Wind and sun.</p>', links)

    @app.route('/signin', methods=['GET', 'POST'])
    def signin():
        if request.method == 'POST' and users.get(request.form.get('user', '')) == request.form.get('password', ''):
            sid = request.cookies.get('pid') if fixed and request.cookies.get('pid') else secrets.token_hex(12)
            live[sid], g.new = request.form['user'], sid
            return redirect('/me')
        return boot('Sign in', form('/signin', [('User', 'user'), ('Password', 'password', '', 'password')], 'Sign in'), links)

    @app.get('/me')
    def me():
        if not who():
            return redirect('/signin')
        token = '' if forged else 'k' + (request.cookies.get('pid') or '')[::-1]
        return boot('My account', f'<p>Mail: {e(mails[who()])}</p>' + form('/me/mail', [('Mail', 'mail', mails[who()], 'email')] + ([] if forged else [('', 'csrf', token, 'hidden')]), 'Change') +
                    '<script>fetch("/api/usage").then(r => r.json()).then(u => { document.title = u.kwh + " kWh"; })</script>', links)

    @app.post('/me/mail')
    def mail():
        if not who():
            return redirect('/signin')
        if not forged and request.form.get('csrf') != 'k' + request.cookies.get('pid', '')[::-1]:
            return boot('Refused', '<p>Please send the form again.</p>', links), 403
        mails[who()] = request.form.get('mail', '')[:100]
        return redirect('/me')

    @app.get('/api/usage')
    def usage():
        if not who():
            return jsonify(error='sign in'), 401
        answer, origin = jsonify(kwh=1412, meter='M-77120', mail=mails[who()]), request.headers.get('Origin')
        if origin and (cors or origin == 'https://power.example'):
            answer.headers['Access-Control-Allow-Origin'], answer.headers['Access-Control-Allow-Credentials'], answer.headers['Vary'] = origin, 'true', 'Origin'
        return answer
    return app
