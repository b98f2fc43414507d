"""Sites of the fourth set that put what they get into a statement: at a login, in a path, in a header, and later."""
import base64, json

from flask import Flask, jsonify, redirect, request, session

from kit import e, memory, site


def stamps(v, files):
    """A club of collectors: words of SQL are refused at its login, in two spellings."""
    app, weak = site('stamps'), v == 'weak'
    ask = memory("CREATE TABLE tagok (nev TEXT, jelszo TEXT, szoba TEXT); INSERT INTO tagok VALUES ('elnok','Bordo-Merkur-1','FLAG{kek-mauritius} a 3-as fiokban')")
    words = ('or', 'OR', 'and', 'AND', 'union', 'UNION', 'like', 'LIKE')

    def look(body):
        return f'''<!DOCTYPE html><html lang="hu"><head><meta charset="utf-8"><title>Bélyeggyűjtők köre</title><link rel="icon" href="data:,"></head>
<body><section class="hero is-info"><div class="hero-body"><p class="title">Bélyeggyűjtők köre</p></div></section><div class="container">{body}</div></body></html>'''

    @app.get('/')
    def home():
        return look('<p>Üdvözöljük! <a class="button" href="/belepes">Belépés</a></p><p>Csere minden szombaton.</p>')

    @app.route('/belepes', methods=['GET', 'POST'])
    def enter():
        form = '<form method="post" action="/belepes"><div class="field"><input class="input" name="felhasznalo" placeholder="név"></div><div class="field"><input class="input" type="password" name="jelszo" placeholder="jelszó"></div><button class="button">Tovább</button></form>'
        if request.method == 'GET':
            return look(form)
        name, word = request.form.get('felhasznalo', ''), request.form.get('jelszo', '')
        if '--' in name + word or '/*' in name + word or set(words) & set((name + ' ' + word).replace("'", ' ').split()):
            return look('<div class="notification is-danger">Tiltott karakterek.</div>' + form), 400
        if weak:
            rows = ask(f"SELECT nev, szoba FROM tagok WHERE nev = '{name}' AND jelszo = '{word}'")
        else:
            rows = ask('SELECT nev, szoba FROM tagok WHERE nev = ? AND jelszo = ?', name, word)
        if not rows:
            return look('<div class="notification is-warning">Hibás név vagy jelszó.</div>' + form), 401
        session['tag'], session['szoba'] = rows[0]
        return redirect('/terem')

    @app.get('/terem')
    def hall():
        return look(f'<p>{e(session["tag"])}: {e(session["szoba"])}</p>') if 'tag' in session else redirect('/belepes')
    return app


def orchard(v, files):
    """A region that a member keeps in the settings is part of the statement of another page."""
    app, weak = site('orchard'), v == 'weak'
    ask = memory('''CREATE TABLE sorter (namn TEXT, region TEXT, oppen INT); CREATE TABLE medlem (namn TEXT, region TEXT);
        INSERT INTO sorter VALUES ('Ingrid Marie','Skane',1),('Aroma','Skane',1),('Savstaholm','Svealand',1),('Forsok 17 (hemlig)','Skane',0);
        INSERT INTO medlem VALUES ('lisa','Skane')''')

    def look(body):
        return f'''<!doctype html><html lang="sv"><head><meta charset="utf-8"><title>Äppelrådet</title></head><body>
<nav class="top-bar"><ul class="menu"><li><a href="/oversikt">Översikt</a></li><li><a href="/installningar">Inställningar</a></li><li><a href="/ut">Logga ut</a></li></ul></nav><div class="grid-x"><div class="cell">{body}</div></div></body></html>'''

    @app.route('/', methods=['GET', 'POST'])
    def home():
        if request.method == 'POST':
            if request.form.get('namn') == 'lisa' and request.form.get('losen') == 'Appelmust-4':
                session['namn'] = 'lisa'
                return redirect('/oversikt')
            return look('<div class="callout alert">Fel namn eller lösenord.</div>'), 403
        return redirect('/oversikt') if 'namn' in session else look('<form method="post" action="/"><input name="namn" placeholder="Namn"><input name="losen" type="password" placeholder="Lösenord"><button class="button">Logga in</button></form>')

    @app.get('/ut')
    def leave():
        session.clear()
        return redirect('/')

    @app.route('/installningar', methods=['GET', 'POST'])
    def settings():
        if 'namn' not in session:
            return redirect('/')
        if request.method == 'POST':
            ask('UPDATE medlem SET region = ? WHERE namn = ?', request.form.get('region', '')[:200], session['namn'])
            return redirect('/installningar')
        region = ask('SELECT region FROM medlem WHERE namn = ?', session['namn'])[0][0]
        return look(f'<form method="post" action="/installningar"><label>Min region <input name="region" value="{e(region)}"></label><button class="button">Spara</button></form>')

    @app.get('/oversikt')
    def overview():
        if 'namn' not in session:
            return redirect('/')
        region = ask('SELECT region FROM medlem WHERE namn = ?', session['namn'])[0][0]
        if weak:
            rows = ask(f"SELECT namn FROM sorter WHERE oppen = 1 AND region = '{region}'")
        else:
            rows = ask('SELECT namn FROM sorter WHERE oppen = 1 AND region = ?', region)
        return look('<h3>Sorter i min region</h3><ul>' + ''.join(f'<li>{e(r[0])}</li>' for r in rows) + '</ul>')
    return app


def hardware(v, files):
    """Whether a part is on the shelf: the answer to a name in the path is yes or no, and nothing else."""
    app, weak = Flask('hardware'), v == 'weak'
    ask = memory("CREATE TABLE shelf (sku TEXT, pieces INT); INSERT INTO shelf VALUES ('bolt-m6',120),('nut-m6',300),('hinge-40',0)")

    @app.get('/')
    def home():
        return '''<!doctype html><html lang="ja"><head><meta charset="utf-8"><title>金物屋 在庫</title></head><body><div id="app"><h1>在庫</h1><ul id="list"></ul></div>
<script type="module">
const list = document.querySelector('#list');
for (const sku of ['bolt-m6', 'nut-m6', 'hinge-40']) {
  const { available } = await (await fetch('/api/v1/stock/' + encodeURIComponent(sku))).json();
  const li = document.createElement('li');
  li.textContent = sku + ' ' + (available ? '有' : '無');
  list.append(li);
}
</script><noscript><a href="/api/v1/stock/bolt-m6">bolt-m6</a></noscript></body></html>'''

    @app.get('/api/v1/stock/<sku>')
    def stock(sku):
        try:
            rows = ask(f"SELECT 1 FROM shelf WHERE pieces > 0 AND sku = '{sku}'") if weak else ask('SELECT 1 FROM shelf WHERE pieces > 0 AND sku = ?', sku)
        except Exception:
            rows = []
        return jsonify(available=bool(rows))
    return app


def pollbooth(v, files):
    """Who has voted is known by an address, which a header may name."""
    app, weak = Flask('pollbooth'), v == 'weak'
    ask = memory("CREATE TABLE ballots (ip TEXT, choice TEXT); INSERT INTO ballots VALUES ('198.51.100.4','Otters'),('198.51.100.9','Herons')")

    def look(body): return f'<!DOCTYPE html><html lang="en"><head><title>River mascot poll</title></head><body><div class="jumbotron"><h1>River mascot poll</h1>{body}</div><a href="/rules">Rules</a></body></html>'

    def voted(who):
        try:
            return ask(f"SELECT choice FROM ballots WHERE ip = '{who}'") if weak else ask('SELECT choice FROM ballots WHERE ip = ?', who)
        except Exception:
            return []

    def client(): return request.headers.get('X-Forwarded-For', request.remote_addr).split(',')[0].strip()

    @app.get('/')
    def home():
        if voted(client()):
            return look('<p>You have already voted. Thank you!</p>')
        return look('<form action="/vote" method="post"><label><input type="radio" name="choice" value="Otters" checked> Otters</label><label><input type="radio" name="choice" value="Herons"> Herons</label><button>Vote</button></form>')

    @app.get('/rules')
    def rules(): return look('<p>One ballot per address.</p>')

    @app.post('/vote')
    def vote():
        if request.form.get('choice') in ('Otters', 'Herons') and not voted(client()):
            ask('INSERT INTO ballots VALUES (?, ?)', client()[:60], request.form['choice'])
            ask('DELETE FROM ballots WHERE rowid > 2 AND rowid < (SELECT max(rowid) FROM ballots) - 200')
        return redirect('/')
    return app


def ceramics(v, files):
    """What a potter writes about himself is set by a statement that is put together."""
    app, weak = site('ceramics'), v == 'weak'
    ask = memory("CREATE TABLE potters (name TEXT, word TEXT, title TEXT, bio TEXT); INSERT INTO potters VALUES ('mika','Glaze-1250','member','Raku and salt.'),('sana','Engobe-900','curator','Buys for the hall.')")

    def look(body): return f'<html lang="en"><head><meta charset="utf-8"><title>Kiln and Wheel</title></head><body><div class="ui menu"><a class="item" href="/">Kiln and Wheel</a><a class="item" href="/me">My page</a><a class="item" href="/bye">Log out</a></div><div class="ui segment">{body}</div></body></html>'

    @app.route('/', methods=['GET', 'POST'])
    def home():
        if request.method == 'POST':
            rows = ask('SELECT name FROM potters WHERE name = ? AND word = ?', request.form.get('potter', ''), request.form.get('word', ''))
            if not rows:
                return look('<div class="ui negative message">That did not match.</div>'), 401
            session['potter'] = rows[0][0]
            return redirect('/me')
        return look('<form class="ui form" method="post" action="/"><input name="potter" placeholder="Potter"><input name="word" type="password" placeholder="Password"><button class="ui button">Enter</button></form>')

    @app.get('/bye')
    def bye():
        session.clear()
        return redirect('/')

    @app.route('/me', methods=['GET', 'POST'])
    def me():
        if 'potter' not in session:
            return redirect('/')
        if request.method == 'POST':
            bio = request.form.get('about', '')[:200]
            try:
                if weak:
                    ask(f"UPDATE potters SET bio = '{bio}' WHERE name = '{session['potter']}'")
                else:
                    ask('UPDATE potters SET bio = ? WHERE name = ?', bio, session['potter'])
            except Exception as err:
                return look(f'<div class="ui negative message">Could not save: {e(type(err).__name__)}</div>' if weak else '<p>Could not save.</p>'), 500
            return redirect('/me')
        title, bio = ask('SELECT title, bio FROM potters WHERE name = ?', session['potter'])[0]
        return look(f'<h2>{e(session["potter"])} <small>{e(title)}</small></h2><form class="ui form" method="post" action="/me"><textarea name="about" rows="3">{e(bio)}</textarea><button class="ui button">Save</button></form>')
    return app


def sundial(v, files):
    """A collection of instruments: the order of the list is two words of JSON."""
    app, weak = Flask('sundial'), v == 'weak'
    ask = memory("CREATE TABLE dials (maker TEXT, year INT, note TEXT); INSERT INTO dials VALUES ('Cole',1582,'brass'),('Habermel',1590,'gilt'),('Butterfield',1690,'silver'),('Adams',1770,'stolen, do not show')")

    @app.get('/')
    def home():
        return '''<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sundials</title></head><body><h1>Sundials</h1><button data-by="year">by year</button><button data-by="maker">by maker</button><ul id="l"></ul><script>
document.querySelectorAll("button").forEach(function (b) { b.onclick = function () {
  fetch("/api/dials/search", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ text: "", sort: { by: b.dataset.by, dir: "asc" } }) })
    .then(function (r) { return r.json(); }).then(function (d) { l.innerHTML = ""; d.dials.forEach(function (x) { var i = document.createElement("li"); i.textContent = x.maker + ", " + x.year; l.appendChild(i); }); });
}; });
</script></body></html>'''

    @app.post('/api/dials/search')
    def search():
        sent = request.get_json(silent=True)
        sort = sent.get('sort') if isinstance(sent, dict) else None
        if not isinstance(sort, dict) or not all(isinstance(sort.get(k), str) for k in ('by', 'dir')):
            return jsonify(error='sort by and dir'), 422
        by, way = sort['by'][:200], 'DESC' if sort['dir'].lower() == 'desc' else 'ASC'
        if not weak and by not in ('year', 'maker'):
            by = 'year'
        try:
            rows = ask(f'SELECT maker, year FROM dials WHERE year < 1770 AND maker LIKE ? ORDER BY {by} {way}', f'%{str(sent.get("text", ""))[:40]}%')
        except Exception:
            return jsonify(error='cannot sort'), 500
        return jsonify(dials=[{'maker': m, 'year': y} for m, y in rows])
    return app


def libretto(v, files):
    """What a visitor likes is kept as an object in a cookie, in base64, and is part of a statement."""
    app, weak = Flask('libretto'), v == 'weak'
    ask = memory("CREATE TABLE oeuvres (titre TEXT, genre TEXT, publie INT); INSERT INTO oeuvres VALUES ('Carmen','drame',1),('Faust','drame',1),('Orphee aux enfers','bouffe',1),('Inedit: la Reine des Neiges','bouffe',0)")

    def kept():
        try:
            return str(json.loads(base64.b64decode(request.cookies.get('gouts', '')))['genre'])
        except Exception:
            return 'drame'

    @app.get('/')
    def home():
        genre = kept()
        try:
            rows = ask(f"SELECT titre FROM oeuvres WHERE publie = 1 AND genre = '{genre}'") if weak else ask('SELECT titre FROM oeuvres WHERE publie = 1 AND genre = ?', genre)
        except Exception:
            rows = []
        return '<!DOCTYPE html><html lang="fr-BE"><head><meta charset="utf-8"><title>Livrets</title></head><body><h1>Livrets</h1><p><a href="/gouts?genre=drame">drame</a> <a href="/gouts?genre=bouffe">bouffe</a></p><ol>' + ''.join(f'<li>{e(r[0])}</li>' for r in rows) + '</ol></body></html>'

    @app.get('/gouts')
    def choose():
        a = redirect('/')
        genre = request.args.get('genre') if request.args.get('genre') in ('drame', 'bouffe') else 'drame'
        a.set_cookie('gouts', base64.b64encode(json.dumps({'genre': genre}).encode()).decode(), httponly=True, samesite='Lax')
        return a
    return app
