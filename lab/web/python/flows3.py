"""A REST API of parcel lockers with its description: members, sessions with tokens, parcels, lockers. Weak on purpose."""
import base64, hashlib, hmac, json, secrets, sqlite3, threading, time, traceback

from flask import Response, jsonify, request


def b64(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b'=').decode()


def described(title):
    member, token = [{'name': 'handle', 'in': 'path', 'required': True, 'example': 'anna', 'schema': {'type': 'string'}}], [{'bearerAuth': []}]

    def op(summary, params=None, body=None, safe=False, status=200):
        out = {'summary': summary, 'responses': {str(status): {'description': 'fine'}}, 'security': [] if not safe else token}
        if params:
            out['parameters'] = params
        if body:
            out['requestBody'] = {'required': True, 'content': {'application/json': {'schema': {'type': 'object', 'required': list(body), 'properties':
                {k: {'type': 'integer' if isinstance(v, int) else 'string', 'example': v} for k, v in body.items()}}}}}
        return out

    def at(name, example):
        return [{'name': name, 'in': 'path', 'required': True, 'example': example, 'schema': {'type': 'integer' if isinstance(example, int) else 'string'}}]
    return {'openapi': '3.0.1', 'info': {'title': title, 'version': '2.0'}, 'components': {'securitySchemes': {'bearerAuth': {'type': 'http', 'scheme': 'bearer', 'bearerFormat': 'JWT'}}},
            'paths': {
                '/v2/members': {'get': op('List members'), 'post': op('Register', None, {'handle': 'dora', 'mail': 'dora@lab.example', 'password': 'dora-Pass4'}, status=201)},
                '/v2/members/_all': {'get': op('All there is about members, for our own tests')},
                '/v2/members/self': {'get': op('Who I am', safe=True)},
                '/v2/members/{handle}': {'get': op('A member', member), 'delete': op('Remove a member, for staff', member, safe=True)},
                '/v2/members/{handle}/mail': {'put': op('Change the address', member, {'mail': 'anna@lab.example'}, True)},
                '/v2/members/{handle}/password': {'put': op('Change the password', member, {'password': 'anna-Pass1'}, True)},
                '/v2/sessions': {'post': op('Log in', None, {'handle': 'anna', 'password': 'anna-Pass1x'})},
                '/v2/parcels': {'get': op('List parcels'), 'post': op('Send a parcel', None, {'label': 'books', 'pin': '4410'}, True)},
                '/v2/parcels/{label}': {'get': op('A parcel, with the pin that opens its locker', at('label', 'lamp'), safe=True)},
                '/v2/lockers': {'get': op('My lockers', safe=True)},
                '/v2/lockers/{number}': {'get': op('A locker', at('number', 204), safe=True)},
                '/v2/sizes/{size}': {'get': op('A size', at('size', 'S'))},
                '/v2/quote': {'post': op('What a parcel costs', None, {'weight': 3, 'size': 'S'})},
                '/v2/audit': {'get': op('What staff see: who opened what', safe=True)}}}


def lockers(app, weak, variant):
    db, lock = sqlite3.connect(':memory:', check_same_thread=False, isolation_level=None), threading.Lock()
    db.executescript("CREATE TABLE members (handle TEXT, mail TEXT, password TEXT, staff INT);"
                     "INSERT INTO members VALUES ('anna','anna@lab.example','anna-Pass1',0),('ben','ben@lab.example','ben-Pass2',0),('root','root@lab.example','root-Pass9',1);"
                     "CREATE TABLE parcels (label TEXT, owner TEXT, pin TEXT); INSERT INTO parcels VALUES ('lamp','anna','7311'),('desk','anna','2290'),('violin','ben','8846');"
                     "CREATE TABLE lockers (number INT, owner TEXT, place TEXT); INSERT INTO lockers VALUES (204,'anna','Mill Lane'),(208,'ben','Harbour');")
    key = b'secret123' if weak else secrets.token_bytes(32)

    def ask(text, *values):
        with lock:
            return db.execute(text, values).fetchall()

    def fail(status, text):
        return jsonify({'status': 'fail', 'message': text}), status

    def token(handle):
        text = b64(json.dumps({'alg': 'HS256', 'typ': 'JWT'}).encode()) + '.' + b64(json.dumps({'sub': handle, 'iat': int(time.time()), 'exp': int(time.time()) + 3600}).encode())
        return text + '.' + b64(hmac.new(key, text.encode(), hashlib.sha256).digest())

    def me():
        try:
            text = request.headers.get('Authorization', '').removeprefix('Bearer ')
            head, body, seal = text.split('.')
            if not hmac.compare_digest(seal, b64(hmac.new(key, f'{head}.{body}'.encode(), hashlib.sha256).digest())):
                return None
            claims = json.loads(base64.urlsafe_b64decode(body + '=='))
            return (ask('SELECT handle, mail, staff FROM members WHERE handle = ?', claims['sub']) or [None])[0] if claims['exp'] > time.time() else None
        except Exception:
            return None

    def data():
        got = request.get_json(silent=True)
        return got if isinstance(got, dict) else {}

    @app.get('/openapi.json')
    def description(): return jsonify(described('Lockers'))

    @app.get('/')
    def front(): return jsonify({'service': 'Lockers', 'description': '/openapi.json'})

    @app.get('/v2/members')
    def members(): return jsonify({'members': [{'handle': r[0]} for r in ask('SELECT handle FROM members')]})

    @app.post('/v2/members')
    def register():
        d = data()
        handle, mail, password = (d.get(k) for k in ('handle', 'mail', 'password'))
        if not all(isinstance(v, str) and 0 < len(v) < 100 for v in (handle, mail, password)):
            return fail(400, 'handle, mail and password are needed')
        if ask('SELECT 1 FROM members WHERE handle = ?', handle):
            return fail(409, 'this handle is taken')
        ask('INSERT INTO members VALUES (?, ?, ?, ?)', handle, mail, password, int(bool(weak and d.get('staff') is True)))
        return jsonify({'status': 'success', 'message': 'registered; log in now'}), 201

    @app.get('/v2/members/_all')
    def everything():
        if not weak and not (me() or (0, 0, 0))[2]:
            return fail(403, 'for staff')
        return jsonify({'members': [{'handle': r[0], 'mail': r[1], 'password': r[2], 'staff': bool(r[3])} for r in ask('SELECT * FROM members')]})

    @app.get('/v2/members/self')
    def myself():
        u = me()
        return jsonify({'data': {'handle': u[0], 'mail': u[1], 'staff': bool(u[2])}}) if u else fail(401, 'no valid token')

    @app.get('/v2/members/<path:handle>')
    def member(handle):
        try:
            got = ask(f"SELECT handle, mail FROM members WHERE handle = '{handle}'") if weak else ask('SELECT handle, mail FROM members WHERE handle = ?', handle)
        except sqlite3.Error:
            return fail(500, 'internal error')
        return jsonify({'handle': got[0][0], 'mail': got[0][1]}) if got else fail(404, 'no such member')

    @app.delete('/v2/members/<handle>')
    def remove(handle):
        u = me()
        if not u:
            return fail(401, 'no valid token')
        if not u[2]:
            return fail(403, 'only staff remove members')
        ask('DELETE FROM members WHERE handle = ?', handle)
        return jsonify({'status': 'success'})

    @app.put('/v2/members/<handle>/mail')
    def mail(handle):
        u, new = me(), data().get('mail')
        if not u or not isinstance(new, str) or '@' not in new:
            return fail(401 if not u else 400, 'no valid token' if not u else 'no address')
        ask('UPDATE members SET mail = ? WHERE handle = ?', new[:100], u[0])
        return '', 204

    @app.put('/v2/members/<handle>/password')
    def password(handle):
        u, new = me(), data().get('password')
        if not u or not isinstance(new, str) or not new:
            return fail(401 if not u else 400, 'no valid token' if not u else 'no password')
        if not weak and u[0] != handle:
            return fail(403, 'not your account')
        if not ask('SELECT 1 FROM members WHERE handle = ?', handle):
            return fail(404, 'no such member')
        ask('UPDATE members SET password = ? WHERE handle = ?', new[:100], handle)
        return jsonify({'status': 'success', 'message': 'changed'})

    @app.post('/v2/sessions')
    def enter():
        d = data()
        got = ask('SELECT password FROM members WHERE handle = ?', str(d.get('handle')))
        if weak and not got:
            return fail(401, 'no such member')
        if not got or got[0][0] != d.get('password'):
            return fail(401, 'wrong password' if weak else 'handle or password is wrong')
        return jsonify({'status': 'success', 'access_token': token(d['handle'])})

    @app.get('/v2/parcels')
    def parcels(): return jsonify({'parcels': [{'label': r[0], 'owner': r[1]} for r in ask('SELECT label, owner FROM parcels')]})

    @app.post('/v2/parcels')
    def send():
        u, d = me(), data()
        if not u:
            return fail(401, 'no valid token')
        if not isinstance(d.get('label'), str) or not isinstance(d.get('pin'), str) or ask('SELECT 1 FROM parcels WHERE label = ?', d['label']):
            return fail(400, 'a new label and a pin are needed')
        ask('INSERT INTO parcels VALUES (?, ?, ?)', d['label'][:100], u[0], d['pin'][:100])
        return jsonify({'status': 'success'}), 201

    @app.get('/v2/parcels/<label>')
    def parcel(label):
        u = me()
        if not u:
            return fail(401, 'no valid token')
        got = ask('SELECT label, owner, pin FROM parcels WHERE label = ?', label)
        if not got or not weak and got[0][1] != u[0]:
            return fail(404, 'no such parcel')
        return jsonify({'label': got[0][0], 'owner': got[0][1], 'pin': got[0][2]})

    @app.get('/v2/lockers')
    def mine():
        u = me()
        return jsonify([{'number': r[0]} for r in ask('SELECT number FROM lockers WHERE owner = ?', u[0])]) if u else fail(401, 'no valid token')

    @app.get('/v2/lockers/<int:number>')
    def locker(number):
        u = me()
        if not u:
            return fail(401, 'no valid token')
        got = ask('SELECT number, owner, place FROM lockers WHERE number = ?', number)
        if not got or not weak and got[0][1] != u[0]:
            return fail(404, 'no such locker')
        return jsonify({'number': got[0][0], 'owner': got[0][1], 'place': got[0][2]})

    @app.get('/v2/sizes/<size>')
    def size(size):
        cm = {'S': 20, 'M': 40, 'L': 60}.get(size)
        return jsonify({'size': size, 'cm': cm}) if cm else fail(404, 'no such size')

    @app.post('/v2/quote')
    def quote():
        d = data()
        try:
            return jsonify({'price': d['weight'] * 2 + {'S': 1, 'M': 3, 'L': 5}[d['size']]})
        except Exception:
            return Response(traceback.format_exc(), 500, mimetype='text/plain') if weak else fail(400, 'weight and size are needed')

    @app.get('/v2/audit')
    def audit():
        u = me()
        if not u or not weak and not u[2]:
            return fail(401 if not u else 403, 'no valid token' if not u else 'for staff')
        return jsonify({'log': [{'who': 'anna', 'what': 'opened 204'}, {'who': 'ben', 'what': 'opened 208'}]})
