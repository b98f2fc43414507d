// The Express application of the lab: each case of cases.tsv is a filter and a sink. Weak on purpose; loopback only.
'use strict';
const express = require('express'), cookies = require('cookie-parser'), ejs = require('ejs'), nunjucks = require('nunjucks');
const { Pool } = require('pg'), fs = require('fs'), path = require('path'), { exec, execFile } = require('child_process');
const SITE = process.env.LAB_SITE, FILES = process.env.LAB_FILES, SELF = process.env.LAB_SELF;
const db = new Pool({ host: '127.0.0.1', port: +process.env.LAB_POSTGRES_PORT, user: 'lab', database: 'postgres', max: 8 });
const app = express();
app.disable('x-powered-by');
app.disable('etag');
app.use(cookies(), express.urlencoded({ extended: true }), express.json({ limit: '1mb' }), express.text({ type: 'application/xml' }));
const enc = s => String(s).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;').replace(/'/g, '&#39;');
const show = (res, html, status = 200) => res.status(status).type('html').send(`<!DOCTYPE html><html><head><title>Lab</title></head><body><h1>Lab</h1>${html}</body></html>`);
const once = (s, words) => words.reduce((t, w) => { const i = t.toLowerCase().indexOf(w); return i < 0 ? t : t.slice(0, i) + t.slice(i + w.length); }, s);
const number = v => String(parseInt(v, 10) || 0);
const users = [{ user: 'anna', mail: 'anna@lab.example' }, { user: 'ben', mail: 'ben@lab.example' }];
const notes = {}, kept = {};

async function sql(c, v, res, safe, req) {
  if (c.filter === 'once') v = once(v, ['union', 'select']);
  if (c.filter === 'decoy' && c.sink === 'blind') await new Promise(r => setTimeout(r, 700 + Math.random() * 800));
  const help = c.filter === 'decoy' ? '<p>Help: "error: unterminated quoted string at or near" means that a quote is missing.</p>' : '';
  const q = safe ? v.replace(/'/g, "''").replace(/\0/g, '') : v, n = safe ? number(v) : v;
  const column = safe ? (['name', 'price', 'id'].includes(v) ? v : 'id') : v;
  const text = {
    where: `SELECT name, price FROM items WHERE name='${q}'`, quiet: `SELECT name, price FROM items WHERE name='${q}'`,
    number: `SELECT name, price FROM items WHERE id=${n}`, quietnumber: `SELECT name, price FROM items WHERE id=${n}`,
    like: `SELECT name, price FROM items WHERE name LIKE '%${q}%'`, bracket: `SELECT name, price FROM items WHERE ((name='${q}') AND price>0)`,
    members: `SELECT name, price FROM items WHERE id IN (${safe ? v.split(',').map(number).join(',') : v})`,
    order: `SELECT name, price FROM items ORDER BY ${column}`, column: `SELECT ${column} AS name, price FROM items`, limit: `SELECT name, price FROM items LIMIT ${n}`,
    insert: `INSERT INTO log (who, what) VALUES ('${q}', 'view')`, update: `UPDATE counters SET n=n+1 WHERE page='${q}'`,
    login: `SELECT name, mail AS price FROM users WHERE name='${q}' AND pass='${String((req.body || {}).pass || '').replace(/'/g, "''")}'`,
    blind: `SELECT name FROM items WHERE name='${q}'` }[c.sink];
  let rows;
  try { let r = await db.query(text); if (Array.isArray(r)) r = r[r.length - 1]; rows = r.rows; } catch (e) {
    if (c.sink === 'where' || c.sink === 'number') return show(res, help + `<p>${enc(e)}</p>`);
    if (c.sink === 'insert' || c.sink === 'update') return show(res, '<p>Something went wrong.</p>', 500);
    if (c.sink !== 'blind') return show(res, help + '<p>Nothing found.</p>');
  }
  if (['insert', 'update', 'blind'].includes(c.sink)) return show(res, '<p>Noted.</p>');
  if (c.sink === 'login') return show(res, rows.length ? '<p>Welcome back.</p>' : '<p>Wrong name or password.</p>');
  show(res, help + (rows.length ? '<ul>' + rows.map(r => `<li>${enc(r.name)} ${enc(r.price)}</li>`).join('') + '</ul>' : '<p>Nothing found.</p>'));
}
function xss(c, v, res, safe, req) {
  if (c.filter === 'angle') v = v.replace(/</g, '&lt;').replace(/>/g, '&gt;');
  if (c.filter === 'quote') v = v.replace(/"/g, '&quot;').replace(/'/g, '&#39;');
  if (c.filter === 'all') v = enc(v);
  if (c.filter === 'local') v = enc(/^\/[^/\\]/.test(v) ? v : '/');
  if (c.filter === 'json') return res.json({ hello: v });
  if (c.filter === 'text') return res.set('X-Content-Type-Options', 'nosniff').type('text/plain').send('Hello ' + v);
  if (c.sink === 'stored') {
    if (req.method === 'POST') { (notes[c.path] = notes[c.path] || []).push(v); return res.redirect(303, c.path); }
    return show(res, '<ul>' + (notes[c.path] || []).map(n => `<li>${n}</li>`).join('') + '</ul>');
  }
  const plain = c.filter === 'plain';
  show(res, { text: `<p>Hello ${v}</p>`, quoted: `<p title="${v}">Hello</p>`, single: `<p title='${v}'>Hello</p>`, bare: `<input value=${v}>`,
    href: `<a href="${plain ? enc(v) : v}">site</a>`, string: `<script>var a = '${v}';</script>`, dstring: `<script>var a = "${v}";</script>`,
    literal: '<script>var a = `' + v.replace(/`/g, '').replace(/<\//g, '') + '`;</script>', block: `<script>var a = {"name": ${JSON.stringify(v)}};</script>`,
    comment: `<!-- ${v} -->`, textarea: `<textarea>${v}</textarea>`, title: `<title>${v}</title>`, style: `<style>/* ${v} */</style>`,
    handler: `<button onclick="hello('${plain ? v.replace(/"/g, '&quot;').replace(/</g, '&lt;') : v}')">Hello</button>`, value: `<input type="text" value="${v}">` }[c.sink]);
}
function command(c, v, res, safe) {
  if (c.filter === 'once') v = once(v, [';', '&']);
  const help = c.filter === 'decoy' ? '<p>Help: "sh: 1: Syntax error: Unterminated quoted string" means that a quote is missing. uid=0(root) is the administrator.</p>' : '';
  const done = (e, out) => show(res, help + (c.sink === 'silent' ? '<p>Done.</p>' : `<pre>${enc(out || '')}</pre>`));
  v = v.replace(/\0/g, '');
  if (safe) return execFile('echo', ['host', v], { cwd: FILES }, done);
  exec({ output: `echo host ${v}`, single: `echo 'host ${v}'`, dquoted: `echo "host ${v}"`, silent: `echo host ${v}` }[c.sink], { cwd: FILES }, done);
}
function file(c, v, res) {
  if (c.filter === 'dots') v = v.split('../').join('');
  if (c.filter === 'base' || c.filter === 'decoy') v = path.basename(v);
  const help = c.filter === 'decoy' ? '<p>Help: "Error: ENOENT: no such file or directory" means that there is no such file. root:x:0: is the first line of a list of users.</p>' : '';
  const name = c.sink === 'absolute' ? v : FILES + '/' + v;
  if (c.filter === 'real' && !path.resolve(name).startsWith(path.resolve(FILES) + '/')) return show(res, '<p>No such file.</p>');
  try { show(res, help + `<pre>${enc(fs.readFileSync(name, 'utf8').slice(0, 100000))}</pre>`); } catch (e) { show(res, help + '<p>No such file.</p>'); }
}
function redirect(c, v, res) {
  if (c.filter === 'local' && !/^\/(?![/\\])[^\x00-\x20]*$/.test(v) || c.filter === 'slash' && v[0] !== '/' || c.filter === 'own' && !v.includes('lab.example')) v = '/home.html';
  if (c.filter === 'inquery') v = '/home.html?next=' + encodeURIComponent(v);
  if (c.sink === 'meta') return show(res, `<meta http-equiv="refresh" content="0;url=${enc(v)}">`);
  if (c.sink === 'assign') return show(res, `<script>location = ${JSON.stringify(v).replace(/</g, '\\u003c')};</script>`);
  try { res.status(302).set('Location', v.replace(/[\r\n]/g, '')).end(); } catch (e) { show(res, '<p>No such place.</p>', 400); }
}
function template(c, v, res, safe) {
  try {
    if (safe) return show(res, ejs.render('<p><%= v %>, reader</p>', { v }));
    if (c.sink === 'nunjucks') return show(res, nunjucks.renderString('<p>' + v + ', {{ reader }}</p>', { reader: 'reader' }));
    show(res, ejs.render('<p>' + v + ', <%= reader %></p>', { reader: 'reader' }));
  } catch (e) { show(res, '<p>Something went wrong.</p>', 500); }
}
function code(c, v, res, safe) {
  try {
    if (c.sink === 'expression') return show(res, `<p>Sum: ${enc(safe ? 2 : eval(v))}</p>`);
    show(res, `<p>Label: ${enc(safe ? v : eval("'" + v + "'"))}</p>`);
  } catch (e) { show(res, '<p>Something went wrong.</p>', 500); }
}
async function ssrf(c, v, res) {
  try {
    if (!/^https?:\/\/(127\.0\.0\.1|localhost)[:/]/.test(v)) throw new Error();
    const r = await fetch(v, { signal: AbortSignal.timeout(3000) });
    show(res, `<pre>${enc((await r.text()).slice(0, 10000))}</pre>`);
  } catch (e) { show(res, '<p>It cannot be reached.</p>'); }
}
// A small part of the query language of document databases: equality, and the operators that compare.
const operators = { $ne: (a, b) => a !== b, $gt: (a, b) => a > b, $gte: (a, b) => a >= b, $lt: (a, b) => a < b, $lte: (a, b) => a <= b, $eq: (a, b) => a === b,
  $in: (a, b) => b.includes(a), $nin: (a, b) => !b.includes(a), $regex: (a, b) => new RegExp(b).test(a), $exists: (a, b) => (a !== undefined) === !!b };
function matches(value, wanted) {
  if (wanted === null || typeof wanted !== 'object') return value === wanted;
  return Object.entries(wanted).every(([op, x]) => { if (!operators[op]) throw new Error('unknown operator: ' + op); return operators[op](value, x); });
}
function nosql(c, v, res, safe, req, raw) {
  let found;
  try {
    if (c.sink === 'filter') found = users.filter(u => matches(u.user, safe ? String(raw) : raw));
    else found = users.filter(u => safe ? u.user === v : new Function("return this.user == '" + v + "'").call(u));
  } catch (e) { return show(res, '<p>Something went wrong.</p>', 500); }
  show(res, found.length ? '<ul>' + found.map(u => `<li>${u.mail}</li>`).join('') + '</ul>' : '<p>Nobody.</p>');
}
const classes = { sql, xss, command, path: file, redirect, template, code, ssrf, nosql };

function handler(c) {
  const usual = c.usual.replace('{self}', SELF).replace('{files}', FILES);
  return (req, res, next) => {
    let raw;
    const later = c.source === 'kept' || c.source === 'steps';
    if (later && req.path === c.path) {
      const visit = req.cookies.visit || require('crypto').randomBytes(8).toString('hex');
      if (req.method === 'POST') kept[visit + c.path] = (req.body || {})[c.param];
      res.cookie('visit', visit, { path: '/', httpOnly: true, sameSite: 'lax' });
      return show(res, c.source === 'steps' ? `<form method="post" action="${c.path}/next"><input name="sure" value="yes"><button>Go</button></form>`
        : `<p>Thank you. <a href="${c.path}/view">view</a></p>`);
    }
    switch (c.source) {
      case 'kept': case 'steps': raw = kept[req.cookies.visit + c.path]; break;
      case 'query': raw = req.query[c.param]; break;
      case 'form': case 'json': raw = (req.body || {})[c.param]; break;
      case 'path': raw = decodeURIComponent(req.path.slice(c.path.length + 1)); break;
      case 'header': raw = req.get(c.param); break;
      case 'xml': raw = req.body; break;
      case 'cookie': raw = req.cookies[c.param];
        if (raw === undefined) { raw = c.filter === 'base64' ? Buffer.from(usual).toString('base64') : usual; res.cookie(c.param, raw, { path: c.path, httpOnly: true, sameSite: 'lax' }); }
    }
    if (raw === undefined || raw === null) raw = '';
    let v = typeof raw === 'string' ? raw : '';
    if (c.filter === 'reject' && /[^\w .,+/?=:-]/.test(v)) return show(res, '<p>Forbidden characters.</p>', 403);
    if (c.filter === 'base64') v = Buffer.from(v, 'base64').toString();
    if (c.filter === 'nospace') v = v.replace(/\s/g, '');
    if (c.filter === 'script') v = v.replace(/<script>/i, '');
    if (c.filter === 'list' && ![usual, 'table', 'beta', 'b.txt', 'price', '/help'].includes(v)) return show(res, '<p>Unknown value.</p>');
    const safe = ['bind', 'reject', 'list', 'number', 'decoy'].includes(c.filter);
    Promise.resolve(classes[c.class](c, v, res, safe, req, raw)).catch(next);
  };
}
for (const line of fs.readFileSync(process.env.LAB_CASES, 'utf8').split('\n')) {
  const f = line.split('\t');
  if (f[0] !== 'node') continue;
  const c = { path: f[1], class: f[2], sink: f[3], filter: f[4], source: f[5], param: f[6], usual: f[7] };
  app.all(c.path, handler(c));
  if (['path', 'kept', 'steps'].includes(c.source)) app.all(c.path + '/*', handler(c));
}
app.use(express.static(SITE));
app.use((err, req, res, next) => show(res, '<p>Something went wrong.</p>', err.status || 500));
app.listen(+process.argv[2], '127.0.0.1');
