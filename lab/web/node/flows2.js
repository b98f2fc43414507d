// More applications of several pages on Express; see flows.js.
'use strict';
const path = require('path'), fs = require('fs'), nunjucks = require('nunjucks');
const { EventEmitter } = require('events');
module.exports = ({ express, db, enc, page, form, people, sessions, hello, links, multer, FILES }) => ({
  // A single-page application: one page, one script, and an API that no page links to.
  spa(app, weak) {
    const users = people(), live = {}, mails = { 31: ['anna', 'Your lamp is on its way'], 32: ['ben', 'The code of the gate is 7733'] };
    app.get('/', (req, res) => res.type('html').send('<!DOCTYPE html><html><head><title>Box</title></head><body><div id="app"></div><script src="/app.js"></script></body></html>'));
    app.get('/app.js', (req, res) => res.type('js').send(`const api=(p,o)=>fetch("/api"+p,o).then(r=>r.json()),el=document.getElementById("app"),post=(p,b)=>api(p,{method:"POST",headers:{"Content-Type":"application/json"},body:JSON.stringify(b)});
const views={async login(){el.innerHTML='<form id=f><input name=username placeholder=Name><input name=password type=password><button>Log in</button></form>';document.getElementById("f").onsubmit=async e=>{e.preventDefault();const d=Object.fromEntries(new FormData(e.target));const r=await post("/session",d);if(r.ok)location.hash="#/items"}},
async items(){const me=await api("/me");el.innerHTML="<p id=me></p><input id=q value=chair><button id=s>Search</button><ul id=l></ul><a href='#/mails'>Mail</a> <a href='#/hello/you'>Hello</a>";document.getElementById("me").textContent=me.name||"";
const go=async()=>{const list=await post("/search",{term:document.getElementById("q").value,sort:"name"});document.getElementById("l").textContent=JSON.stringify(list)};document.getElementById("s").onclick=go;go()},
async mails(){const list=await api("/mails");el.innerHTML="";for(const m of list){const a=document.createElement("a");a.textContent=m.id;a.href="#/mail/"+m.id;el.append(a)}},
async mail(id){const m=await api("/mails/"+id);el.textContent=m.text},
async hello(name){el.${weak ? 'innerHTML' : 'textContent'}="Hello "+decodeURIComponent(name||"you")}};
const route=async()=>{const[,v,a]=location.hash.split("/");if(views[v])return views[v](a);(await api("/me")).name?views.items():views.login()};addEventListener("hashchange",route);route();
`));
    app.use((req, res, next) => { req.user = users[live[req.cookies.box]]; next(); });
    app.post('/api/session', (req, res) => {
      const u = users[String((req.body || {}).username)];
      if (!u || u.pass !== req.body.password) return res.status(401).json({ ok: false });
      const id = require('crypto').randomBytes(12).toString('hex');
      live[id] = u.name;
      res.cookie('box', id, { path: '/', httpOnly: true, sameSite: 'strict' }).json({ ok: true });
    });
    const who = (req, res, next) => req.user ? next() : res.status(401).json({ error: 'log in' });
    app.get('/api/me', (req, res) => res.json(req.user ? { name: req.user.name, phone: req.user.phone } : {}));
    app.post('/api/search', async (req, res) => {
      const term = String((req.body || {}).term || ''), sort = String((req.body || {}).sort || 'name');
      const by = weak ? sort : ['name', 'price'].includes(sort) ? sort : 'name';
      try { res.json((await (weak ? db.query(`SELECT name, price FROM items WHERE name='${term}' OR price>150 ORDER BY ${by}`) : db.query(`SELECT name, price FROM items WHERE name=$1 OR price>150 ORDER BY ${by}`, [term.replace(/\0/g, '')]))).rows || []); } catch (e) { res.json([]); }
    });
    app.get('/api/mails', who, (req, res) => res.json(Object.entries(mails).filter(m => m[1][0] === req.user.name).map(m => ({ id: +m[0] }))));
    app.get('/api/mails/:id', who, (req, res) => {
      const m = mails[req.params.id];
      !m || !weak && m[0] !== req.user.name ? res.json({ id: +req.params.id || 0, text: '' }) : res.json({ id: +req.params.id, to: m[0], text: m[1] });
    });
  },
  // "weak" keeps names and types as they come; "claimed" believes the type that the browser claims; "attachment" gives
  // files back as a download, which is no weakness; "sound" looks at ending and content, and names them itself.
  uploads(app, weak, variant) {
    const own = sessions(app, people(), { home: '/avatar' }), files = {};
    app.get('/', (req, res) => page(res, 'Pictures', hello(req) + links([['/avatar', 'My picture']])));
    app.get('/avatar', own, (req, res) => page(res, 'My picture', '<form method="post" action="/avatar" enctype="multipart/form-data"><input type="file" name="picture"><input name="caption" value="me"><button>Send</button></form>' +
      links(Object.keys(files).map(n => ['/pictures/' + encodeURIComponent(n), enc(n)]))));
    app.post('/avatar', own, multer({ limits: { fileSize: 100000 } }).single('picture'), (req, res) => {
      const f = req.file;
      if (!f) return page(res, 'My picture', '<p>Choose a file.</p>', 400);
      let name = path.basename(f.originalname);
      if (variant === 'claimed' && !f.mimetype.startsWith('image/')) return page(res, 'My picture', '<p>Only pictures.</p>', 400);
      if (variant === 'sound') {
        if (!/\.(png|jpe?g)$/i.test(name) || !f.buffer.subarray(0, 4).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47]))) return page(res, 'My picture', '<p>Only pictures.</p>', 400);
        name = require('crypto').randomBytes(8).toString('hex') + '.png';
      }
      files[name] = f.buffer;
      res.redirect(303, '/avatar');
    });
    app.get('/pictures/:name', (req, res) => {
      const body = files[req.params.name];
      if (!body) return page(res, 'Pictures', '<p>None.</p>', 404);
      if (variant === 'attachment') return res.set({ 'Content-Disposition': 'attachment', 'X-Content-Type-Options': 'nosniff' }).type('application/octet-stream').send(body);
      res.type(variant === 'sound' ? 'png' : path.extname(req.params.name) || 'txt').send(body);
    });
  },
  chat(app, weak, variant, server) {
    const users = people(), own = sessions(app, users, { cookie: { sameSite: weak ? undefined : 'strict' } }), { WebSocketServer } = require('ws'), wss = new WebSocketServer({ noServer: true });
    app.get('/', (req, res) => page(res, 'Chat', hello(req) + links([['/room', 'Room']])));
    app.get('/room', own, (req, res) => page(res, 'Room', `<ul id="l"></ul><script>const s = new WebSocket('ws://' + location.host + '/live');
s.onopen = () => { s.send(JSON.stringify({type: 'whoami'})); s.send(JSON.stringify({type: 'find', item: 'chair'})); };
s.onmessage = e => { const li = document.createElement('li'); li.textContent = e.data; document.getElementById('l').append(li); };</script>`));
    server.on('upgrade', (req, socket, head) => {
      if (req.url !== '/live' || !weak && req.headers.origin && req.headers.origin !== 'http://' + req.headers.host) return socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
      const sid = /sid=([0-9a-f]+)/.exec(req.headers.cookie || '');
      req.cookies = { sid: sid && sid[1] };
      app._router.stack.filter(l => l.handle.length === 3 && l.name === '<anonymous>').slice(0, 1).forEach(l => l.handle(req, {}, () => {}));
      wss.handleUpgrade(req, socket, head, ws => ws.on('message', async text => {
        let m;
        try { m = JSON.parse(text); } catch (e) { return ws.send('{"error":"no JSON"}'); }
        if (m.type === 'whoami') return ws.send(JSON.stringify({ name: req.user ? req.user.name : 'nobody', phone: req.user && req.user.phone }));
        if (m.type !== 'find') return ws.send('{"error":"unknown type"}');
        const item = String(m.item);
        try { ws.send(JSON.stringify((await (weak ? db.query(`SELECT name, price FROM items WHERE name='${item}'`) : db.query('SELECT name, price FROM items WHERE name=$1', [item.replace(/\0/g, '')]))).rows || [])); } catch (e) { ws.send('[]'); }
      }));
    });
  },
  // "weak" fetches anything, "filter" refuses two words for the own machine, "sound" knows the hosts.
  preview(app, weak, variant) {
    sessions(app, people());
    app.get('/', (req, res) => page(res, 'Links', hello(req) + links([['/card?link=' + encodeURIComponent('http://' + req.headers.host + '/home.html'), 'Card of our home']]) + `<button onclick="imp()">Import</button>
<script>function imp(){fetch('/api/import',{method:'POST',headers:{'Content-Type':'application/json'},body:JSON.stringify({feed:{source:'http://'+location.host+'/home.html',name:'home'}})}).then(r=>r.json()).then(console.log)}</script>`));
    async function get(link, host) {
      const u = new URL(link);
      if (variant === 'filter' && /localhost|127\.0\.0\.1/i.test(link) && !link.startsWith('http://' + host + '/home.html')) throw new Error('refused');
      if (variant === 'sound' && !(u.protocol === 'http:' && u.host === host && u.pathname === '/home.html')) throw new Error('refused');
      if (!['127.0.0.1', 'localhost', '[::1]', '0.0.0.0'].includes(u.hostname)) throw new Error('the lab stays on this machine');
      return (await (await fetch(u, { signal: AbortSignal.timeout(3000), redirect: variant === 'sound' ? 'error' : 'follow' })).text()).slice(0, 10000);
    }
    app.get('/card', async (req, res) => {
      const link = String(req.query.link || '');
      try { const t = await get(link, req.headers.host); page(res, 'Card', `<p>${enc((/<title>(.*?)<\/title>/s.exec(t) || [0, t.slice(0, 300)])[1])}</p><p>${enc(link)}</p>`); } catch (e) { page(res, 'Card', `<p>No card for ${enc(link)}.</p>`); }
    });
    app.post('/api/import', async (req, res) => {
      try { const t = await get(String(req.body.feed.source), req.headers.host); res.json({ read: t.length, text: t.slice(0, 200) }); } catch (e) { res.json({ read: 0, text: '' }); }
    });
  },
  // Names in a directory, asked by filters of RFC 4515.
  people(app, weak) {
    const ldap = require('@ldapjs/filter'), entries = [['anna', 'anna-Pass1', '555-0111'], ['ben', 'ben-Pass2', '555-0112'], ['carl', 'carl-Pass3', '555-0113']].map(([uid, pw, tel]) =>
      ({ uid: [uid], userPassword: [pw], telephoneNumber: [tel], objectClass: ['person'] }));
    const safe = s => weak ? s : s.replace(/[\\*()\0]/g, c => '\\' + c.charCodeAt(0).toString(16).padStart(2, '0'));
    const find = text => { const f = ldap.parseString(text); return entries.filter(e => f.matches(e)); };
    app.get('/', (req, res) => page(res, 'Staff', '<form action="/staff"><input name="name" value="anna"><button>Find</button></form>' + links([['/enter', 'Enter']])));
    app.get('/staff', (req, res) => {
      try { const l = find(`(&(objectClass=person)(uid=${safe(String(req.query.name || ''))}))`); page(res, 'Staff', l.length ? '<ul>' + l.map(e => `<li>${e.uid} ${e.telephoneNumber}</li>`).join('') + '</ul>' : '<p>Nobody.</p>'); } catch (e) { page(res, 'Staff', '<p>The search failed.</p>', 500); }
    });
    app.get('/enter', (req, res) => page(res, 'Enter', form('/enter', [['account', 'anna'], ['word', '', 'password']], 'Enter')));
    app.post('/enter', (req, res) => {
      try { const l = find(`(&(uid=${safe(String(req.body.account || ''))})(userPassword=${safe(String(req.body.word || ''))}))`); page(res, 'Enter', l.length ? `<p>Welcome ${l[0].uid}, your number is ${l[0].telephoneNumber}.</p>` : '<p>Wrong name or word.</p>'); } catch (e) { page(res, 'Enter', '<p>The login failed.</p>', 500); }
    });
  },
  // "forwarded" believes X-Forwarded-Host. The mails that would be sent are shown to whom they are for.
  reset(app, weak, variant) {
    const users = people(), own = sessions(app, users), outbox = {}, host = req => variant === 'sound' ? 'portal.lab.example' : variant === 'forwarded' ? req.get('X-Forwarded-Host') || 'portal.lab.example' : req.headers.host;
    app.get('/', (req, res) => page(res, 'Portal', hello(req) + links([['/forgot', 'Forgotten?'], ['/invite', 'Invite'], ['/outbox', 'Mail']])));
    app.get('/forgot', (req, res) => page(res, 'Forgotten', form('/forgot', [['mail', 'anna@lab.example']], 'Send')));
    app.post('/forgot', (req, res) => { outbox[String(req.body.mail)] = `Set a new password: http://${host(req)}/set?token=${require('crypto').randomBytes(8).toString('hex')}`; page(res, 'Forgotten', '<p>If we know you, a mail is on its way.</p>'); });
    app.get('/invite', (req, res) => page(res, 'Invite', `<p>Send your friends this: <input readonly value="http://${enc(host(req))}/join?from=portal"></p>`));
    app.get('/outbox', own, (req, res) => page(res, 'Mail', `<pre>${enc(outbox[req.user.mail] || 'none')}</pre>`));
  },
  ...require('./flows3.js')({ db, enc, page, form, people, sessions, hello, links, nunjucks, FILES, path, fs }),
});
