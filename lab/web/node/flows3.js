// More applications of several pages on Express; see flows.js.
'use strict';
const crypto = require('crypto');
module.exports = ({ db, enc, page, form, people, sessions, hello, links, nunjucks, FILES, path, fs }) => ({
  signin(app, weak) {
    const users = people(), tries = {}, nonce = {};
    if (weak) users.admin = { id: 2, name: 'admin', pass: 'admin', mail: 'admin@lab.example', role: 'admin' };
    const local = to => /^\/(?![/\\])[\x21-\x7e]*$/.test(to) ? to : '/account';
    app.post('/login', (req, res, next) => {
      const t = tries[req.body.username] = (tries[req.body.username] || []).filter(x => x > Date.now() - 60000);
      if (!weak && t.length >= 6) return page(res, 'Log in', '<p>Too many attempts. Wait a minute.</p>', 429);
      t.push(Date.now());
      if (users[req.body.username] && users[req.body.username].pass === req.body.password) tries[req.body.username] = [];
      next();
    });
    const own = sessions(app, users, { fixed: weak, cookie: weak ? { httpOnly: false, sameSite: undefined } : { sameSite: 'strict' },
      extra: req => [['next', String(req.query.next || '/account'), 'hidden']], wrong: u => weak && !u ? '<p>There is no such user.</p>' : weak ? '<p>The password is wrong.</p>' : '<p>Wrong name or password.</p>',
      then(req, res) { const to = String(req.body.next || '/account').replace(/[\r\n]/g, ''); res.status(303).set('Location', weak ? to : local(to)).end(); } });
    app.get('/', (req, res) => { if (weak && !req.cookies.sid) res.cookie('sid', crypto.randomBytes(12).toString('hex'), { path: '/' }); page(res, 'Club', hello(req) + links([['/account', 'Account'], ['/login?next=%2Faccount', 'Log in and go on']])); });
    app.get('/account', own, (req, res) => {
      nonce[req.user.name] = nonce[req.user.name] || crypto.randomBytes(8).toString('hex');
      page(res, 'Account', `<p>${req.user.name}: ${enc(req.user.mail)}</p>` + form('/account/mail', [['mail', req.user.mail], ...weak ? [] : [['csrf', nonce[req.user.name], 'hidden']]], 'Change'));
    });
    app.post('/account/mail', own, (req, res) => {
      if (!weak && (!nonce[req.user.name] || req.body.csrf !== nonce[req.user.name])) return page(res, 'Account', '<p>Forged.</p>', 403);
      req.user.mail = String(req.body.mail);
      res.redirect(303, '/account');
    });
  },
  shop(app, weak) {
    const prices = { 1: 30, 2: 80 }, users = people(), own = sessions(app, users, { home: '/' }), used = {};
    app.get('/', (req, res) => page(res, 'Shop', hello(req) + Object.entries(prices).map(([id, p]) => `<p>Item ${id}, ${p} EUR</p>` + form('/cart', [['item', id, 'hidden'], ['price', p, 'hidden'], ['quantity', '1', 'number']], 'Into the cart')).join('') + form('/coupon', [['code', 'WELCOME10']], 'Use')));
    app.post('/cart', own, (req, res) => {
      const n = parseInt(req.body.quantity, 10) || 0, p = weak ? +req.body.price : prices[req.body.item];
      if (!p || !weak && (n < 1 || n > 99)) return page(res, 'Cart', '<p>This quantity cannot be ordered.</p>', 400);
      page(res, 'Cart', `<p>${n} of item ${enc(req.body.item)}. Total: ${n * p} EUR</p>`);
    });
    app.post('/coupon', own, (req, res) => {
      if (req.body.code !== 'WELCOME10' || !weak && used[req.user.name]) return page(res, 'Coupon', '<p>This code is not valid.</p>', 400);
      used[req.user.name] = (used[req.user.name] || 0) + 10;
      page(res, 'Coupon', `<p>Discount: ${used[req.user.name]} EUR</p>`);
    });
  },
  // What a user writes is shown on other pages, some as a template.
  notes(app, weak) {
    const users = people(), own = sessions(app, users), wall = [['root', 'Be nice.']];
    app.get('/', (req, res) => page(res, 'Wall', hello(req) + links([['/wall', 'Wall'], ['/write', 'Write'], ['/letter', 'Letter']])));
    app.get('/wall', own, (req, res) => page(res, 'Wall', '<ul>' + wall.map(w => `<li>${w[0]}: ${weak ? w[1].replace(/<script/i, '') : enc(w[1])}</li>`).join('') + '</ul>'));
    app.get('/write', own, (req, res) => page(res, 'Write', form('/write', [['text', 'hello']], 'Post')));
    app.post('/write', own, (req, res) => { wall.push([req.user.name, String(req.body.text).slice(0, 500)]); if (wall.length > 5000) wall.splice(1, 1); res.redirect(303, '/write'); });
    app.get('/letter', own, (req, res) => page(res, 'Letter', form('/letter', [['greeting', req.user.greeting || 'Dear reader']], 'Keep') + links([['/letter/preview', 'Preview']])));
    app.post('/letter', own, (req, res) => { req.user.greeting = String(req.body.greeting).slice(0, 500); res.redirect(303, '/letter'); });
    app.get('/letter/preview', own, (req, res) => {
      const t = req.user.greeting || 'Dear reader';
      try { page(res, 'Preview', weak ? nunjucks.renderString('<p>' + enc(t).replace(/&#39;/g, "'") + ', {{ name }}</p>', { name: req.user.name }) : nunjucks.renderString('<p>{{ t | escape }}, {{ name }}</p>', { t, name: req.user.name })); } catch (e) { page(res, 'Preview', '<p>Something went wrong.</p>', 500); }
    });
  },
  // Settings that are merged.
  settings(app, weak) {
    const own = sessions(app, people()), settings = {};
    app.get('/', (req, res) => page(res, 'Settings', hello(req) + links([['/settings', 'Settings']])));
    const merge = (to, from) => { for (const k of Object.keys(from)) { if (!weak && (k === '__proto__' || k === 'constructor' || k === 'prototype')) continue; if (from[k] && typeof from[k] === 'object') { if (!to[k] || typeof to[k] !== 'object' && typeof to[k] !== 'function') to[k] = {}; merge(to[k], from[k]); } else to[k] = from[k]; } return to; };
    app.get('/settings', own, (req, res) => page(res, 'Settings', `<button onclick="keep()">Keep</button><script>function keep(){fetch('/api/settings',{method:'POST',headers:{'Content-Type':'application/json'},body:JSON.stringify({colour:'blue',page:{size:10}})}).then(r=>r.json()).then(console.log)}</script>`));
    app.post('/api/settings', own, (req, res) => { merge(settings, JSON.parse(JSON.stringify(req.body || {}))); res.json({ colour: settings.colour, page: { size: (settings.page || {}).size } }); });
  },
  // Downloads and what lies about. Variants of the filter: "strip" removes ../ once, "prefix" wants a folder at the
  // beginning, "twice" decodes once more after its check; "sound" resolves, and answers its home page to all addresses.
  docs(app, weak, variant) {
    const dir = path.join(FILES, 'manuals');
    fs.mkdirSync(dir, { recursive: true });
    for (const n of ['start.txt', 'care.txt']) fs.writeFileSync(path.join(dir, n), 'How to ' + n + '\n');
    const first = { strip: 'start.txt', prefix: 'manuals/start.txt', twice: 'start.txt', sound: 'start.txt' }[variant];
    const home = (req, res) => page(res, 'Manuals', '<!-- the old copy of the site is in /backup/ -->' + links([['/manual?name=' + encodeURIComponent(first), 'First steps']]));
    app.get('/', home);
    app.get('/manual', (req, res) => {
      let n = String(req.query.name || ''), base = dir;
      if (variant === 'strip') n = n.split('../').join('');
      if (variant === 'prefix') { base = FILES; if (!n.startsWith('manuals/')) return page(res, 'Manual', '<p>No such manual.</p>'); }
      if (variant === 'twice') { if (n.includes('..')) return page(res, 'Manual', '<p>Refused.</p>', 403); try { n = decodeURIComponent(n); } catch (e) { n = ''; } }
      const at = path.join(base, n);
      if (variant === 'sound' && !at.startsWith(dir + '/')) return page(res, 'Manual', '<p>No such manual.</p>');
      try { page(res, 'Manual', `<pre>${enc(fs.readFileSync(at, 'utf8').slice(0, 50000))}</pre>`); } catch (e) { page(res, 'Manual', '<p>No such manual.</p>'); }
    });
    if (!weak) return app.use(home); // as single-page applications are served: everything is the home page
    app.get('/robots.txt', (req, res) => res.type('text/plain').send('User-agent: *\nDisallow: /internal-report\n'));
    app.get('/internal-report', (req, res) => page(res, 'Report', '<p>Salaries: anna 4100, ben 3900. api_key = "sk_live_9f8e7d6c5b4a39281706f5e4d3c2b1a0"</p>'));
    app.get('/.git/config', (req, res) => res.type('application/octet-stream').send('[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n'));
    app.get('/.git/HEAD', (req, res) => res.type('application/octet-stream').send('ref: refs/heads/main\n'));
    app.get('/.env', (req, res) => res.type('application/octet-stream').send('APP_ENV=production\nDB_HOST=127.0.0.1\nDB_PASSWORD=Zq8-not-for-you\n'));
    app.get('/backup/', (req, res) => res.type('html').send('<html><head><title>Index of /backup/</title></head><body><h1>Index of /backup/</h1><hr><pre><a href="../">../</a>\n<a href="site.sql">site.sql</a>   12-Nov-2026 10:11   311\n</pre><hr></body></html>'));
    app.get('/backup/site.sql', (req, res) => res.type('application/octet-stream').send("-- MariaDB dump 10.19  Distrib 10.11\nCREATE TABLE `users` (`id` int, `name` text, `pass` text);\nINSERT INTO `users` VALUES (1,'anna','anna-Pass1');\n"));
    app.get('/debug', (req, res) => { res.status(500).type('text/plain').send(`ReferenceError: settings is not defined\n    at /srv/manuals/app.js:41:9\n    at Layer.handle [as handle_request] (/srv/manuals/node_modules/express/lib/router/layer.js:95:5)\n`); });
  },
  // A cookie of visits, a state of the page and a sort order, each in a statement that shows nothing.
  // "refusing" refuses blanks and two words of SQL.
  track(app, weak, variant) {
    const bad = s => variant === 'refusing' && /\s|union|--/i.test(s);
    app.get('/', async (req, res) => {
      const id = req.cookies.visitor || 'chair';
      if (!req.cookies.visitor) res.cookie('visitor', id, { path: '/', httpOnly: true, sameSite: 'lax' });
      let known = false;
      if (bad(id)) return page(res, 'News', '<p>Refused.</p>', 403);
      try { known = (weak ? await db.query(`SELECT id FROM items WHERE name='${id}'`) : await db.query('SELECT id FROM items WHERE name=$1', [id.replace(/\0/g, '')])).rows.length > 0; } catch (e) { /* nothing is shown */ }
      page(res, 'News', `<p>${known ? 'Welcome back!' : 'Welcome.'}</p>` + links([['/list?state=' + encodeURIComponent(Buffer.from('{"page":1,"kind":"chair"}').toString('base64')), 'News']]) + `<form method="post" action="/letter"><input name="mail" value="a@lab.example"><input name="topic" value="chair"><button>Send me news</button></form>`);
    });
    app.get('/list', async (req, res) => {
      let kind = '';
      try { kind = String(JSON.parse(Buffer.from(String(req.query.state), 'base64')).kind); } catch (e) { return page(res, 'News', '<p>No such page.</p>', 400); }
      if (bad(kind)) return page(res, 'News', '<p>Refused.</p>', 403);
      let n = 0;
      try { n = (weak ? await db.query(`SELECT id FROM items WHERE name='${kind}'`) : await db.query('SELECT id FROM items WHERE name=$1', [kind.replace(/\0/g, '')])).rows.length; } catch (e) { /* nothing is shown */ }
      page(res, 'News', `<p>${n ? 'There is news.' : 'There is no news.'}</p>`);
    });
    app.post('/letter', async (req, res) => {
      const topic = String(req.body.topic || '');
      if (bad(topic)) return page(res, 'Letter', '<p>Refused.</p>', 403);
      try { weak ? await db.query(`SELECT id FROM items WHERE name='${topic}'`) : await db.query('SELECT id FROM items WHERE name=$1', [topic.replace(/\0/g, '')]); } catch (e) { /* nothing is shown */ }
      page(res, 'Letter', '<p>Thank you.</p>');
    });
  },
  // Answers to other origins: "reflect" any, "null" that one, "suffix" hosts with an ending, "sound" one origin.
  cors(app, weak, variant) {
    const own = sessions(app, people(), { cookie: { sameSite: 'none' } });
    app.get('/', (req, res) => page(res, 'Card', hello(req) + `<p id="o"></p><script>fetch('/api/card').then(r=>r.text()).then(t=>{document.getElementById('o').textContent=t})</script>`));
    app.get('/api/card', (req, res) => {
      const o = req.get('Origin') || '', host = o.replace(/^https?:\/\//, '');
      const allow = { reflect: !!o, null: o === 'null', suffix: host.endsWith(req.headers.host) || host.endsWith('lab.example'), sound: o === 'https://portal.lab.example' }[variant];
      if (allow || variant === 'sound') res.set({ 'Access-Control-Allow-Origin': allow ? o : 'https://portal.lab.example', 'Access-Control-Allow-Credentials': 'true', Vary: 'Origin' });
      req.user ? res.json({ name: req.user.name, phone: req.user.phone }) : res.status(401).json({ error: 'log in' });
    });
  },
});
