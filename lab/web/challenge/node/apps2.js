// Challenges on Express with users: tokens, verbs, GraphQL, objects that are merged.
const crypto = require('crypto'), express = require('express'), cookies = require('cookie-parser');
const { buildSchema, graphql, NoSchemaIntrospectionCustomRule, parse, validate } = require('graphql');

const esc = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const b64 = (o) => Buffer.from(typeof o === 'string' ? o : JSON.stringify(o)).toString('base64url');

function site() {
	const app = express();
	app.disable('x-powered-by');
	app.use(express.json(), express.urlencoded({ extended: false }), cookies());
	return app;
}

// gate keeps sessions in a cookie; who(q) is the name of a user.
function gate(app, users, cookie, page, fields = ['username', 'password'], at = '/login') {
	const live = {};
	app.get(at, (q, r) => r.send(page('Log in', `<form method="post" action="${at}"><input name="${fields[0]}"><input name="${fields[1]}" type="password"><button>Log in</button></form>`)));
	app.post(at, (q, r) => {
		const name = q.body[fields[0]];
		if (!Object.hasOwn(users, name) || users[name] !== q.body[fields[1]]) return r.status(401).send(page('Log in', '<p>Login failed.</p>'));
		const sid = crypto.randomBytes(12).toString('hex');
		live[sid] = name;
		r.cookie(cookie, sid, { httpOnly: true, sameSite: 'lax' }).redirect('/');
	});
	app.get('/logout', (q, r) => { delete live[q.cookies[cookie]]; r.redirect('/'); });
	return (q) => live[q.cookies[cookie]];
}

// A token in a cookie; one without a signature is taken, too.
exports.harbour = (v) => {
	const app = site(), weak = v === 'weak', key = crypto.randomBytes(32), users = { pilot: 'Buoy-77' };
	const sign = (t) => crypto.createHmac('sha256', key).update(t).digest('base64url');
	const page = (t, b) => `<!doctype html><html lang="nl"><head><title>${t}</title></head><body><a href="/">Haven</a> <a href="/schepen">Schepen</a> <a href="/meester">Havenmeester</a> <a href="/inloggen">Inloggen</a><h1>${t}</h1>${b}</body></html>`;
	const who = (q) => {
		try {
			const [h, p, s] = q.cookies.auth.split('.'), head = JSON.parse(Buffer.from(h, 'base64url')), body = JSON.parse(Buffer.from(p, 'base64url'));
			if (weak && String(head.alg).toLowerCase() === 'none') return body;
			return head.alg === 'HS256' && s === sign(`${h}.${p}`) ? body : null;
		} catch { return null; }
	};
	app.get('/', (q, r) => r.send(page('Haven', '<p>Welkom aan boord.</p>')));
	app.get('/inloggen', (q, r) => r.send(page('Inloggen', '<form method="post"><input name="naam"><input name="wachtwoord" type="password"><button>Inloggen</button></form>')));
	app.post('/inloggen', (q, r) => {
		if (!Object.hasOwn(users, q.body.naam) || users[q.body.naam] !== q.body.wachtwoord) return r.status(401).send(page('Inloggen', '<p>Onjuist.</p>'));
		const t = `${b64({ alg: 'HS256', typ: 'JWT' })}.${b64({ sub: q.body.naam, role: 'pilot' })}`;
		r.cookie('auth', `${t}.${sign(t)}`, { httpOnly: true, sameSite: 'lax' }).redirect('/schepen');
	});
	app.get('/schepen', (q, r) => who(q) ? r.send(page('Schepen', `<p>Voor ${esc(who(q).sub)}: Anna, om zes</p>`)) : r.redirect('/inloggen'));
	app.get('/meester', (q, r) => who(q) ? who(q).role === 'master' || who(q).role === 'admin' ? r.send(page('Havenmeester', '<p>Kade 4: smokkel</p>')) : r.status(403).send(page('Havenmeester', '<p>Verboden</p>')) : r.redirect('/inloggen'));
	return app;
};

// Rights are asked for by verb: GET is refused, others are not.
exports.school = (v) => {
	const app = site(), weak = v === 'weak', users = { pupil: 'Chalk-12', head: crypto.randomBytes(8).toString('hex') };
	const page = (t, b) => `<!DOCTYPE html><html><head><title>${t}</title></head><body><div class="container"><ol class="breadcrumb"><li><a href="/">School</a></li><li><a href="/timetable">Timetable</a></li><li><a href="/marks/all">All marks</a></li><li><a href="/login">Log in</a></li></ol><h2>${t}</h2>${b}</div></body></html>`;
	const who = gate(app, users, 'school', page);
	app.get('/', (q, r) => r.send(page('School', `<p>Good morning${who(q) ? ', ' + who(q) : ''}.</p>`)));
	app.get('/timetable', (q, r) => r.send(page('Timetable', '<p>Monday: maths</p>')));
	app.use('/marks/all', (q, r, next) => {
		if (!who(q)) return r.redirect('/login');
		if ((q.method === 'GET' || q.method === 'HEAD' || !weak) && who(q) !== 'head') return r.status(403).send(page('Forbidden', '<p>For the head teacher.</p>'));
		next();
	});
	app.all('/marks/all', (q, r) => r.send(page('All marks', '<table><tr><td>Mia</td><td>2</td></tr><tr><td>Leo</td><td>5</td></tr></table>')));
	return app;
};

// GraphQL: accounts by number, and a schema that tells all.
exports.bank = (v) => {
	const app = site(), weak = v === 'weak', users = { ella: 'Vault-90', finn: 'Ledger-91' };
	const schema = buildSchema('type Account { id: ID! owner: String! balance: Int! pin: String! } type Query { me: String accounts: [Account!]! account(id: ID!): Account }');
	const all = [['501', 'ella', 120, '0001'], ['502', 'finn', 9400, '7215'], ['503', 'ella', 33, '0002']].map(([id, owner, balance, pin]) => ({ id, owner, balance, pin }));
	const page = (t, b) => `<!doctype html><title>${t}</title><h1>${t}</h1>${b}`;
	const who = gate(app, users, 'bank', page, ['user', 'code']);
	app.get('/', (q, r) => who(q) ? r.send(page('Accounts', `<ul id="l"></ul><a href="/logout">Leave</a><script>
const ask = (query, variables) => fetch('/graphql', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ query, variables }) }).then((r) => r.json());
ask('query Mine { accounts { id balance } }').then(async ({ data }) => { for (const a of data.accounts) { const one = await ask('query One($id: ID!) { account(id: $id) { id owner balance } }', { id: a.id }); document.getElementById('l').append(one.data.account.id + ': ' + one.data.account.balance); } });
</script>`)) : r.redirect('/login'));
	app.post('/graphql', async (q, r) => {
		if (!who(q)) return r.status(401).json({ errors: [{ message: 'log in' }] });
		const rootValue = { me: who(q), accounts: all.filter((a) => a.owner === who(q)), account: ({ id }) => all.find((a) => a.id === id && (weak || a.owner === who(q))) };
		try {
			if (!weak) {
				const bad = validate(schema, parse(String(q.body.query)), [NoSchemaIntrospectionCustomRule]);
				if (bad.length) return r.status(400).json({ errors: bad.map((e) => ({ message: e.message })) });
			}
			r.json(await graphql({ schema, source: String(q.body.query), rootValue, variableValues: q.body.variables }));
		} catch { r.status(400).json({ errors: [{ message: 'cannot read the query' }] }); }
	});
	return app;
};

// Settings are merged deeply, with whatever names they have.
exports.dashboard = (v) => {
	const app = site(), weak = v === 'weak', users = { ops: 'Pager-24' };
	const page = (t, b) => `<!doctype html><html><head><title>${t}</title></head><body><h1>${t}</h1>${b}</body></html>`;
	const who = gate(app, users, 'd', page);
	const defaults = Object.create(null), own = { theme: 'dark', widgets: { cpu: true } };
	const merge = (to, from) => {
		for (const k of Object.keys(from)) {
			if (!weak && (k === '__proto__' || k === 'constructor' || k === 'prototype')) continue;
			if (k === '__proto__') { Object.assign(defaults, from[k]); continue; } // what a plain merge would give all objects, kept to this application
			if (from[k] && typeof from[k] === 'object') merge(to[k] && typeof to[k] === 'object' ? to[k] : (to[k] = {}), from[k]);
			else to[k] = from[k];
		}
		return to;
	};
	app.get('/', (q, r) => who(q) ? r.send(page('Dashboard', `<a href="/logout">Leave</a><script>fetch('/api/settings').then((r) => r.json()).then((s) => { document.body.className = s.theme; });
function save(theme) { return fetch('/api/settings', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ theme: 'light', widgets: { cpu: true } }) }); }</script><button onclick="save('light')">Light</button>`)) : r.redirect('/login'));
	app.get('/api/settings', (q, r) => who(q) ? r.json({ ...defaults, ...own }) : r.status(401).json({ error: 'log in' }));
	app.post('/api/settings', (q, r) => who(q) ? r.json({ ...defaults, ...merge(own, q.body || {}) }) : r.status(401).json({ error: 'log in' }));
	return app;
};

// Open registration; notes by number in another interface than the pages use.
exports.notes = (v) => {
	const app = site(), weak = v === 'weak', users = { ada: crypto.randomBytes(8).toString('hex') }, tokens = {};
	const all = [{ id: 1, by: 'ada', text: 'the safe opens with 4-8-15' }, { id: 2, by: 'ada', text: 'buy oil' }];
	app.get('/', (q, r) => r.send('<!doctype html><html><head><title>Notes</title></head><body><div id="root"></div><script src="/bundle.js"></script></body></html>'));
	app.get('/bundle.js', (q, r) => r.type('js').send(`"use strict";(()=>{const e="/api/v1",t=document.getElementById("root"),n=(t,n,o)=>fetch(e+t,{method:n,headers:{"content-type":"application/json",authorization:"Bearer "+localStorage.getItem("jwt")},body:o&&JSON.stringify(o)}).then(e=>e.json());
async function register(o,s){await n("/register","POST",{username:o,password:s});const r=await n("/login","POST",{username:o,password:s});localStorage.setItem("jwt",r.token)}
async function list(){const e=await n("/notes","GET");t.innerHTML="";for(const o of e){const e=await n("/notes/"+o.id,"GET");t.append(e.text)}}
async function add(e){await n("/notes","POST",{text:e});return list()}
t.innerHTML='<form id="f"><input name="u"><input name="p" type="password"><button>Register</button></form>';document.getElementById("f").onsubmit=e=>{e.preventDefault(),register(e.target.u.value,e.target.p.value).then(list)};window.notes={add,list}})();
//# sourceMappingURL=bundle.js.map
`));
	const who = (q) => tokens[String(q.headers.authorization).replace('Bearer ', '')];
	app.post('/api/v1/register', (q, r) => {
		const { username, password } = q.body || {};
		if (typeof username !== 'string' || typeof password !== 'string' || !username || Object.hasOwn(users, username)) return r.status(400).json({ error: 'username and password are needed, and the username must be free' });
		users[username] = password;
		r.status(201).json({ username });
	});
	app.post('/api/v1/login', (q, r) => {
		const { username, password } = q.body || {};
		if (typeof password !== 'string' || !Object.hasOwn(users, username) || users[username] !== password) return r.status(401).json({ error: 'invalid credentials' });
		const token = crypto.randomBytes(16).toString('hex');
		tokens[token] = username;
		r.json({ token });
	});
	app.get('/api/v1/notes', (q, r) => who(q) ? r.json(all.filter((n) => n.by === who(q)).map(({ id }) => ({ id }))) : r.status(401).json({ error: 'no token' }));
	app.post('/api/v1/notes', (q, r) => {
		if (!who(q)) return r.status(401).json({ error: 'no token' });
		if (all.length < 500) all.push({ id: all.length + 1, by: who(q), text: String((q.body || {}).text).slice(0, 200) });
		r.status(201).json({ id: all.length });
	});
	app.get('/api/v1/notes/:id', (q, r) => {
		const n = all.find((x) => String(x.id) === q.params.id);
		if (!who(q)) return r.status(401).json({ error: 'no token' });
		return n && (weak || n.by === who(q)) ? r.json(n) : r.status(404).json({ error: 'no such note' });
	});
	return app;
};
