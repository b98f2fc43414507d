// Sites of the second set on Express and on bare http: queries of objects, GraphQL, rules on paths, redirects, merged objects.
const { exec, execFile } = require('child_process');
const crypto = require('crypto'), http = require('http');
const express = require('express'), cookies = require('cookie-parser');
const { graphql, buildSchema } = require('graphql');

const esc = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const word = () => crypto.randomBytes(8).toString('hex');

// Vouchers are asked for by a document: an answer is 204 or 404, and nothing else.
exports.cellar = (v) => {
	const app = express(), weak = v === 'weak';
	const rows = ['CAVE-' + word(), 'CAVE-' + word()].map((code) => ({ code, off: 20 }));
	const same = (have, want) => {
		if (want === null || typeof want !== 'object') return have === want;
		return Object.entries(want).every(([op, x]) => {
			if (op === '$ne') return have !== x;
			if (op === '$eq') return have === x;
			if (op === '$gt') return have > x;
			if (op === '$lt') return have < x;
			if (op === '$regex') return new RegExp(x).test(have);
			throw new Error('unknown operator: ' + op);
		});
	};
	const page = (b) => `<!doctype html><html lang="it"><head><meta charset="utf-8"><title>Cantina</title></head><body><h1>Cantina</h1><nav><a href="/">Vini</a> <a href="/buono">Buono</a></nav>${b}</body></html>`;
	app.disable('x-powered-by');
	app.use(express.json());
	app.get('/', (q, r) => r.send(page('<ul><li>Barolo</li><li>Soave</li></ul>')));
	app.get('/buono', (q, r) => r.send(page('<form id="b"><input name="codice"><button>Prova</button></form><p id="esito"></p><script src="/buono.js"></script>')));
	app.get('/buono.js', (q, r) => r.type('js').send(`const f = document.getElementById('b');
f.onsubmit = async (e) => {
  e.preventDefault();
  const a = await fetch('/api/vouchers/check', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code: f.codice.value }) });
  document.getElementById('esito').textContent = a.status === 204 ? 'Valido' : 'Non valido';
};`));
	app.post('/api/vouchers/check', (q, r) => {
		const code = q.body && q.body.code;
		if (code === undefined || !weak && typeof code !== 'string') return r.status(400).end();
		try { r.status(rows.some((x) => same(x.code, code)) ? 204 : 404).end(); } catch { r.status(404).end(); }
	});
	app.use((e, q, r, n) => r.status(400).end()); // eslint-disable-line no-unused-vars
	return app;
};

// GraphQL of those who run a network: an argument is part of a command; the schema can be asked for.
exports.noc = (v) => {
	const app = express(), weak = v === 'weak';
	const schema = buildSchema('type Link { name: String! up: Boolean! } type Query { links: [Link!]! trace(host: String!, hops: Int = 3): String! version: String! }');
	const root = {
		links: [{ name: 'fra-1', up: true }, { name: 'zrh-2', up: false }], version: '4.2',
		trace: ({ host, hops }) => new Promise((done) => {
			const end = (e, out) => done(String(out || 'unreachable').slice(0, 500));
			if (weak) exec(`echo trace to ${host} max ${hops}`, { timeout: 12000 }, end);
			else execFile('echo', ['trace to', host, 'max', String(hops)], { timeout: 5000 }, end);
		}),
	};
	app.disable('x-powered-by');
	app.use(express.json());
	app.get('/', (q, r) => r.send(`<!DOCTYPE html><html><head><title>NOC</title></head><body><h1>NOC</h1><ul id="l"></ul><form id="t"><input name="host" value="fra-1"><button>Trace</button></form><pre id="o"></pre><script src="/noc.js"></script></body></html>`));
	app.get('/noc.js', (q, r) => r.type('js').send(`const ask = (query, variables) => fetch('/graphql', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ query, variables }) }).then((r) => r.json());
ask('{ links { name up } }').then((d) => d.data.links.forEach((l) => { const li = document.createElement('li'); li.textContent = l.name; document.getElementById('l').append(li); }));
document.getElementById('t').onsubmit = async (e) => {
  e.preventDefault();
  const d = await ask('query Trace($host: String!) { trace(host: $host) }', { host: e.target.host.value });
  document.getElementById('o').textContent = d.data.trace;
};`));
	app.post('/graphql', async (q, r) => {
		const { query, variables } = q.body || {};
		if (typeof query !== 'string') return r.status(400).json({ errors: [{ message: 'query, please' }] });
		if (!weak && /__schema|__type\b/.test(query)) return r.status(400).json({ errors: [{ message: 'introspection is off' }] });
		r.json(await graphql({ schema, source: query.slice(0, 5000), rootValue: root, variableValues: variables }));
	});
	app.use((e, q, r, n) => r.status(400).json({ errors: [{ message: 'bad request' }] })); // eslint-disable-line no-unused-vars
	return app;
};

// A gym: the rule for its office knows one spelling of the address, and the router knows more. What comes after a login is
// looked at, and a backslash is not seen.
exports.gym = (v) => {
	const app = express(), weak = v === 'weak', live = {}, words = { 'jo.berg': 'Kettle-bell8' };
	const page = (t, b) => `<!doctype html><html lang="en"><head><title>${t}</title></head><body class="dark"><h1>IRON BARN</h1><p><a href="/">Classes</a> <a href="/plan">My plan</a> <a href="/office">Office</a> <a href="/join?next=/plan">Log in</a></p><h2>${t}</h2>${b}</body></html>`;
	app.disable('x-powered-by');
	app.use(express.urlencoded({ extended: false }), cookies(), (q, r, n) => { q.me = live[q.cookies.barn]; n(); });
	app.use((q, r, n) => {
		const at = weak ? q.path : q.path.toLowerCase().replace(/\/+$/, '');
		if (at === '/office' && q.me !== 'boss') return r.status(403).send(page('Forbidden', '<p>Staff only.</p>'));
		n();
	});
	app.get('/', (q, r) => r.send(page('Classes', '<ul><li>Rowing, Monday</li><li>Yoga, Friday</li></ul>')));
	app.get('/plan', (q, r) => q.me ? r.send(page('My plan', `<p>${esc(q.me)}: three times squats.</p><a href="/leave">Log out</a>`)) : r.redirect('/join?next=/plan'));
	app.get('/leave', (q, r) => { delete live[q.cookies.barn]; r.redirect('/'); });
	app.get('/office', (q, r) => r.send(page('Office', '<table><tr><td>Jo Berg</td><td>owes 45</td></tr><tr><td>Al Lund</td><td>IBAN NO93 8601</td></tr></table>')));
	app.get('/join', (q, r) => r.send(page('Log in', `<form method="post" action="/join"><input name="member"><input name="secret" type="password"><input type="hidden" name="next" value="${esc(q.query.next || '/plan')}"><button>Log in</button></form>`)));
	app.post('/join', (q, r) => {
		const { member, secret } = q.body;
		if (!words[member] || words[member] !== secret) return r.status(401).send(page('Log in', '<p>Wrong member or secret.</p><a href="/join">Again</a>'));
		const sid = word(), next = String(q.body.next || '/plan');
		live[sid] = member;
		const local = weak ? next.startsWith('/') && !next.startsWith('//') : /^\/[\w-]*$/.test(next);
		r.cookie('barn', sid, { httpOnly: true, sameSite: 'lax' });
		r.writeHead(303, { Location: local ? Buffer.from(next).toString('latin1').replace(/[^\x20-\x7e]/g, '') : '/plan' });
		r.end();
	});
	return app;
};

// A coach's diary: fields with brackets become an object, which is put over that of the user as it is.
exports.coach = (v) => {
	const app = express(), weak = v === 'weak', live = {};
	const users = { lena: { secret: 'Interval-400', profile: { city: 'Bern', goal: '10 km', plan: 'free', coach: false } } };
	const page = (b) => `<!DOCTYPE html><html lang="en"><head><title>Runlog</title></head><body><table><tr><td><a href="/">Runlog</a></td><td><a href="/settings">Settings</a></td><td><a href="/me">Me</a></td></tr></table>${b}</body></html>`;
	app.disable('x-powered-by');
	app.use(express.urlencoded({ extended: true }), cookies(), (q, r, n) => { q.me = users[live[q.cookies.run]]; n(); });
	app.get('/', (q, r) => r.send(page(q.me ? '<p>42 km this week.</p><a href="/stop">Log out</a>' : '<form method="post" action="/start"><input name="runner"><input name="secret" type="password"><button>Start</button></form>')));
	app.post('/start', (q, r) => {
		const one = Object.hasOwn(users, String(q.body.runner)) && users[q.body.runner];
		if (!one || one.secret !== q.body.secret) return r.status(401).send(page('<p>No such runner.</p><a href="/">Back</a>'));
		const sid = word();
		live[sid] = q.body.runner;
		r.cookie('run', sid, { httpOnly: true, sameSite: 'lax' }).redirect('/');
	});
	app.get('/stop', (q, r) => { delete live[q.cookies.run]; r.redirect('/'); });
	app.get('/me', (q, r) => q.me ? r.json(q.me.profile) : r.status(401).json({ error: 'start first' }));
	app.get('/settings', (q, r) => q.me ? r.send(page(`<form method="post" action="/settings"><p>City <input name="profile[city]" value="${esc(q.me.profile.city)}"></p><p>Goal <input name="profile[goal]" value="${esc(q.me.profile.goal)}"></p><button>Save</button></form>`)) : r.redirect('/'));
	app.post('/settings', (q, r) => {
		if (!q.me) return r.redirect('/');
		const p = q.body.profile || {};
		for (const k of Object.keys(p)) {
			if (typeof p[k] === 'string' && (weak ? Object.hasOwn(q.me.profile, k) : k === 'city' || k === 'goal')) q.me.profile[k] = p[k].slice(0, 60);
		}
		r.redirect('/settings');
	});
	return app;
};

// Widgets: what comes is merged deeply into the settings, and what nobody set is taken from the prototype.
exports.garden = (v) => {
	const weak = v === 'weak';
	let kept = {};
	const merge = (to, from) => {
		for (const k of Object.keys(from)) {
			if (!weak && (k === '__proto__' || k === 'constructor' || k === 'prototype')) continue;
			if (from[k] && typeof from[k] === 'object') {
				if (!to[k] || typeof to[k] !== 'object') to[k] = {};
				if (to[k] === Object.prototype) { shared = { ...shared, ...from[k] }; continue; } // instead of the one of the whole program
				merge(to[k], from[k]);
			} else to[k] = from[k];
		}
		return to;
	};
	let shared = {};
	const got = (o, k) => Object.hasOwn(o, k) ? o[k] : shared[k];
	return http.createServer((q, r) => {
		const end = (status, type, body) => { r.writeHead(status, { 'Content-Type': type }); r.end(body); };
		if (q.url === '/') return end(200, 'text/html', `<!doctype html><title>Garden widgets</title><h1>Garden</h1><p>${got({}, 'title') || 'Beds'}</p><script>fetch('/widgets', {method: 'PUT', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({bed: {plants: 'beans'}})})</script>`);
		if (q.url !== '/widgets') return end(404, 'application/json', '{"error":"no such page"}');
		if (q.method === 'GET') return end(200, 'application/json', JSON.stringify({ ...kept, columns: got(kept, 'columns') || 2 }));
		if (q.method !== 'PUT') return end(405, 'application/json', '{"error":"GET or PUT"}');
		let text = '';
		q.on('data', (d) => { text = (text + d).slice(0, 20000); });
		q.on('end', () => {
			try {
				const body = JSON.parse(text);
				kept = Object.keys(kept).length > 50 ? {} : merge(kept, Object(body));
				end(200, 'application/json', JSON.stringify({ ...kept, columns: got(kept, 'columns') || 2 }));
			} catch { end(400, 'application/json', '{"error":"bad request"}'); }
		});
	});
};
