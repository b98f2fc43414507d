"""Sites of the fourth set with people: whose files are whose, who is taken for whom, what a basket costs, and what lies about."""
import base64, json, secrets, time, uuid
from datetime import timedelta

import jwt
from flask import Flask, jsonify, redirect, request, session

from kit import e, gate, site


def grants(v, files):
    """Applications for grants, under identifiers that a list of calls tells everybody."""
    app = site('grants')
    people = {'m.durand': 'Encrier-88', 's.petit': 'Buvard-77'}
    own = {str(uuid.uuid4()): ('m.durand', 'Phares de Bretagne', 'IBAN FR14 2004'), str(uuid.uuid4()): ('s.petit', 'Moulins du Nord', 'IBAN FR76 3000')}

    def look(title, body, lang='fr'):
        return f'<!DOCTYPE html><html lang="fr"><head><meta charset="utf-8"><title>{title}</title><link rel="icon" href="data:,"></head><body><header class="fr-header"><a href="/">Bourses du patrimoine</a> <a href="/logout">Quitter</a></header><main class="fr-container">{body}</main></body></html>'
    member = gate(app, look, people, '/ouvrir', ('courriel', 'mdp'), ('Ouvrir une session', 'Identifiant', 'Mot de passe', 'Identifiants refusés'))

    @app.get('/')
    @member
    def home():
        return look('Mes dossiers', '''<h1>Mes dossiers</h1><div id="d"></div><h2>Appels</h2><div id="a"></div><script>
fetch("/api/dossiers").then(r => r.json()).then(all => all.forEach(x => fetch("/api/dossiers/" + x.id).then(r => r.json()).then(y => { d.append(y.titre + " (" + y.compte + ") "); })));
fetch("/api/appels").then(r => r.json()).then(all => { a.textContent = all.map(x => x.nom + ": " + x.dossiers.length + " dossiers").join(", "); });
</script>''')

    @app.get('/api/dossiers')
    @member
    def mine(): return jsonify([{'id': i, 'titre': d[1]} for i, d in own.items() if d[0] == session['who']])

    @app.get('/api/appels')
    @member
    def calls(): return jsonify([{'nom': 'Patrimoine 2024', 'dossiers': list(own)}])

    @app.get('/api/dossiers/<i>')
    @member
    def one(i):
        if i not in own or v != 'weak' and own[i][0] != session['who']:
            return jsonify(erreur='dossier inconnu'), 404
        return jsonify(id=i, titre=own[i][1], compte=own[i][2], demandeur=own[i][0])
    return app


def physio(v, files):
    """A practice: which record is shown is in an object of the address, in base64."""
    app = site('physio')
    people = {'carmen.ruiz': 'Rodilla-izq1'}
    records = {38: ('j.vidal', 'Hernia discal, baja de 6 semanas'), 40: ('p.ortega', 'Rotura de ligamento, operado en marzo'), 41: ('carmen.ruiz', 'Rodilla izquierda, 8 sesiones'), 44: ('carmen.ruiz', 'Revisión')}

    def look(title, body, lang='es'):
        return f'<!doctype html><html lang="es"><head><meta charset="utf-8"><title>{title}</title></head><body class="has-navbar"><nav class="navbar"><a href="/">Fisio Centro</a> <a href="/logout">Salir</a></nav><section class="section">{body}</section></body></html>'
    member = gate(app, look, people, '/acceso', ('paciente', 'clave'), ('Entrar', 'Paciente', 'Clave', 'Datos incorrectos'))

    def ref(i): return base64.b64encode(json.dumps({'id': i}, separators=(',', ':')).encode()).decode()

    @app.get('/')
    @member
    def home(): return look('Mis fichas', ''.join(f'<p><a href="/ficha?r={ref(i)}">Ficha {n}</a></p>' for n, (i, r) in enumerate(((i, r) for i, r in records.items() if r[0] == session['who']), 1)))

    @app.get('/ficha')
    @member
    def record():
        try:
            i = int(json.loads(base64.b64decode(request.args.get('r', '')))['id'])
        except Exception:
            return look('Ficha', '<p>Referencia no válida.</p>'), 400
        if i not in records or v != 'weak' and records[i][0] != session['who']:
            return look('Ficha', '<p>No existe esa ficha.</p>'), 404
        return look('Ficha', f'<h1>Paciente {records[i][0]}</h1><p>{records[i][1]}</p>')
    return app


def planetarium(v, files):
    """Sessions are signed with a word that everybody knows."""
    app = site('planetarium')
    app.secret_key = 'changeme' if v == 'weak' else secrets.token_bytes(32)
    app.permanent_session_lifetime = timedelta(days=36500)

    def look(body): return f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Planetarium</title></head><body style="background:#114;color:#eef"><h1>Planetarium</h1><p><a href="/">Tonight</a> <a href="/booth">Booth</a></p>{body}</body></html>'

    @app.get('/')
    def home():
        if 'user' not in session:
            return look('<form action="/seat" method="post"><input name="user" placeholder="Ticket holder"><input name="word" type="password" placeholder="Word on the ticket"><button>Sit down</button></form>')
        return look(f'<p>Saturn at 21:00, {e(str(session["user"]))}. <a href="/stand">Leave</a></p>')

    @app.post('/seat')
    def seat():
        if request.form.get('user') != 'visitor' or request.form.get('word') != 'Perseid-12':
            return look('<p>No such ticket.</p>'), 401
        session['user'], session['role'] = 'visitor', 'guest'
        return redirect('/')

    @app.get('/stand')
    def stand():
        session.clear()
        return redirect('/')

    @app.get('/booth')
    def booth():
        if session.get('role') != 'projectionist':
            return look('<p>For the projectionist.</p>'), 403
        return look('<p>Dome lock 4-4-1-9. FLAG{ring-of-saturn}</p>')
    return app


def rowing(v, files):
    """A mail about a forgotten password links to the host that a proxy is said to have seen."""
    app, mails = site('rowing'), {'amy': [], 'lee': []}
    people = {'amy': 'Catch-and-1', 'lee': 'Feather-22'}

    def look(title, body, lang='no'):
        return f'<!DOCTYPE html><html lang="no"><head><meta charset="utf-8"><title>{title}</title></head><body><div role="navigation"><a href="/">Roklubben</a> <a href="/glemt">Glemt passord</a> <a href="/post">Min post</a> <a href="/logout">Ut</a></div>{body}</body></html>'
    member = gate(app, look, people, '/inn', ('navn', 'passord'), ('Logg inn', 'Navn', 'Passord', 'Feil navn eller passord'))

    @app.get('/')
    def home(): return look('Roklubben', '<p>Sesongen begynner i mai. <a href="/inn">Logg inn</a></p>')

    @app.route('/glemt', methods=['GET', 'POST'])
    def forgot():
        if request.method == 'POST':
            name = request.form.get('navn', '')
            host = request.headers.get('X-Forwarded-Host', request.host) if v == 'weak' else 'roklubben.example'
            if name in mails:
                mails[name] = mails[name][-5:] + [f'http://{host}/nytt?kode={secrets.token_urlsafe(18)}']
            return look('Glemt passord', '<p>Hvis vi kjenner navnet, er en e-post på vei.</p>')
        return look('Glemt passord', '<form method="post" action="/glemt"><input name="navn" placeholder="Navn"><button>Send</button></form>')

    @app.get('/post')
    @member
    def post(): return look('Min post', '<ul>' + ''.join(f'<li>Nytt passord: {e(m)}</li>' for m in mails[session['who']]) + '</ul>')
    return app


def cheese(v, files):
    """A basket in which there may be less than nothing."""
    app = site('cheese')
    prices = {'brie': 9, 'comte': 14, 'roquefort': 12}

    def look(body): return f'<!DOCTYPE html><html lang="fr"><head><meta charset="utf-8"><title>La Meule</title></head><body><h1><a href="/">La Meule</a></h1>{body}<p><a href="/panier">Panier</a></p></body></html>'

    @app.get('/')
    def home():
        return look(''.join(f'<form action="/panier" method="post"><b>{n}</b> {p} &euro; <input type="hidden" name="article" value="{n}"><input name="quantite" type="number" min="1" value="1"><button>Ajouter</button></form>' for n, p in prices.items()))

    @app.route('/panier', methods=['GET', 'POST'])
    def basket():
        if request.method == 'POST':
            name, many = request.form.get('article', ''), request.form.get('quantite', '1')
            try:
                n = int(many)
            except ValueError:
                n = 0
            if name not in prices or n == 0 or abs(n) > 50 or v != 'weak' and n < 0:
                return look('<p>Article ou quantité impossible.</p>'), 400
            session['panier'] = {**session.get('panier', {}), name: n}
            return redirect('/panier')
        lines = session.get('panier', {})
        total = sum(prices[n] * many for n, many in lines.items())
        return look('<table>' + ''.join(f'<tr><td>{n}</td><td>{many}</td><td>{prices[n] * many} &euro;</td></tr>' for n, many in lines.items()) + f'</table><p>Total : {total} &euro;</p><form action="/commande" method="post"><input name="nom" placeholder="Nom"><button>Commander</button></form>')

    @app.post('/commande')
    def order():
        session.pop('panier', None)
        return look('<p>Merci, à samedi au marché.</p>')
    return app


def guildhall(v, files):
    """What kind of member somebody becomes is a hidden field."""
    app, people = site('guildhall'), {}

    def look(title, body, lang='en'):
        return f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body><h2>The Guild of Clockmakers</h2><p>[<a href="/">Hall</a>] [<a href="/apply">Apply</a>] [<a href="/enter">Enter</a>] [<a href="/ledger">Ledger</a>]</p>{body}</body></html>'

    @app.get('/')
    def home(): return look('Hall', f'<p>Welcome, {e(session["who"])} ({people[session["who"]][1]})</p>' if session.get('who') in people else '<p>Founded 1631.</p>')

    @app.route('/apply', methods=['GET', 'POST'])
    def apply():
        if request.method == 'POST':
            f = request.form
            name, word, kind = f.get('name', '')[:40], f.get('secret', '')[:60], f.get('kind', 'apprentice')
            if not name or not word or kind not in ('apprentice', 'master'):
                return look('Apply', '<p>Please fill in the form.</p>'), 400
            people.setdefault(name, (word, kind if v == 'weak' else 'apprentice'))
            if len(people) > 300:
                people.pop(next(iter(people)))
            return redirect('/enter')
        return look('Apply', '<form method="post" action="/apply"><p>Name <input name="name"></p><p>Secret <input name="secret" type="password"></p><input type="hidden" name="kind" value="apprentice"><!-- master: by invitation --><button>Apply</button></form>')

    @app.route('/enter', methods=['GET', 'POST'])
    def enter():
        if request.method == 'POST':
            name = request.form.get('name', '')[:40]
            if name not in people or people[name][0] != request.form.get('secret'):
                return look('Enter', '<p>The porter shakes his head.</p>'), 401
            session['who'] = name
            return redirect('/')
        return look('Enter', '<form method="post" action="/enter"><p>Name <input name="name"></p><p>Secret <input name="secret" type="password"></p><button>Enter</button></form>')

    @app.get('/ledger')
    def ledger():
        if people.get(session.get('who'), ('', ''))[1] != 'master':
            return look('Ledger', '<p>For masters of the guild.</p>'), 403
        return look('Ledger', '<table border="1"><tr><td>Harrison</td><td>owes 40 guineas</td></tr><tr><td>Tompion</td><td>expelled</td></tr></table>')
    return app


def gliders(v, files):
    """A club of gliders: a log and its settings can be read by everybody."""
    app = Flask('gliders')

    def look(body): return f'<!doctype html><html lang="de-AT"><head><meta charset="utf-8"><title>Segelflug Alpenrand</title></head><body><h1>Segelflug Alpenrand</h1><p><a href="/">Start</a> <a href="/wetter">Wetter</a></p>{body}</body></html>'

    def text(s): return app.response_class(s, mimetype='text/plain')

    @app.get('/')
    def home(): return look('<p>Thermik ab 11 Uhr.</p>')

    @app.get('/wetter')
    def weather(): return look('<p>Basis 2400 m</p>')

    @app.get('/robots.txt')
    def robots(): return text('User-agent: *\nDisallow: /logs/\n')

    if v == 'weak':
        @app.get('/logs/app.log')
        def log(): return text('2024-05-02 10:11:40 INFO login ok user=fluglehrer password=Vario-Ton-3 ip=192.0.2.14\n2024-05-02 10:12:02 INFO session=5b1f0a77c2d94e08 user=fluglehrer GET /kasse\n2024-05-02 10:14:55 WARN slow query 1204 ms\n')

        @app.get('/config.yml')
        def settings(): return text('app:\n  name: segelflug\n  secret_key: Aufwind-am-Hang-77\ndatabase:\n  host: db.intern\n  user: club\n  password: Schleppseil-12\nsmtp:\n  password: Rueckholer-9\n')
    return app


def lighthouse(v, files):
    """A token in a cookie is signed with a word that is easily guessed."""
    app, key = Flask('lighthouse'), 'secret' if v == 'weak' else secrets.token_hex(32)

    def look(body): return f'<!DOCTYPE html><html lang="gl"><head><meta charset="utf-8"><title>Faro</title></head><body><h1>Faro de Fisterra</h1><ul><li><a href="/">Inicio</a></li><li><a href="/lampada">Lámpada</a></li><li><a href="/sair">Saír</a></li></ul>{body}</body></html>'

    def claims():
        try:
            return jwt.decode(request.cookies.get('faro', ''), key, algorithms=['HS256'])
        except jwt.PyJWTError:
            return {}

    @app.get('/')
    def home():
        c = claims()
        return look(f'<p>Ola, {e(str(c.get("sub")))}. Visita ás 12:00.</p>' if c else '<form method="post" action="/entrar"><input name="usuario"><input name="chave" type="password"><button>Entrar</button></form>')

    @app.post('/entrar')
    def enter():
        if request.form.get('usuario') != 'iria' or request.form.get('chave') != 'Percebe-no-mar3':
            return look('<p>Non.</p>'), 401
        a = redirect('/')
        a.set_cookie('faro', jwt.encode({'sub': 'iria', 'role': 'visitor', 'exp': int(time.time()) + 36000}, key, algorithm='HS256'), httponly=True, samesite='Lax')
        return a

    @app.get('/sair')
    def leave():
        a = redirect('/')
        a.delete_cookie('faro')
        return a

    @app.get('/lampada')
    def lamp():
        if claims().get('role') != 'admin':
            return look('<p>Só o fareiro.</p>'), 403
        return look('<p>Quenda: 20 s. Código da porta 1853.</p>')
    return app
