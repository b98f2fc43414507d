"""Sites of the second set whose weakness is access: what others own, what others may do, and whom a request speaks for."""
import secrets

from fastapi import FastAPI, Header, HTTPException
from fastapi.responses import HTMLResponse
from flask import Response, abort, g, jsonify, make_response, request
from pydantic import BaseModel

from kit import e, form, gate, site


def clinic(v, files):
    """Results of a laboratory are fetched by a script that names the patient in a header."""
    app, weak = site('clinic'), v == 'weak'
    users = {'h.okafor': 'Thyme-Garden7', 'r.silva': secrets.token_hex(8), 'b.novak': secrets.token_hex(8)}
    numbers = {'h.okafor': '20418', 'r.silva': '20417', 'b.novak': '20419'}
    results = {'20417': [{'test': 'HIV 1/2', 'result': 'see doctor', 'phone': '555-0117'}], '20418': [{'test': 'Vitamin D', 'result': 'low', 'phone': '555-0118'}],
               '20419': [{'test': 'Glucose', 'result': '11.2', 'phone': '555-0119'}]}

    def look(title, body, lang='en'):
        return f'''<!DOCTYPE html><html lang="{lang}"><head><meta charset="utf-8"><title>{title} &ndash; Riverside Clinic</title></head>
<body><div role="banner"><img alt="" src="data:,"><b>Riverside Clinic</b></div><div role="navigation"><a href="/">Start</a> <a href="/hours">Opening hours</a> <a href="/portal">Patient portal</a></div>
<div role="main"><h2>{title}</h2>{body}</div></body></html>'''
    member = gate(app, look, users, '/portal/login', ('patient', 'passphrase'), ('Log on', 'Patient', 'Passphrase', 'We do not know this patient, or the passphrase is wrong.'), '/portal')

    @app.get('/')
    def home(): return look('Welcome', '<p>General practice and laboratory. No appointment needed before ten.</p>')

    @app.get('/hours')
    def hours(): return look('Opening hours', '<p>Mo-Fr 8-18</p>')

    @app.get('/portal')
    @member
    def portal():
        return look('Your results', f'''<div id="results" data-patient="{numbers[g.me]}">Loading &hellip;</div><p><a href="/logout">Log off</a></p><script src="/portal.js"></script>''')

    @app.get('/portal.js')
    def script():
        return Response('''(function () {
  var box = document.getElementById('results');
  fetch('/portal/results', { headers: { 'X-Patient': box.dataset.patient } }).then(function (r) { return r.json(); }).then(function (list) {
    box.textContent = list.map(function (r) { return r.test + ': ' + r.result; }).join('; ');
  });
})();''', mimetype='application/javascript')

    @app.get('/portal/results')
    def mine():
        if not g.me:
            return jsonify(error='log on first'), 401
        asked = request.headers.get('X-Patient', numbers[g.me])
        if asked not in results or not weak and asked != numbers[g.me]:
            return jsonify(error='unknown patient'), 404
        return jsonify(results[asked])
    return app


def lending(v, files):
    """A library: the session says that a reader is logged in, and a second cookie says whose card it is."""
    app, weak = site('lending'), v == 'weak'
    cards = {'51007': ('Ida', 'Ulysses, due 3 May'), '51008': ('Per', 'Divorce for beginners, due 9 May'), '51009': ('Liv', 'Moby Dick, due 1 June')}
    users = {'51007': 'reader-of-Joyce'}

    def look(title, body, lang='no'):
        return f'''<!doctype html><html lang="{lang}"><head><title>{title}</title><style>nav li{{display:inline}}</style></head><body><nav><ul><li><a href="/">Bibliotek</a></li><li><a href="/nytt">Nytt</a></li><li><a href="/lan">Mine lån</a></li></ul></nav><main><h1>{title}</h1>{body}</main></body></html>'''
    member = gate(app, look, users, '/logg-inn', ('kort', 'pin'), ('Logg inn', 'Kortnummer', 'PIN', 'Feil kortnummer eller PIN.'), '/lan', lang='no')

    @app.get('/')
    def home(): return look('Bibliotek', '<p>Åpent hver dag til åtte.</p>')

    @app.get('/nytt')
    def news(): return look('Nytt', '<p>Nye krimbøker er kommet.</p>')

    @app.get('/lan')
    @member
    def loans():
        card = request.cookies.get('card', g.me) if weak else g.me
        if card not in cards:
            return look('Mine lån', '<p>Kortet finnes ikke.</p>'), 404
        answer = make_response(look('Mine lån', f'<p>{cards[card][0]}</p><ul><li>{cards[card][1]}</li></ul><a href="/logout">Logg ut</a>'))
        if 'card' not in request.cookies:
            answer.set_cookie('card', g.me, httponly=True, samesite='Lax')
        return answer
    return app


class Credentials(BaseModel):
    username: str
    password: str


def helpdesk(v, files):
    """FastAPI with a description: an export that is for staff asks for any token, and a profile takes fields that are not its own."""
    app, weak = FastAPI(title='Helpdesk', version='3.1'), v == 'weak'
    users = {'cora': {'password': 'Lantern-18', 'name': 'Cora', 'phone': '555-0101', 'role': 'customer'}, 'dev': {'password': 'Mortar-72', 'name': 'Dev', 'phone': '555-0102', 'role': 'customer'},
             'sue': {'password': secrets.token_hex(8), 'name': 'Sue', 'phone': '555-0103', 'role': 'staff'}}
    tickets = {1: ('cora', 'Printer on fire'), 2: ('dev', 'Mouse is missing'), 3: ('sue', 'Raise for Bo')}
    tokens = {}

    def who(text):
        name = tokens.get((text or '').removeprefix('Bearer '))
        if not name:
            raise HTTPException(401, 'a token, please')
        return name

    @app.get('/', response_class=HTMLResponse)
    def home():
        return '''<!doctype html><html lang="en"><head><title>Helpdesk</title></head><body><h1>Helpdesk</h1><p>This is an interface. Read its <a href="/docs">documentation</a> (<a href="/openapi.json">OpenAPI</a>).</p></body></html>'''

    @app.post('/auth')
    def auth(body: Credentials):
        one = users.get(body.username)
        if not one or one['password'] != body.password:
            raise HTTPException(401, 'wrong name or password')
        token = secrets.token_urlsafe(18)
        tokens[token] = body.username
        return {'token': token, 'kind': 'bearer'}

    @app.get('/tickets')
    def mine(authorization: str = Header(None)):
        me = who(authorization)
        return [{'id': n, 'text': t[1]} for n, t in tickets.items() if t[0] == me]

    @app.get('/tickets/{n}')
    def one(n: int, authorization: str = Header(None)):
        me = who(authorization)
        if n not in tickets or tickets[n][0] != me:
            raise HTTPException(404, 'no such ticket')
        return {'id': n, 'text': tickets[n][1], 'by': me}

    @app.get('/me')
    def profile(authorization: str = Header(None)):
        one = users[who(authorization)]
        return {k: one[k] for k in ('name', 'phone', 'role')}

    @app.patch('/me')
    def change(body: dict, authorization: str = Header(None)):
        one = users[who(authorization)]
        for k, x in body.items():
            if isinstance(x, str) and (k in ('name', 'phone') or weak and k in one and k != 'password'):
                one[k] = x[:60]
        return {k: one[k] for k in ('name', 'phone', 'role')}

    @app.get('/staff/customers')
    def export(authorization: str = Header(None)):
        me = who(authorization)
        if not weak and users[me]['role'] != 'staff':
            raise HTTPException(403, 'for staff')
        return [{'login': k, 'name': u['name'], 'phone': u['phone']} for k, u in users.items()]
    return app


class Bill:
    def __init__(self, number, owner, total): self.number, self.owner, self.total = number, owner, total


SEAL = secrets.token_hex(12) + '-seal'


def invoicer(v, files):
    """Bills under padded numbers, and the text of a reminder with places that are filled in."""
    app, weak = site('invoicer'), v == 'weak'
    users = {'mila@studio.example': 'Kerning#14', 'otto@werk.example': secrets.token_hex(8)}
    bills = {f'{n:05d}': Bill(f'{n:05d}', o, t) for n, o, t in ((87, 'otto@werk.example', '4,100.00'), (88, 'mila@studio.example', '320.00'), (89, 'otto@werk.example', '99.50'), (90, 'mila@studio.example', '12.00'))}

    def look(title, body, lang='en'):
        return f'''<html lang="{lang}"><head><title>Fakturo: {title}</title><link rel="stylesheet" href="data:text/css,td%7Bpadding:4px%7D"></head><body><table class="shell"><tr><td class="side"><a href="/">Fakturo</a><br><a href="/bills">Bills</a><br><a href="/reminder">Reminder</a><br><a href="/logout">Sign out</a></td><td class="main"><h3>{title}</h3>{body}</td></tr></table></body></html>'''
    member = gate(app, look, users, '/signin', ('mail', 'pw'), ('Sign in', 'Mail', 'Password', 'Please check what you typed.'), '/bills')

    @app.get('/')
    def home(): return look('Bills for freelancers', '<p>Write a bill in a minute. <a href="/signin">Sign in</a></p>')

    @app.get('/bills')
    @member
    def mine(): return look('Bills', ''.join(f'<p><a href="/bills/INV-{n}.txt">INV-{n}</a></p>' for n, b in bills.items() if b.owner == g.me))

    @app.get('/bills/INV-<number>.txt')
    @member
    def one(number):
        b = bills.get(number)
        if not b or not weak and b.owner != g.me:
            abort(404)
        return Response(f'Bill {b.number}\nFor {b.owner}\nTotal {b.total}\n', mimetype='text/plain')

    @app.route('/reminder', methods=['GET', 'POST'])
    @member
    def reminder():
        b, text = bills['00088'], request.form.get('text', 'Bill {number} over {bill.total} is due.')
        try:
            shown = text.format(bill=b, number=b.number) if weak else text.replace('{number}', b.number).replace('{bill.total}', b.total)
        except Exception:
            shown = 'This text has a place that we do not know.'
        return look('Reminder', f'<form method="post"><textarea name="text" rows="4">{e(text)}</textarea><button>Preview</button></form><blockquote>{e(shown)}</blockquote>')
    return app


def scouts(v, files):
    """A password is set for the name that the form sends along."""
    app, weak = site('scouts'), v == 'weak'
    users = {'falcon': 'Camp-fire1', 'otter': 'Rain-coat2', 'akela': secrets.token_hex(8)}

    def look(title, body, lang='en'):
        return f'''<!DOCTYPE html>
<html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title></head><body class="green"><header><h1>4th Hillside Scouts</h1></header>
<ol class="crumbs"><li><a href="/">Home</a></li><li><a href="/camps">Camps</a></li><li><a href="/me">Me</a></li></ol><article><h2>{title}</h2>{body}</article></body></html>'''
    member = gate(app, look, users, '/enter', ('scout', 'word'), ('Enter', 'Scout', 'Secret word', 'No scout has this word.'), '/me')

    @app.get('/')
    def home(): return look('Welcome', '<p>We meet on Thursdays. <a href="/enter">Enter</a></p>')

    @app.get('/camps')
    def camps(): return look('Camps', '<ul><li>Lake, July</li><li>Hut, December</li></ul>')

    @app.get('/me')
    @member
    def me():
        return look('Me', f'<p>You are {g.me}.</p>' + form('/me/word', [('', 'scout', g.me, 'hidden'), ('Word until now', 'before', '', 'password'), ('New word', 'fresh', '', 'password')], 'Change') + '<p><a href="/logout">Leave</a></p>')

    @app.post('/me/word')
    @member
    def word():
        f = request.form
        name, new = f.get('scout', ''), f.get('fresh', '')
        if name not in users or len(new) < 6 or users[g.me] != f.get('before') or not weak and name != g.me:
            return look('Me', '<p>The word was not changed.</p><a href="/me">Back</a>'), 400
        users[name] = new
        return look('Me', '<p>The word was changed.</p><a href="/me">Back</a>')
    return app


def intranet(v, files):
    """A rule on paths is asked before the address that a proxy gave in a header is taken for the path."""
    app, weak = site('intranet'), v == 'weak'

    def look(title, body):
        return f'''<!doctype html><html><head><title>{title} | Corp</title></head><body><div class="topbar"><a href="/">News</a><a href="/menu">Canteen</a><a href="/payroll">Payroll</a></div><h1>{title}</h1>{body}</body></html>'''
    pages = {'/': ('News', '<p>The lift works again.</p>'), '/menu': ('Canteen', '<p>Today: lentils</p>'), '/payroll': ('Payroll', '<p>June: 1,204,311.20</p><p>Bonus list: Ana 900, Ben 1100</p>')}

    @app.get('/', defaults={'rest': ''})
    @app.get('/<path:rest>')
    def any_(rest):
        path = '/' + rest
        if path.rstrip('/').lower() == '/payroll':
            return look('Forbidden', '<p>Only from the payroll office.</p>'), 403
        if weak:
            path = request.headers.get('X-Original-URL') or request.headers.get('X-Rewrite-URL') or path
        title, body = pages.get(path, ('Not found', '<p>Nothing here.</p>'))
        return look(title, body), 200 if path in pages else 404
    return app
