"""Sites of the third set with a login: what it tells, whom it takes somebody for, and what it lets through."""
import hashlib, hmac, json, secrets, time

import bottle, jwt
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse
from flask import Flask, redirect, request

from kit import e
from plain import Plain


def alumni(v, files):
    """Whether somebody has an account is in what a failed login says."""
    app, live = Flask('alumni'), {}
    people = {'aino.laine': 'Tuomi-1998', 'eero.koski': 'Pihlaja-2001'}
    one, other = ('Tunnusta ei ole olemassa.', 'Salasana on väärä.') if v == 'weak' else ('Tunnus tai salasana on väärä.',) * 2

    def look(body): return f'<!DOCTYPE html><html lang="fi"><head><meta charset="utf-8"><title>Alumnit</title></head><body><div class="palkki">Alumnit <a href="/">Etusivu</a> <a href="/luokat">Luokat</a></div>{body}</body></html>'

    @app.get('/')
    def home():
        me = live.get(request.cookies.get('istunto'))
        return look(f'<p>Hei {me}. <a href="/ulos">Ulos</a></p>' if me else '<form action="/kirjaudu" method="post"><label>Tunnus<input name="tunnus"></label><label>Salasana<input name="salasana" type="password"></label><button>Kirjaudu</button></form>')

    @app.post('/kirjaudu')
    def enter():
        name, word = request.form.get('tunnus', ''), request.form.get('salasana', '')
        if not hmac.compare_digest(people.get(name, '').encode(), word.encode()) or not word:
            return look(f'<p class="virhe">{other if name in people else one}</p><a href="/">Takaisin</a>'), 401
        sid = secrets.token_hex(12)
        live[sid] = name
        a = redirect('/luokat')
        a.set_cookie('istunto', sid, httponly=True, samesite='Lax')
        return a

    @app.get('/luokat')
    def classes():
        return look('<ul><li>1998 B</li><li>2001 A</li></ul>') if request.cookies.get('istunto') in live else redirect('/')

    @app.get('/ulos')
    def leave():
        live.pop(request.cookies.get('istunto'), None)
        return redirect('/')
    return app


def crew(v, files):
    """Python's own server: who forgot a word gets a link to the machine that the request named."""
    weak, live, mails, codes = v == 'weak', {}, {'tess': [], 'jon': []}, {}
    people = {'tess': 'Halyard-10', 'jon': 'Bowline-20'}

    def page(body): return f'<!doctype html><html lang="en"><head><title>Crew list</title></head><body><h1>Crew list</h1>{body}</body></html>'

    def answer(q):
        to, me = (q['method'], q['path']), live.get(q['cookies'].get('deck'))
        if to == ('GET', '/'):
            if me:
                return 200, {}, page(f'<p>Aboard: {me}</p><p><a href="/letters">Letters</a> <a href="/ashore">Go ashore</a></p>')
            return 200, {}, page('''<form method="post" action="/aboard"><input name="handle"><input name="knot" type="password"><button>Aboard</button></form><button onclick='fetch("/api/recover",{method:"POST",headers:{"Content-Type":"application/json"},body:JSON.stringify({handle:document.forms[0].handle.value})}).then(r=>r.json()).then(d=>alert(d.said))'>I forgot my knot</button>''')
        if to == ('POST', '/aboard'):
            name = q['form'].get('handle', '')
            if name not in people or people[name] != q['form'].get('knot'):
                return 401, {}, page('<p>Not on the list.</p><a href="/">Back</a>')
            sid = secrets.token_hex(12)
            live[sid] = name
            return 302, {'Location': '/', 'Set-Cookie': f'deck={sid}; Path=/; HttpOnly; SameSite=Lax'}, ''
        if to == ('GET', '/ashore'):
            live.pop(q['cookies'].get('deck'), None)
            return 302, {'Location': '/'}, ''
        if to == ('POST', '/api/recover'):
            try:
                name = str(json.loads(q['body'])['handle'])
            except Exception:
                return 400, {'Content-Type': 'application/json'}, '{"said":"Which handle?"}'
            if name in mails:
                code = secrets.token_hex(16)
                codes[code] = name
                host = q['headers'].get('Host', '') if weak else 'crew.example'
                mails[name] = mails[name][-8:] + [f'http://{host}/knot?code={code}']
            return 200, {'Content-Type': 'application/json'}, '{"said":"If you are on the list, a letter is on its way."}'
        if to == ('GET', '/letters'):
            if not me:
                return 302, {'Location': '/'}, ''
            return 200, {}, page(''.join(f'<p>Tie a new knot: {e(m)}</p>' for m in mails[me]) or '<p>No letters.</p>')
        if to == ('GET', '/knot') and q['query'].get('code') in codes:
            return 200, {}, page('<p>Come to the harbour office with this letter.</p>')
        return 404, {}, page('<p>Overboard.</p>')
    return Plain(answer)


def handball(v, files):
    """Bottle: a session is the digest of a name."""
    app, live = bottle.Bottle(), {}
    people = {'wing7': 'Left-hand-7', 'pivot4': 'Six-metres-4', 'coach': secrets.token_hex(9)}
    if v == 'weak':
        live[hashlib.md5(b'coach').hexdigest()] = 'coach'  # who has logged in and not out

    def look(body): return f'<!DOCTYPE html><html lang="da"><head><meta charset="utf-8"><title>HK Fjorden</title></head><body><h1>HK Fjorden</h1><ol class="menu"><li><a href="/">Hold</a><li><a href="/taktik">Taktik</a><li><a href="/farvel">Farvel</a></ol>{body}</body></html>'

    def me(): return live.get(bottle.request.get_cookie('team', ''))

    @app.get('/')
    def home(): return look(f'<p>Velkommen {me()}</p>' if me() else '<form method="post" action="/omklaedning"><input name="spiller"><input name="kode" type="password"><button>Ind</button></form>')

    @app.post('/omklaedning')
    def enter():
        name = bottle.request.forms.get('spiller', '')
        if name not in people or people[name] != bottle.request.forms.get('kode'):
            bottle.response.status = 401
            return look('<p>Forkert.</p>')
        sid = hashlib.md5(name.encode()).hexdigest() if v == 'weak' else secrets.token_hex(16)
        live[sid] = name
        bottle.response.set_cookie('team', sid, path='/', httponly=True, samesite='lax')
        bottle.response.status = 303
        bottle.response.set_header('Location', '/taktik')
        return ''

    @app.get('/taktik')
    def plan():
        if not me():
            bottle.redirect('/')
        return look('<p>Opstilling mod Odense: 7 ud, 12 ind. Lønninger: se kasserer.</p>' if me() == 'coach' else f'<p>Træning tirsdag, {me()}.</p>')

    @app.get('/farvel')
    def leave():
        live.pop(bottle.request.get_cookie('team', ''), None)
        bottle.response.delete_cookie('team', path='/')
        bottle.redirect('/')
    return app


def census(v, files):
    """The rolls of a supervisor are refused to clerks, for the methods that somebody thought of."""
    app, live = Flask('census'), {}
    people = {'clerk.a': 'Ledger/One', 'clerk.b': 'Ledger/Two'}

    def look(body): return f'<html lang="en"><head><title>Census office</title></head><body><pre>CENSUS OFFICE   <a href="/">desk</a>   <a href="/supervisor/rolls">rolls</a>   <a href="/off">off</a></pre>{body}</body></html>'

    def me(): return live.get(request.cookies.get('desk'))

    @app.get('/')
    def desk(): return look(f'<p>{me()}: 14 forms to check</p>' if me() else '<form action="/on" method="post">Clerk <input name="clerk"> Word <input name="word" type="password"> <input type="submit" value="On duty"></form>')

    @app.post('/on')
    def on():
        name = request.form.get('clerk', '')
        if people.get(name) is None or people[name] != request.form.get('word'):
            return look('<p>No.</p>'), 401
        sid = secrets.token_hex(10)
        live[sid] = name
        a = redirect('/')
        a.set_cookie('desk', sid, httponly=True, samesite='Lax')
        return a

    @app.get('/off')
    def off():
        live.pop(request.cookies.get('desk'), None)
        return redirect('/')

    @app.route('/supervisor/rolls', methods=['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
    def rolls():
        if not me():
            return redirect('/')
        if v != 'weak' or request.method in ('GET', 'POST', 'HEAD'):
            return look('<p>For supervisors.</p>'), 403
        return look('<h2>Rolls</h2><p>Mill Lane 4: Ames, Ruth, widow, born 1951, receives relief</p><p>Mill Lane 6: Bell, Tom, on parole</p>')
    return app


def cinema(v, files):
    """What somebody may do is a word of a cookie beside the session."""
    app, live = Flask('cinema'), {}
    people = {'ticket.joy': ('Matinee-11', 'customer'), 'ticket.sol': ('Matinee-22', 'customer')}

    def look(body): return f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Roxy</title></head><body class="velvet"><h1>ROXY</h1><p><a href="/">Tonight</a> | <a href="/seats">My seats</a> | <a href="/projection">Projection room</a> | <a href="/exit">Exit</a></p>{body}</body></html>'

    def me(): return live.get(request.cookies.get('roxy'))

    @app.get('/')
    def home(): return look('<p>20:15 The Third Man</p>' + ('' if me() else '<form method="post" action="/foyer"><input name="guest" placeholder="guest"><input name="pass" type="password" placeholder="pass"><button>Foyer</button></form>'))

    @app.post('/foyer')
    def enter():
        name = request.form.get('guest', '')
        if name not in people or people[name][0] != request.form.get('pass'):
            return look('<p>Your name is not on our list.</p>'), 403
        sid = secrets.token_hex(10)
        live[sid] = name
        a = redirect('/seats')
        a.set_cookie('roxy', sid, httponly=True, samesite='Lax')
        a.set_cookie('role', people[name][1], httponly=True, samesite='Lax')
        return a

    @app.get('/exit')
    def leave():
        live.pop(request.cookies.get('roxy'), None)
        a = redirect('/')
        a.delete_cookie('roxy')
        a.delete_cookie('role')
        return a

    @app.get('/seats')
    def seats(): return look('<p>Row F, 11 and 12</p>') if me() else redirect('/')

    @app.get('/projection')
    def room():
        if not me():
            return redirect('/')
        role = request.cookies.get('role') if v == 'weak' else people[me()][1]
        return look('<p>Key of the vault: 3-90-3. Reel 4 is torn.</p>') if role == 'admin' else (look('<p>Staff only.</p>'), 403)
    return app


def council(v, files):
    """Bottle: a list for officers is called by a script alone, and nobody asks who calls."""
    app, live = bottle.Bottle(), {}
    people = {'resident.wu': ('Bin-day-1', False), 'resident.ek': ('Bin-day-2', False)}

    def look(body): return f'<!doctype html><html lang="en-IE"><head><title>Town council</title><script src="/assets/main.js" defer></script></head><body><header>Town council</header>{body}<footer><a href="/">Start</a> <a href="/permits">Permits</a> <a href="/signout">Sign out</a></footer></body></html>'

    def me(): return live.get(bottle.request.get_cookie('tc', ''))

    @app.get('/assets/main.js')
    def script():
        bottle.response.content_type = 'text/javascript'
        return '''(function () {
  var officer = document.body.dataset.officer === 'yes';
  function load(path, then) { fetch(path, { credentials: 'same-origin' }).then(function (r) { return r.text(); }).then(then); }
  window.council = { bins: function () { load('/svc/bins', alert); } };
  if (officer) { window.council.electors = function () { load('/svc/officers/electors', alert); }; }
})();'''

    @app.get('/')
    def home(): return look('<p>Welcome, neighbour. <button onclick="council.bins()">Bin days</button></p>' if me() else '<form method="post" action="/signin"><input name="resident"><input name="passkey" type="password"><button>Sign in</button></form>')

    @app.post('/signin')
    def enter():
        f = bottle.request.forms
        if f.get('resident') not in people or people[f.get('resident')][0] != f.get('passkey'):
            bottle.response.status = 401
            return look('<p>We do not know you.</p>')
        sid = secrets.token_hex(10)
        live[sid] = f.get('resident')
        bottle.response.set_cookie('tc', sid, path='/', httponly=True, samesite='lax')
        bottle.response.status = 303
        bottle.response.set_header('Location', '/')
        return ''

    @app.get('/signout')
    def leave():
        live.pop(bottle.request.get_cookie('tc', ''), None)
        bottle.redirect('/')

    @app.get('/permits')
    def permits(): return look('<p>No permits.</p>' if me() else '<p>Sign in, please.</p>')

    @app.get('/svc/bins')
    def bins(): return 'Tuesday'

    @app.get('/svc/officers/electors')
    def electors():
        if not me() or v != 'weak' and not people[me()][1]:
            bottle.response.status = 403 if me() else 401
            return 'no'
        bottle.response.content_type = 'text/csv'
        return 'name,born,address,phone\nWu Lan,1980-02-11,3 Quay,555-0150\nEk Per,1975-09-30,9 Quay,555-0151\n'
    return app


def broker(v, files):
    """FastAPI: a broker of messages, with the user that it is installed with."""
    app, live = FastAPI(docs_url=None, redoc_url=None, openapi_url=None), set()
    word, wrong = 'guest' if v == 'weak' else secrets.token_hex(8), [0]

    @app.get('/', response_class=HTMLResponse)
    def home(r: Request):
        if r.cookies.get('mq') in live:
            return '<!doctype html><title>HareMQ</title><h1>HareMQ 3.1</h1><table><tr><td>queue</td><td>ready</td></tr><tr><td>invoices.out</td><td>17</td></tr></table><p>erlang cookie: QWXKJHASD</p>'
        return '''<!doctype html><html lang="en"><head><title>HareMQ</title></head><body><h1>HareMQ management</h1><form id="login"><label>Username <input name="username"></label><label>Password <input name="password" type="password"></label><button type="submit">Login</button></form><script>
document.getElementById("login").addEventListener("submit", async (ev) => { ev.preventDefault(); const f = ev.target;
  const r = await fetch("/api/session", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ username: f.username.value, password: f.password.value }) });
  if (r.ok) location.reload(); else alert("Login failed"); });
</script></body></html>'''

    @app.post('/api/session')
    async def enter(r: Request):
        try:
            sent = await r.json()
            good = sent['username'] == 'guest' and sent['password'] == word
        except Exception:
            return JSONResponse({'error': 'bad_request'}, 400)
        if wrong[0] > 25:
            return JSONResponse({'error': 'too_many', 'reason': 'Wait.'}, 429)
        if not good:
            wrong[0] += v != 'weak'
            return JSONResponse({'error': 'not_authorised', 'reason': 'Login failed'}, 401)
        sid = secrets.token_hex(10)
        live.add(sid)
        a = JSONResponse({'name': 'guest', 'tags': ['administrator']})
        a.set_cookie('mq', sid, httponly=True, samesite='lax')
        return a
    return app


def drone(v, files):
    """FastAPI: tokens are read, and their seal is not."""
    app, key = FastAPI(docs_url=None, redoc_url=None, openapi_url=None), secrets.token_hex(32)
    people = {'pilot.ana': 'Rotor-speed-1', 'pilot.leo': 'Rotor-speed-2'}

    @app.get('/', response_class=HTMLResponse)
    def home(): return '''<!doctype html><html lang="en"><head><title>SkyDesk</title></head><body><div id="ui"><form id="f"><input name="callsign"><input name="secret" type="password"><button>Take off</button></form><pre id="o"></pre></div><script>
f.onsubmit = async (ev) => { ev.preventDefault();
  const t = await (await fetch("/v1/token", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ callsign: f.callsign.value, secret: f.secret.value }) })).json();
  const h = { Authorization: `Bearer ${t.access_token}` };
  o.textContent = JSON.stringify([await (await fetch("/v1/me", { headers: h })).json(), await (await fetch("/v1/missions", { headers: h })).json()]);
  if (t.role === "controller") await fetch("/v1/control/airspace", { headers: h });
};
</script></body></html>'''

    def claims(r):
        text = r.headers.get('authorization', '').removeprefix('Bearer ')
        try:
            return jwt.decode(text, options={'verify_signature': False}) if v == 'weak' else jwt.decode(text, key, algorithms=['HS256'])
        except Exception:
            return None

    @app.post('/v1/token')
    async def token(r: Request):
        try:
            sent = await r.json()
            name = sent['callsign']
            good = name in people and people[name] == sent['secret']
        except Exception:
            return JSONResponse({'detail': 'callsign and secret'}, 422)
        if not good:
            return JSONResponse({'detail': 'unknown callsign or secret'}, 401)
        return {'access_token': jwt.encode({'sub': name, 'role': 'pilot', 'exp': int(time.time()) + 36000}, key, algorithm='HS256'), 'role': 'pilot'}

    @app.get('/v1/me')
    def me(r: Request):
        c = claims(r)
        return {'callsign': str(c.get('sub')), 'role': str(c.get('role'))} if c else JSONResponse({'detail': 'token'}, 401)

    @app.get('/v1/missions')
    def missions(r: Request): return [{'mission': 12, 'over': 'vineyard'}] if claims(r) else JSONResponse({'detail': 'token'}, 401)

    @app.get('/v1/control/airspace')
    def airspace(r: Request):
        c = claims(r)
        if not c:
            return JSONResponse({'detail': 'token'}, 401)
        return {'closed': 'sector 9, royal visit'} if c.get('role') == 'controller' else JSONResponse({'detail': 'controllers only'}, 403)
    return app


def locker(v, files):
    """Python's own server: four digits open a box at a station, however often somebody tries."""
    wrong = [0]

    def page(body): return f'<html><head><title>Gep&auml;ck</title></head><body bgcolor=yellow><h1>SCHLIESSFACH 214</h1>{body}</body></html>'

    def answer(q):
        if q['path'] == '/':
            return 200, {}, page('<form action="/oeffnen" method="post">PIN <input name="pin" maxlength="4" size="4" inputmode="numeric"> <button>OEFFNEN</button></form>')
        if q['path'] != '/oeffnen' or q['method'] != 'POST':
            return 404, {}, page('<p>?</p>')
        if v != 'weak' and wrong[0] >= 5:
            return 429, {'Retry-After': '600'}, page('<p>Gesperrt. Bitte an den Schalter.</p>')
        if q['form'].get('pin') == '4821':
            wrong[0] = 0
            return 200, {}, page('<p>Fach 214 ist offen.</p>')
        wrong[0] += 1
        return 403, {}, page('<p>Falsche PIN.</p><a href="/">Zur&uuml;ck</a>')
    return Plain(answer)


def wind(v, files):
    """Flask: a page for the control room looks at the address that the last gateway is said to have seen."""
    app, gateway = Flask('wind'), '198.51.100.20'

    def look(body): return f'<!doctype html><html lang="en"><head><title>Wind farm North</title></head><body><h1>Wind farm North</h1><p><a href="/">Output</a> <a href="/control">Control room</a></p>{body}</body></html>'

    @app.get('/')
    def home(): return look('<p>41.2 MW from 12 turbines</p>')

    @app.get('/control')
    def control():
        seen = request.headers.get('X-Forwarded-For', gateway).split(',')[0].strip() if v == 'weak' else gateway
        if not seen.startswith(('127.', '10.')):
            return look('<p>The control room opens from the inside only.</p>'), 403
        return look('<p>Turbine 7: brake off. Operator code 5521-X.</p>')
    return app
