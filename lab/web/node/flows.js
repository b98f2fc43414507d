// The applications of several pages on Express: LAB_FLOWS says which, in which variant, on which port. Each variant is
// weak in its own way; "sound" only looks weak. Weak on purpose; loopback only.
'use strict';
const express = require('express'), cookies = require('cookie-parser'), multer = require('multer'), fs = require('fs'), path = require('path');
const crypto = require('crypto'), http = require('http'), { exec, execFile } = require('child_process');
const { Pool } = require('pg');
const db = new Pool({ host: '127.0.0.1', port: +process.env.LAB_POSTGRES_PORT, user: 'lab', database: 'postgres', max: 8 });
const FILES = process.env.LAB_FILES;
const enc = s => String(s).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;').replace(/'/g, '&#39;');
const page = (res, title, body, status = 200) => res.status(status).type('html').send(`<!DOCTYPE html><html><head><title>${title}</title></head>
<body><nav><a href="/">Start</a></nav><h1>${title}</h1>${body}</body></html>`);
const form = (action, fields, button = 'Save', more = '') => `<form method="post" action="${action}" ${more}>${fields.map(([n, v, t]) =>
  `<label>${n} <input type="${t || 'text'}" name="${n}" value="${enc(v || '')}"></label>`).join(' ')}<button>${button}</button></form>`;
const people = () => ({
  anna: { id: 11, name: 'anna', pass: 'anna-Pass1', mail: 'anna@lab.example', role: 'customer', phone: '555-0111' },
  ben: { id: 12, name: 'ben', pass: 'ben-Pass2', mail: 'ben@lab.example', role: 'customer', phone: '555-0112' },
  root: { id: 1, name: 'root', pass: 'root-Pass9', mail: 'root@lab.example', role: 'admin', phone: '555-0001' } });

// sessions gives an application a form to log in, and req.user.
function sessions(app, users, o = {}) {
  const live = {}, at = o.at || '/login', field = o.field || 'username';
  const set = { path: '/', httpOnly: true, sameSite: 'lax', ...o.cookie };
  app.use((req, res, next) => { req.user = users[live[req.cookies.sid]]; next(); });
  app.get(at, (req, res) => page(res, 'Log in', form(at, [[field], ['password', '', 'password'], ...(o.extra ? o.extra(req) : [])], 'Log in')));
  app.post(at, (req, res) => {
    const u = users[String(req.body[field])];
    if (!u || u.pass !== req.body.password) return page(res, 'Log in', (o.wrong ? o.wrong(u, req) : '<p>Wrong name or password.</p>') + form(at, [[field], ['password', '', 'password']], 'Log in'), 401);
    const sid = o.fixed && req.cookies.sid || crypto.randomBytes(12).toString('hex');
    live[sid] = u.name;
    res.cookie('sid', sid, set);
    o.then ? o.then(req, res, u) : res.redirect(303, o.home || '/');
  });
  app.get('/logout', (req, res) => { delete live[req.cookies.sid]; res.clearCookie('sid').redirect(303, '/'); });
  return (req, res, next) => req.user ? next() : res.redirect(302, at);
}
const hello = req => req.user ? `<p>Logged in as ${req.user.name}. <a href="/logout">Log out</a></p>` : '<p><a href="/login">Log in</a></p>';
const links = list => '<ul>' + list.map(([to, text]) => `<li><a href="${to}">${text}</a></li>`).join('') + '</ul>';
const json = s => Buffer.from(JSON.stringify(s)).toString('base64url');
const hmac = (text, key) => crypto.createHmac('sha256', key).update(text).digest('base64url');

const apps = {
  orders(app, weak) {
    const users = people(), own = sessions(app, users, { home: '/orders' });
    const orders = { 101: ['anna', 'lamp', 'Mill Lane 3'], 102: ['anna', 'desk', 'Mill Lane 3'], 103: ['ben', 'sofa', 'Harbour 9'], 104: ['ben', 'chair', 'Harbour 9'] };
    const products = { 1: 'chair', 2: 'table', 3: 'lamp' };
    app.get('/', (req, res) => page(res, 'Furniture', hello(req) + links([['/orders', 'My orders'], ['/profile', 'Profile'], ['/products/1', 'Chair'], ['/products/2', 'Table']])));
    app.get('/products/:id', (req, res) => products[req.params.id] ? page(res, 'Product', `<p>A ${products[req.params.id]}, made of oak.</p>`) : page(res, 'Product', '<p>No such product.</p>', 404));
    app.get('/orders', own, (req, res) => page(res, 'My orders', links(Object.entries(orders).filter(o => o[1][0] === req.user.name).flatMap(o =>
      [['/orders/' + o[0], 'Order ' + o[0]], ['/invoice?number=' + (9000 + +o[0]), 'Invoice']]))));
    const show = (req, res, id, what) => {
      const o = orders[id];
      if (!o) return page(res, what, '<p>There is none.</p>', 404);
      if (!weak && o[0] !== req.user.name) return what === 'Order' ? page(res, what, '<p>This order is not yours.</p>') : page(res, what, '<p>There is none.</p>', 404);
      page(res, what, `<dl><dt>Name</dt><dd>${o[0]}</dd><dt>Goods</dt><dd>${o[1]}</dd><dt>Ship to</dt><dd>${o[2]}</dd></dl>`);
    };
    app.get('/orders/:id', own, (req, res) => show(req, res, req.params.id, 'Order'));
    app.get('/invoice', own, (req, res) => show(req, res, String(+req.query.number - 9000), 'Invoice'));
    app.get('/profile', own, (req, res) => page(res, 'Profile', `<p>Role: ${enc(req.user.role)}</p>` + form('/profile', [['mail', req.user.mail], ['phone', req.user.phone]])));
    app.post('/profile', own, (req, res) => {
      if (weak) for (const [k, v] of Object.entries(req.body)) { if (!['name', 'pass', 'id'].includes(k)) req.user[k] = String(v); }
      else Object.assign(req.user, { mail: String(req.body.mail), phone: String(req.body.phone) });
      res.redirect(303, '/profile');
    });
  },
  // ben is anna's colleague, root administers. "cookie" believes a cookie.
  desk(app, weak, variant) {
    const users = people(), own = sessions(app, users, { at: '/signin', field: 'user', home: '/tickets', then(req, res, u) {
      if (variant === 'cookie') res.cookie('role', u.role, { path: '/', httpOnly: true, sameSite: 'lax' });
      res.redirect(303, '/tickets');
    } });
    const role = req => variant === 'cookie' ? req.cookies.role : req.user.role;
    const admin = (req, res, next) => variant === 'weak' || role(req) === 'admin' ? next() : req.path.endsWith('export') ? page(res, 'Desk', '<p>This page is for administrators.</p>') : page(res, 'Desk', '<p>Forbidden</p>', 403);
    app.get('/', (req, res) => req.user ? res.redirect(302, '/tickets') : page(res, 'Desk', '<p><a href="/signin">Sign in</a></p>'));
    app.get('/tickets', own, (req, res) => page(res, 'Tickets', `<p>${req.user.name} (${role(req)}) <a href="/logout">Log out</a></p>` + links([['/faq', 'Questions'], ...role(req) === 'admin' ? [['/admin/people', 'People'], ['/admin/export', 'Export']] : []])));
    app.get('/faq', own, (req, res) => page(res, 'Questions', '<p>Turn it off and on again.</p>'));
    app.get('/admin/people', own, admin, (req, res) => page(res, 'People', '<table>' + Object.values(users).map(u => `<tr><td>${u.name}</td><td>${u.mail}</td><td>${u.phone}</td></tr>`).join('') + '</table>' +
      form('/admin/role', [['person', 'ben'], ['level', 'customer']], 'Change')));
    app.get('/admin/export', own, admin, (req, res) => page(res, 'Export', '<pre>id,name,phone\n' + Object.values(users).map(u => [u.id, u.name, u.phone].join()).join('\n') + '</pre>'));
    app.post('/admin/role', own, admin, (req, res) => page(res, 'People', `<p>${enc(req.body.person)} is now ${enc(req.body.level)}.</p>`));
  },
  // A REST API with its description, and tokens of random keys.
  rest(app, weak) {
    const users = people(), tokens = {}, notes = { 'n-501': ['anna', 'dentist at nine'], 'n-502': ['ben', 'the safe is 4-17-33'] };
    const who = (req, res, next) => { req.user = users[tokens[(req.get('Authorization') || '').replace('Bearer ', '')]]; req.user ? next() : res.status(401).json({ error: 'log in' }); };
    const op = (summary, more = {}) => ({ summary, responses: { 200: { description: 'fine' } }, security: [{ token: [] }], ...more });
    const param = (name, where, example) => ({ name, in: where, required: true, example, schema: { type: typeof example === 'number' ? 'integer' : 'string', example } });
    const body = example => ({ requestBody: { content: { 'application/json': { example, schema: { type: 'object', properties: Object.fromEntries(Object.entries(example).map(([k, v]) => [k, { type: typeof v, example: v }])) } } } } });
    app.get('/openapi.json', (req, res) => res.json({ openapi: '3.0.3', info: { title: 'Accounts', version: '1' }, components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } }, paths: {
      '/api/login': { post: { summary: 'Log in', responses: { 200: { description: 'a token' } }, ...body({ username: 'anna', password: 'x' }) } },
      '/api/accounts': { get: op('My accounts') }, '/api/accounts/{id}': { get: op('One account', { parameters: [param('id', 'path', 11)] }) },
      '/api/notes': { get: op('My notes') }, '/api/notes/{key}': { get: op('One note', { parameters: [param('key', 'path', 'n-501')] }) },
      '/api/items': { get: op('Items', { parameters: [param('q', 'query', 'chair')] }) },
      '/api/me': { get: op('Me'), put: op('Change me', body({ mail: 'a@lab.example', phone: '555-0111' })) },
      '/api/check': { post: op('Check a host', body({ host: 'alpha' })) }, '/api/admin/users': { get: op('All users') } } }));
    app.get('/', (req, res) => res.json({ name: 'Accounts', description: '/openapi.json' }));
    app.post('/api/login', (req, res) => {
      const u = users[String((req.body || {}).username)];
      if (!u || u.pass !== req.body.password) return res.status(401).json({ error: 'wrong name or password' });
      const token = crypto.randomBytes(16).toString('hex');
      tokens[token] = u.name;
      res.json({ token, user: { id: u.id, name: u.name } });
    });
    const open = u => ({ id: u.id, name: u.name, mail: u.mail, phone: u.phone, role: u.role });
    app.get('/api/accounts', who, (req, res) => res.json([{ id: req.user.id, owner: req.user.name }]));
    app.get('/api/accounts/:id', who, (req, res) => {
      const u = Object.values(users).find(u => u.id === +req.params.id);
      if (!u) return res.status(404).json({ error: 'no such account' });
      if (!weak && u !== req.user) return res.json({ error: 'not your account' });
      res.json({ id: u.id, owner: u.name, iban: 'LAB00' + u.id * 7919, phone: u.phone });
    });
    app.get('/api/notes', who, (req, res) => res.json(Object.keys(notes).filter(k => notes[k][0] === req.user.name).map(key => ({ key }))));
    app.get('/api/notes/:key', who, (req, res) => {
      const n = notes[req.params.key];
      if (!n || !weak && n[0] !== req.user.name) return res.status(404).json({ error: 'no such note' });
      res.json({ key: req.params.key, owner: n[0], text: n[1] });
    });
    app.get('/api/items', who, async (req, res) => {
      const q = String(req.query.q || '');
      try { res.json((await (weak ? db.query(`SELECT name, price FROM items WHERE name LIKE '%${q}%'`) : db.query('SELECT name, price FROM items WHERE name LIKE $1', ['%' + q.replace(/\0/g, '') + '%']))).rows || []); } catch (e) { res.status(500).json({ error: 'it failed' }); }
    });
    app.get('/api/me', who, (req, res) => res.json(open(req.user)));
    app.put('/api/me', who, (req, res) => {
      const b = req.body || {};
      if (weak) { for (const k of Object.keys(b)) if (!['id', 'name', 'pass', '__proto__'].includes(k)) req.user[k] = b[k]; } else for (const k of ['mail', 'phone']) if (k in b) req.user[k] = String(b[k]);
      res.json(open(req.user));
    });
    app.post('/api/check', who, (req, res) => {
      const host = String((req.body || {}).host || '').replace(/\0/g, ''), done = (e, out) => res.json({ out: out || '' });
      weak ? exec('echo checking ' + host, { cwd: FILES }, done) : execFile('echo', ['checking', host], { cwd: FILES }, done);
    });
    app.get('/api/admin/users', who, (req, res) => !weak && req.user.role !== 'admin' ? res.status(403).json({ error: 'administrators only' }) : res.json(Object.values(users).map(open)));
  },
  // Tokens in a cookie. Variants say how the signature is not checked.
  tokens(app, weak, variant) {
    const users = people(), pair = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = pair.publicKey.export({ type: 'spki', format: 'pem' }), random = crypto.randomBytes(32).toString('hex'), keys = path.join(FILES, 'keys-' + variant);
    fs.mkdirSync(keys, { recursive: true });
    fs.writeFileSync(path.join(keys, 'main.key'), random);
    const key = variant === 'key' ? 'secret' : random;
    function sign(claims) {
      const head = variant === 'confusion' ? { alg: 'RS256', typ: 'JWT' } : variant === 'kid' ? { alg: 'HS256', typ: 'JWT', kid: 'main.key' } : { alg: 'HS256', typ: 'JWT' };
      const text = json(head) + '.' + json(claims);
      return text + '.' + (head.alg === 'RS256' ? crypto.sign('sha256', Buffer.from(text), pair.privateKey).toString('base64url') : hmac(text, key));
    }
    function read(token) {
      try {
        const [h, p, s] = token.split('.'), head = JSON.parse(Buffer.from(h, 'base64url')), claims = JSON.parse(Buffer.from(p, 'base64url')), text = h + '.' + p;
        if (claims.exp < Date.now() / 1000) return null;
        if (variant === 'unsigned') return claims;
        if (variant === 'none' && String(head.alg).toLowerCase() === 'none' && !s) return claims;
        if (variant === 'confusion' && head.alg === 'RS256') return crypto.verify('sha256', Buffer.from(text), pair.publicKey, Buffer.from(s, 'base64url')) ? claims : null;
        let secret = variant === 'confusion' ? pem : key;
        if (variant === 'kid') secret = fs.readFileSync(keys + '/' + head.kid, 'utf8');
        return head.alg === 'HS256' && s === hmac(text, secret) ? claims : null;
      } catch (e) { return null; }
    }
    app.use((req, res, next) => { const c = read(req.cookies.token || ''); req.user = c && users[c.sub] && { ...users[c.sub], role: c.role }; next(); });
    app.get('/', (req, res) => page(res, 'Portal', hello(req) + links([['/me', 'Me'], ['/public.pem', 'Key']])));
    app.get('/public.pem', (req, res) => variant === 'confusion' ? res.type('text/plain').send(pem) : res.status(404).send('none'));
    app.get('/login', (req, res) => page(res, 'Log in', form('/login', [['username'], ['password', '', 'password']], 'Log in')));
    app.post('/login', (req, res) => {
      const u = users[String(req.body.username)];
      if (!u || u.pass !== req.body.password) return page(res, 'Log in', '<p>Wrong name or password.</p>', 401);
      res.cookie('token', sign({ sub: u.name, role: u.role, exp: Math.floor(Date.now() / 1000) + 36000 }), { path: '/', httpOnly: true, sameSite: 'lax' }).redirect(303, '/me');
    });
    app.get('/logout', (req, res) => res.clearCookie('token').redirect(303, '/'));
    app.get('/me', (req, res) => req.user ? page(res, 'Me', `<p>You are ${req.user.name}, ${enc(req.user.role)}, ${req.user.phone}.</p>` + hello(req)) : res.redirect(302, '/login'));
    app.get('/admin', (req, res) => req.user && req.user.role === 'admin' ? page(res, 'Admin', '<p>All keys are in the drawer.</p>') : page(res, 'Admin', '<p>Forbidden</p>', 403));
  },
  graph(app, weak) {
    const g = require('graphql'), users = people();
    sessions(app, users, { then: (req, res) => res.redirect(303, '/') });
    const T = (name, fields) => new g.GraphQLObjectType({ name, fields }), S = { type: g.GraphQLString }, I = { type: g.GraphQLInt };
    const User = T('User', { id: I, name: S, mail: S, phone: S }), Item = T('Item', { name: S, price: I });
    const logged = c => { if (!c.user) throw new Error('log in'); return c.user; };
    const schema = new g.GraphQLSchema({ query: T('Query', {
      me: { type: User, resolve: (_, a, c) => logged(c) },
      user: { type: User, args: { id: I }, resolve(_, a, c) { const me = logged(c), u = Object.values(users).find(u => u.id === a.id); if (!weak && u !== me) throw new Error('not yours'); return u; } },
      items: { type: new g.GraphQLList(Item), args: { search: S }, async resolve(_, a) {
        const q = String(a.search || '');
        try { return (await (weak ? db.query(`SELECT name, price FROM items WHERE name='${q}'`) : db.query('SELECT name, price FROM items WHERE name=$1', [q.replace(/\0/g, '')]))).rows || []; } catch (e) { throw new Error(weak ? String(e.message) : 'it failed'); }
      } },
      ping: { type: g.GraphQLString, args: { host: S }, resolve: (_, a) => new Promise(r => { const h = String(a.host || '').replace(/\0/g, ''), done = (e, out) => r(out || ''); weak ? exec('echo ping ' + h, { cwd: FILES }, done) : execFile('echo', ['ping', h], { cwd: FILES }, done); }) } }) });
    app.get('/', (req, res) => page(res, 'Graph', hello(req) + `<pre id="out"></pre><script>
async function ask(query, variables) { const r = await fetch('/graphql', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({query, variables})}); document.getElementById('out').textContent += await r.text(); }
ask('query($s: String) { items(search: $s) { name price } }', {s: 'chair'});
ask('query($h: String) { ping(host: $h) }', {h: 'alpha'});
${req.user ? `ask('query($id: Int) { user(id: $id) { id name mail phone } }', {id: ${req.user.id}});` : ''}</script>`));
    app.post('/graphql', async (req, res) => {
      const { query, variables } = req.body || {};
      let doc;
      try { doc = g.parse(String(query)); } catch (e) { return res.status(400).json({ errors: [{ message: e.message }] }); }
      const errors = g.validate(schema, doc, [...g.specifiedRules, ...weak ? [] : [g.NoSchemaIntrospectionCustomRule]]);
      if (errors.length) return res.status(400).json({ errors });
      res.json(await g.execute({ schema, document: doc, variableValues: variables, contextValue: { user: req.user } }));
    });
  },
};
Object.assign(apps, require('./flows2.js')({ express, db, enc, page, form, people, sessions, hello, links, multer, FILES }));

for (const one of process.env.LAB_FLOWS.split(' ')) {
  const [name, variant, port] = one.split(':'), app = express();
  app.disable('x-powered-by');
  app.use(cookies(), express.urlencoded({ extended: true }), express.json());
  app.get('/home.html', (req, res) => page(res, 'Home', '<p>Welcome home.</p>'));
  const server = http.createServer(app);
  apps[name](app, variant !== 'sound', variant, server);
  app.use((req, res) => page(res, 'Not found', '<p>There is no such page.</p>', 404));
  app.use((err, req, res, next) => page(res, 'Error', '<p>Something went wrong.</p>', err.status || 500));
  server.listen(+port, '127.0.0.1');
}
