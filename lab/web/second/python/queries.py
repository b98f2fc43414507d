"""Sites of the second set whose weakness is a statement: after ORDER BY, in IN, in LIKE, in INSERT, from a cookie, in JSON."""
from flask import Response, jsonify, make_response, redirect, request

from kit import LOCK, e, form, memory, site


def patisserie(v, files):
    """The direction of an order is put behind it; a statement that fails shows the list as it usually is."""
    app, weak = site('patisserie'), v == 'weak'
    ask = memory("CREATE TABLE cakes (name TEXT, price REAL, season TEXT); INSERT INTO cakes VALUES ('Tarte au citron',4.5,'été'),('Paris-Brest',5.2,'hiver'),('Éclair',3.1,'toujours'),('Opéra',6.0,'hiver'),('Religieuse',4.9,'été')")

    def look(title, body):
        return f'''<!DOCTYPE html><html lang="fr"><head><meta charset="utf-8"><title>{title}</title></head><body><section class="hero"><h1>{title}</h1></section><nav class="tabs"><a href="/">Maison</a><a href="/tartes?ordre=price&amp;sens=ASC">La carte</a><a href="/visite">Nous rendre visite</a></nav>{body}</body></html>'''

    @app.get('/')
    def home(): return look('Pâtisserie Colline', '<p>Depuis 1931.</p>')

    @app.get('/visite')
    def visit(): return look('Nous rendre visite', '<address>3, rue du Four</address>')

    @app.get('/tartes')
    def cakes():
        by = request.args.get('ordre', 'price')
        by, way = by if by in ('name', 'price') else 'price', request.args.get('sens', 'ASC')
        if not weak:
            way = 'DESC' if way == 'DESC' else 'ASC'
        try:
            rows = ask(f'SELECT name, price FROM cakes ORDER BY {by} {way}')
        except Exception:
            rows = ask('SELECT name, price FROM cakes ORDER BY price')
        return look('La carte', '<dl>' + ''.join(f'<dt>{e(n)}</dt><dd>{p:.2f} &euro;</dd>' for n, p in rows) + '</dl><a href="/tartes?ordre=price&amp;sens=DESC">les plus chères</a>')
    return app


def jobboard(v, files):
    """Numbers of tags, separated by commas, are put in an IN; what fails is a plain page of status 500."""
    app, weak = site('jobboard'), v == 'weak'
    ask = memory("CREATE TABLE jobs (id INT, title TEXT, tag INT, open INT); INSERT INTO jobs VALUES (1,'Baker',3,1),(2,'Nurse',5,1),(3,'Welder',3,1),(4,'Head of layoffs',8,0),(5,'Pilot',8,1)")

    def look(title, body, status=200):
        return f'''<!doctype html><html lang="en"><head><title>{title} - hire.local</title></head><body><div id="wrap"><div id="top">hire<span>.local</span></div><div id="nav"><a href="/">Home</a> <a href="/jobs?tags=3,5">Jobs</a> <a href="/jobs?tags=8">Travel</a> <a href="/post">Post a job</a></div><div id="content"><h2>{title}</h2>{body}</div></div></body></html>''', status

    @app.get('/')
    def home(): return look('Find work nearby', '<form action="/jobs"><input name="tags" value="3,5"><input name="page" value="1"><button>Find</button></form>')

    @app.get('/post')
    def post(): return look('Post a job', '<p>Write to jobs@hire.example.</p>')

    @app.get('/jobs')
    def jobs():
        tags = request.args.get('tags', '3')
        if not weak:
            tags = ','.join(str(int(t)) for t in tags.split(',') if t.strip().isdigit() and len(t) < 9) or '0'
        try:
            rows = ask(f'SELECT title FROM jobs WHERE open = 1 AND tag IN ({tags})')
        except Exception:
            return look('Sorry', '<p>Something went wrong.</p>', 500)
        return look('Jobs', f'<p>{len(rows)} found</p>' + ''.join(f'<h4>{e(t)}</h4>' for t, in rows))
    return app


def adoption(v, files):
    """An application for a pet is inserted, and shown again by its number."""
    app, weak = site('adoption'), v == 'weak'
    ask = memory("CREATE TABLE staff (name TEXT, door TEXT); INSERT INTO staff VALUES ('vera','door 90-17-33'); CREATE TABLE wishes (id INTEGER PRIMARY KEY, pet TEXT, name TEXT, home TEXT)")
    pets = {'rex': 'Rex, a calm dog', 'mia': 'Mia, a cat with one eye', 'bob': 'Bob, a loud parrot'}

    def look(title, body):
        return f'''<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body style="font-family:Georgia"><h1><a href="/">Paws &amp; Wings shelter</a></h1><hr>{body}<hr><small>A charity.</small></body></html>'''

    @app.get('/')
    def home(): return look('Shelter', ''.join(f'<p><a href="/pets/{k}">{t}</a></p>' for k, t in pets.items()))

    @app.get('/pets/<name>')
    def pet(name):
        if name not in pets:
            return look('Not here', '<p>This animal has found a home.</p>'), 404
        return look(pets[name], f'<p>{pets[name]}</p>' + form('/wishes', [('', 'pet', name, 'hidden'), ('Your name', 'applicant'), ('Your home', 'home', 'a flat', 'text')], 'I would like to adopt'))

    @app.post('/wishes')
    def wish():
        f = request.form
        pet, name, where = f.get('pet', ''), f.get('applicant', '')[:200], f.get('home', '')[:80]
        try:
            with LOCK:
                if weak:
                    ask("INSERT INTO wishes (pet, name, home) VALUES ('%s', '%s', '%s')" % (pet.replace("'", "''"), name, where.replace("'", "''")))
                else:
                    ask('INSERT INTO wishes (pet, name, home) VALUES (?, ?, ?)', pet, name, where)
                n = ask('SELECT max(id) FROM wishes')[0][0]
        except Exception:
            return look('Sorry', '<p>We could not keep your wish. Please call us.</p>')
        return redirect(f'/wishes/{n}')

    @app.get('/wishes/<int:n>')
    def shown(n):
        row = ask('SELECT pet, name, home FROM wishes WHERE id = ?', n)
        return look('Your wish', f'<p>For {e(str(row[0][0]))}</p><p>From {e(str(row[0][1]))}, {e(str(row[0][2]))}</p>' if row else '<p>No such wish.</p>')
    return app


def tea(v, files):
    """A visitor has a cookie, and who is known is welcomed back: nothing else tells."""
    app, weak = site('tea'), v == 'weak'
    ask = memory("CREATE TABLE visitors (key TEXT); INSERT INTO visitors VALUES ('k3b1c0ffee'),('9ad17e55aa')")

    def look(title, body):
        return f'''<!doctype html><html lang="en"><head><title>{title}</title></head><body><div class="grid"><div><a href="/">Leaf &amp; Pot</a></div><div><a href="/teas">Teas</a></div><div><a href="/brewing">Brewing</a></div></div>{body}</body></html>'''

    def known():
        key = request.cookies.get('visitor', '')
        try:
            return bool(ask(f"SELECT key FROM visitors WHERE key = '{key}'") if weak else ask('SELECT key FROM visitors WHERE key = ?', key))
        except Exception:
            return False

    def answer(title, body):
        hello = '<p class="hello">Welcome back!</p>' if known() else ''
        a = make_response(look(title, hello + body))
        if 'visitor' not in request.cookies:
            a.set_cookie('visitor', 'k3b1c0ffee', httponly=True, samesite='Lax')
        return a

    @app.get('/')
    def home(): return answer('Leaf & Pot', '<p>Forty teas from eleven gardens.</p>')

    @app.get('/teas')
    def teas(): return answer('Teas', '<ul><li>Assam</li><li>Sencha</li><li>Keemun</li></ul>')

    @app.get('/brewing')
    def brewing(): return look('Brewing', '<p>Three minutes, please.</p>')
    return app


def boxoffice(v, files):
    """A front end asks in JSON; what is searched stands in a LIKE, and quotes are taken away from the other field only."""
    app, weak = site('boxoffice'), v == 'weak'
    ask = memory("CREATE TABLE shows (title TEXT, city TEXT, hall TEXT, public INT); INSERT INTO shows VALUES ('Hamlet','Graz','A',1),('Faust','Wien','B',1),('Carmen','Graz','B',1),('Press rehearsal','Graz','A',0)")

    @app.get('/')
    def home():
        return '''<!doctype html><html lang="de"><head><meta charset="utf-8"><title>Kartenbüro</title></head><body><h1>Kartenbüro</h1><form id="suche"><input name="titel" placeholder="Titel"><select name="stadt"><option>Graz</option><option>Wien</option></select><button>Suchen</button></form><ul id="liste"></ul><script src="/suche.js"></script></body></html>'''

    @app.get('/suche.js')
    def script():
        return Response('''document.getElementById('suche').addEventListener('submit', function (ev) {
  ev.preventDefault();
  var f = ev.target;
  fetch('/api/vorstellungen/suche', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ filter: { titel: f.titel.value, stadt: f.stadt.value }, seite: 1 })
  }).then(function (r) { return r.json(); }).then(function (d) {
    document.getElementById('liste').innerHTML = '';
    d.treffer.forEach(function (t) { var li = document.createElement('li'); li.textContent = t.titel + ', ' + t.saal; document.getElementById('liste').appendChild(li); });
  });
});''', mimetype='text/javascript')

    @app.post('/api/vorstellungen/suche')
    def search():
        body = request.get_json(silent=True)
        want = body.get('filter') if isinstance(body, dict) else None
        if not isinstance(want, dict) or not all(isinstance(want.get(k, ''), str) for k in ('titel', 'stadt')):
            return jsonify(fehler='filter fehlt'), 400
        title, city = want.get('titel', ''), want.get('stadt', '')
        try:
            if weak:
                rows = ask("SELECT title, hall FROM shows WHERE public = 1 AND city = '%s' AND title LIKE '%%%s%%'" % (city.replace("'", ''), title))
            else:
                rows = ask("SELECT title, hall FROM shows WHERE public = 1 AND city = ? AND title LIKE '%' || ? || '%'", city, title)
        except Exception:
            rows = []
        return jsonify(treffer=[{'titel': t, 'saal': h} for t, h in rows])
    return app
