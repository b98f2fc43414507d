"""Challenges of access: records of others, rights that a client says it has, steps that are left out."""
import base64, hashlib, json, secrets, uuid

from flask import Response, abort, g, jsonify, redirect, request, session

from kit import bare, boot, e, form, gate, memory, plain, site, wind


def hotel(v, files):
    app, weak = site('hotel'), v == 'weak'
    users = {'guest@aurora.example': 'Sommer!24x', 'k.lind@aurora.example': secrets.token_hex(8)}
    stays = {1040: ('k.lind@aurora.example', 'Room 12, paid by card 4929'), 1041: ('k.lind@aurora.example', 'Suite 3, with a dog'),
             1042: ('guest@aurora.example', 'Room 7, two nights'), 1043: ('guest@aurora.example', 'Room 8, one night'),
             1044: ('k.lind@aurora.example', 'Room 1, late arrival, door code 7718')}
    links = [('/', 'Hotel Aurora'), ('/rooms', 'Rooms'), ('/stays', 'My stays'), ('/login', 'Sign in'), ('/logout', 'Sign out')]
    member = gate(app, lambda t, b, lang: boot(t, b, links), users, names=('email', 'password'), home='/stays')

    @app.get('/')
    def home(): return boot('Hotel Aurora', '<p>Twenty rooms by the lake. Breakfast from seven.</p>', links)

    @app.get('/rooms')
    def rooms(): return boot('Rooms', ''.join(f'<div class="card"><h5>Room {n}</h5><p>{90 + n} a night</p></div>' for n in (1, 3, 7, 8, 12)), links)

    @app.get('/stays')
    @member
    def mine():
        return boot('My stays', '<ul>' + ''.join(f'<li>Stay {n} <a href="/receipt?booking={n}">Receipt</a></li>' for n, s in stays.items() if s[0] == g.me) + '</ul>', links)

    @app.get('/receipt')
    @member
    def receipt():
        s = stays.get(request.args.get('booking', 0, int))
        if not s or not weak and s[0] != g.me:
            return boot('No such stay', '<p>We cannot find this stay.</p>', links), 404
        return Response(f'%PDF-1.4\n% Hotel Aurora\nReceipt {request.args["booking"]}\nGuest {s[0]}\n{s[1]}\n%%EOF\n', mimetype='application/pdf',
                        headers={'Content-Disposition': 'attachment; filename=receipt.pdf'})
    return app


def praxis(v, files):
    app, weak = site('praxis'), v == 'weak'
    users = {'mmueller': 'Kranich77', 'jschulz': secrets.token_hex(8)}
    records = {4: ('jschulz', 'Penicillin-Allergie, Blutgruppe A'), 5: ('jschulz', 'Rückenschmerzen'), 6: ('mmueller', 'Impfung im Mai'), 7: ('mmueller', 'Kontrolle'),
               8: ('jschulz', 'Überweisung Kardiologie')}
    links = [('/', 'Praxis am Park'), ('/zeiten', 'Sprechzeiten'), ('/akte', 'Meine Akte'), ('/logout', 'Abmelden')]
    member = gate(app, lambda t, b, lang: plain(t, b, links, 'de'), users, '/anmelden', ('benutzer', 'kennwort'),
                  ('Anmelden', 'Benutzername', 'Kennwort', 'Benutzername oder Kennwort ist falsch.'), '/akte')

    @app.get('/')
    def home(): return plain('Praxis am Park', '<p>Willkommen. Patienten melden sich bitte <a href="/anmelden">hier an</a>.</p>', links, 'de')

    @app.get('/zeiten')
    def times(): return plain('Sprechzeiten', '<p>Montag bis Freitag, 8 bis 12 Uhr</p>', links, 'de')

    @app.get('/akte')
    @member
    def mine():
        ids = [(base64.urlsafe_b64encode(f'befund-{n}'.encode()).decode().rstrip('='), n) for n, r in records.items() if r[0] == g.me]
        return plain('Meine Akte', ''.join(f'<p><a href="/akte/{i}">Befund {n}</a></p>' for i, n in ids), links, 'de')

    @app.get('/akte/<key>')
    @member
    def one(key):
        try:
            n = int(base64.urlsafe_b64decode(key + '=' * (-len(key) % 4)).decode().split('-')[1])
        except (ValueError, IndexError):
            abort(404)
        r = records.get(n)
        if not r or not weak and r[0] != g.me:
            return plain('Nicht gefunden', '<p>Diesen Befund gibt es nicht.</p>', links, 'de'), 404
        return plain(f'Befund {n}', f'<dl><dt>Patient</dt><dd>{r[0]}</dd><dt>Eintrag</dt><dd>{r[1]}</dd></dl>', links, 'de')
    return app


def badge(v, files):
    """Open registration; a badge is named by the MD5 of a number."""
    app, weak = site('badge'), v == 'weak'
    users, badges = {}, {}

    def issue(name, word, company):
        users[name] = word
        key = hashlib.md5(str(len(badges) + 1).encode()).hexdigest() if weak else secrets.token_hex(16)
        badges[name] = (key, company)
    for name, company in (('olga', 'Northwind, phone 555-0190'), ('pavel', 'Contoso, phone 555-0191'), ('ines', 'Fabrikam, phone 555-0192')):
        issue(name, secrets.token_hex(8), company)
    links = [('/', 'ConfBadge'), ('/agenda', 'Agenda'), ('/join', 'Register'), ('/login', 'Log in'), ('/badge', 'My badge')]
    member = gate(app, lambda t, b, lang: wind(t, b, links), users, names=('nick', 'secret'), words=('Log in', 'Nickname', 'Secret', 'That did not work.'), home='/badge')

    @app.get('/')
    def home(): return wind('ConfBadge', '<p>Two days, forty talks. <a href="/join">Register</a> for a badge.</p>', links)

    @app.get('/agenda')
    def agenda(): return wind('Agenda', '<ol><li>Opening</li><li>Databases at night</li><li>Closing</li></ol>', links)

    @app.route('/join', methods=['GET', 'POST'])
    def join():
        f, said = request.form, ''
        if request.method == 'POST':
            if f.get('nick') and f.get('secret') and f['nick'] not in users:
                issue(f['nick'][:40], f['secret'], f.get('company', '')[:80])
                return redirect('/login')
            said = '<p role="alert">This nickname cannot be taken.</p>'
        return wind('Register', said + form('/join', [('Nickname', 'nick'), ('Secret', 'secret', '', 'password'), ('Company', 'company')], 'Register'), links)

    @app.get('/badge')
    @member
    def mine(): return wind('My badge', f'<p>Your badge: <a href="/badge/{badges[g.me][0]}">open</a></p>', links)

    @app.get('/badge/<key>')
    @member
    def one(key):
        for name, (k, company) in badges.items():
            if k == key:
                return wind('Badge', f'<p>{e(name)}</p><p>{e(company)}</p>', links)
        return wind('Badge', '<p>No such badge.</p>', links), 404
    return app


def cowork(v, files):
    """A front end of scripts with a token in localStorage; the list of rooms names who booked by UUID."""
    app, weak = site('cowork'), v == 'weak'
    people = {str(uuid.UUID(int=uuid.uuid4().int)): p for p in (
        {'login': 'tara', 'password': 'Tulip-55', 'iban': 'DE02 1203 0000'}, {'login': 'omar', 'password': 'Maple-66', 'iban': 'NL91 ABNA 0417'},
        {'login': 'yuki', 'password': secrets.token_hex(8), 'iban': 'FR14 2004 1010'})}
    tokens = {}
    rooms = [{'room': f'Room {i}', 'booked_by': k} for i, k in enumerate(people, 1)]

    def me():
        return tokens.get(request.headers.get('Authorization', '').removeprefix('Bearer '))

    @app.get('/')
    def home():
        return '''<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Desk &amp; Co</title></head><body><div id="app">Loading</div><script src="/static/app.js"></script></body></html>'''

    @app.get('/static/app.js')
    def script():
        return Response('''const api = '/api/v2';
const app = document.getElementById('app');
async function call(path, options = {}) {
  const headers = { 'Content-Type': 'application/json' };
  const token = localStorage.getItem('token');
  if (token) headers.Authorization = 'Bearer ' + token;
  const r = await fetch(api + path, { ...options, headers });
  if (r.status === 401) return login();
  return r.json();
}
function login() {
  app.innerHTML = '<form id="in"><input name="login" placeholder="Login"><input name="password" type="password"><button>Enter</button></form>';
  document.getElementById('in').onsubmit = async (ev) => {
    ev.preventDefault();
    const f = new FormData(ev.target);
    const out = await fetch(api + '/auth', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ login: f.get('login'), password: f.get('password') }) });
    const got = await out.json();
    if (got.token) { localStorage.setItem('token', got.token); localStorage.setItem('id', got.id); start(); }
  };
}
async function start() {
  const rooms = await call('/rooms');
  const mine = await call('/members/' + localStorage.getItem('id'));
  if (!rooms) return;
  app.textContent = '';
  for (const r of rooms) { const p = document.createElement('p'); p.textContent = r.room; app.append(p); }
  const b = document.createElement('b'); b.textContent = mine.login; app.append(b);
}
localStorage.getItem('token') ? start() : login();
''', mimetype='text/javascript')

    @app.post('/api/v2/auth')
    def auth():
        d = request.get_json(silent=True) or {}
        for k, p in people.items():
            if isinstance(d, dict) and p['login'] == d.get('login') and p['password'] == d.get('password'):
                t = secrets.token_urlsafe(24)
                tokens[t] = k
                return jsonify(token=t, id=k)
        return jsonify(error='bad credentials'), 403

    @app.get('/api/v2/rooms')
    def list_rooms(): return jsonify(rooms) if me() else (jsonify(error='sign in'), 401)

    @app.get('/api/v2/members/<key>')
    def member(key):
        if not me():
            return jsonify(error='sign in'), 401
        if key not in people or not weak and key != me():
            return jsonify(error='no such member'), 404
        return jsonify(login=people[key]['login'], iban=people[key]['iban'])
    return app


def inbox(v, files):
    app, weak = site('inbox'), v == 'weak'
    users = {'lea': 'Paprika#3', 'tom': secrets.token_hex(8)}
    mails = [(1, 'tom', 'Alarm code', 'It is 4471 now.'), (2, 'tom', 'Raise', 'Granted, 300 a month.'), (3, 'lea', 'Lunch', 'At noon?'), (4, 'lea', 'Printer', 'It is on fire.'),
             (5, 'tom', 'Invoice', 'Pay the 900.')]
    links = [('/', 'Mail'), ('/help', 'Help'), ('/logout', 'Leave')]
    member = gate(app, lambda t, b, lang: bare(t, b), users, '/enter', ('user', 'pass'), ('Enter', 'User', 'Pass', 'no'), '/')

    @app.get('/')
    @member
    def mine():
        return bare('Inbox of ' + g.me, ''.join(f'<div>{m[2]} {form("/open", [("", "message_id", m[0], "hidden")], "Open")}</div>' for m in mails if m[1] == g.me), links)

    @app.get('/help')
    def helping(): return bare('Help', '<p>Press Open to read a mail.</p>', links)

    @app.post('/open')
    @member
    def show():
        for n, to, subject, text in mails:
            if str(n) == request.form.get('message_id') and (weak or to == g.me):
                return bare(subject, f'<p>To: {to}</p><pre>{text}</pre>', links)
        return bare('Not found', '<p>There is no such mail.</p>', links), 404
    return app


def forum(v, files):
    """Anyone may register; the role comes along."""
    app, weak = site('forum'), v == 'weak'
    users, roles = {'mod': secrets.token_hex(8)}, {'mod': 'moderator'}
    links = [('/', 'Foro'), ('/registro', 'Registro'), ('/entrar', 'Entrar'), ('/perfil', 'Perfil'), ('/moderacion', 'Moderación')]
    member = gate(app, lambda t, b, lang: boot(t, b, links, 'es'), users, '/entrar', ('usuario', 'clave'), ('Entrar', 'Usuario', 'Clave', 'Usuario o clave incorrectos'), '/perfil')

    @app.get('/')
    def home(): return boot('Foro de jardinería', '<p>Rosas, tomates y más. <a href="/registro">Únete</a>.</p>', links, 'es')

    @app.route('/registro', methods=['GET', 'POST'])
    def join():
        f, said = request.form, ''
        if request.method == 'POST':
            if f.get('usuario') and f.get('clave') and f['usuario'] not in users:
                users[f['usuario']] = f['clave']
                roles[f['usuario']] = f.get('rol', 'miembro') if weak else 'miembro'
                return redirect('/entrar')
            said = '<p class="alert">Ese nombre no está libre.</p>'
        return boot('Registro', said + form('/registro', [('Usuario', 'usuario'), ('Clave', 'clave', '', 'password'), ('', 'rol', 'miembro', 'hidden')], 'Registrarme'), links, 'es')

    @app.get('/perfil')
    @member
    def profile(): return boot('Perfil', f'<p>Usuario: {e(g.me)}</p><p>Rol: {e(roles[g.me])}</p>', links, 'es')

    @app.get('/moderacion')
    @member
    def queue():
        if roles[g.me] not in ('moderator', 'moderador', 'admin'):
            return boot('Prohibido', '<p>Solo para moderadores.</p>', links, 'es'), 403
        return boot('Moderación', '<p>Informe: spam de 203.0.113.9</p>', links, 'es')
    return app


def library(v, files):
    """Who is an administrator stands in a cookie, as JSON in base64."""
    app, weak = site('library'), v == 'weak'
    users = {'reader': 'Bookworm9', 'chief': secrets.token_hex(8)}
    links = [('/', 'Library'), ('/books', 'Books'), ('/desk', 'Front desk'), ('/logout', 'Log out')]
    member = gate(app, lambda t, b, lang: wind(t, b, links), users, home='/start')

    @app.get('/start')
    @member
    def start():
        answer = redirect('/')
        answer.set_cookie('profile', base64.b64encode(json.dumps({'name': g.me, 'librarian': False}).encode()).decode(), httponly=True, samesite='Lax')
        return answer

    @app.get('/')
    def home(): return wind('Town library', '<p>Open until six. ' + (f'Hello, {g.me}.' if g.me else '<a href="/login">Log in</a>') + '</p>', links)

    @app.get('/books')
    def books(): return wind('Books', '<ul><li>Dune</li><li>Emma</li></ul>', links)

    @app.get('/desk')
    @member
    def desk():
        try:
            p = json.loads(base64.b64decode(request.cookies.get('profile', '')))
        except ValueError:
            p = {}
        if not (isinstance(p, dict) and p.get('librarian') is True if weak else g.me == 'chief'):
            return wind('Front desk', '<p>For librarians.</p>', links), 403
        return wind('Front desk', '<table><tr><td>tom</td><td>owes 12.40</td><td>Elm street 4</td></tr></table>', links)
    return app


def tickets(v, files):
    """A booking in three steps, of which the second, the payment, may be left out."""
    app, weak = site('tickets'), v == 'weak'
    users = {'fan': 'Encore!88'}
    links = [('/', 'Concerts'), ('/choose', 'Book'), ('/mine', 'My tickets')]
    held, paid, got = {}, set(), {}
    member = gate(app, lambda t, b, lang: boot(t, b, links), users)

    @app.get('/')
    def home(): return boot('Concerts', '<p>Tonight: The Lamps. <a href="/login">Sign in</a> to <a href="/choose">book</a>.</p>', links)

    @app.route('/choose', methods=['GET', 'POST'])
    @member
    def choose():
        if request.method == 'POST':
            held[g.me] = request.form.get('seat', 'A1')[:10]
            paid.discard(g.me)
            return redirect('/pay')
        return boot('Step 1: seat', form('/choose', [('Seat', 'seat', 'A1', 'text')], 'Next'), links)

    @app.route('/pay', methods=['GET', 'POST'])
    @member
    def pay():
        if request.method == 'POST':
            if request.form.get('card') != '4111111111111111':
                return boot('Step 2: payment', '<p>The card was declined.</p>', links), 402
            paid.add(g.me)
            return redirect('/finish')
        return boot('Step 2: payment', form('/pay', [('Card number', 'card')], 'Pay 60'), links)

    @app.route('/finish', methods=['GET', 'POST'])
    @member
    def finish():
        if g.me not in held or not weak and g.me not in paid:
            return redirect('/choose')
        if request.method == 'POST':
            got[g.me] = held.pop(g.me)
            return redirect('/mine')
        return boot('Step 3: confirm', form('/finish', [], 'Confirm'), links)

    @app.get('/mine')
    @member
    def mine(): return boot('My tickets', f'<p>Ticket for seat {e(got[g.me])}, entry code 99182</p>' if g.me in got else '<p>None yet.</p>', links)
    return app


def warehouse(v, files):
    """A JSON interface whose PATCH forgets to ask whose it is, behind classic pages."""
    app, weak = site('warehouse'), v == 'weak'
    users = {'dock1': 'Forklift-1', 'dock2': 'Forklift-2'}
    pallets = {1: ['dock1', 'bolts'], 2: ['dock2', 'paint'], 3: ['dock1', 'tiles']}
    links = [('/', 'Pallets'), ('/about', 'About'), ('/logout', 'Out')]
    member = gate(app, lambda t, b, lang: bare(t, b), users, words=('In', 'Dock', 'Key', 'Wrong dock or key'), names=('dock', 'key'))

    @app.get('/')
    @member
    def home():
        return bare('Pallets of ' + g.me, ''.join(f'<p data-id="{n}">{n}: {e(p[1])} <a href="/api/pallet/{n}">json</a> <input id="n{n}" value="{e(p[1])}"><button onclick="save({n})">save</button></p>'
                    for n, p in pallets.items() if p[0] == g.me) + '''<script>
function save(n) { fetch('/api/pallet/' + n, { method: 'PATCH', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ label: document.getElementById('n' + n).value }) }).then(() => location.reload()); }
</script>''', links)

    @app.get('/about')
    def about(): return bare('About', '<p>Stock of three docks.</p>', links)

    @app.get('/api/pallet/<int:n>')
    def one(n):
        if n not in pallets or pallets[n][0] != g.me:
            return jsonify(error='not found'), 404
        return jsonify(id=n, label=pallets[n][1])

    @app.patch('/api/pallet/<int:n>')
    def change(n):
        d = request.get_json(silent=True)
        if not g.me:
            return jsonify(error='log in'), 401
        if n not in pallets or not weak and pallets[n][0] != g.me or not isinstance(d, dict):
            return jsonify(error='not found'), 404
        pallets[n][1] = str(d.get('label', pallets[n][1]))[:60]
        return jsonify(id=n, dock=pallets[n][0], label=pallets[n][1])
    return app


def payroll(v, files):
    """A page for the office that a script names; it asks nobody."""
    app, weak = site('payroll'), v == 'weak'
    users = {'temp': 'Stapler-4', 'boss': secrets.token_hex(8)}
    links = [('/', 'Home'), ('/slips', 'My slips'), ('/logout', 'Sign out')]
    member = gate(app, lambda t, b, lang: wind(t, b), users)

    @app.get('/')
    def home(): return wind('Payroll', '<p>Your slips, on time. <a href="/login">Sign in</a></p><script src="/menu.js"></script>', links)

    @app.get('/menu.js')
    def menu():
        return Response("""const items = [{ to: '/slips', for: 'all' }, { to: '/office/salaries', for: 'boss' }];
const role = document.body.dataset.role || 'all';
items.filter(i => i.for === role).forEach(i => { const a = document.createElement('a'); a.href = i.to; a.textContent = i.to; document.body.append(a); });
""", mimetype='application/javascript')

    @app.get('/slips')
    @member
    def slips(): return wind('My slips', '<p>May: 2100</p>', links)

    @app.get('/office/salaries')
    @member
    def salaries():
        if not weak and g.me != 'boss':
            return wind('Not for you', '<p>This page is for the office.</p>', links), 403
        return wind('Salaries', '<table><tr><td>temp</td><td>2100</td></tr><tr><td>boss</td><td>9900</td></tr></table>', links)
    return app
