// Sites of the third set in Node that have people: whose things are whose, who may what, and what a basket costs.
const crypto = require('crypto');
const express = require('express'), cookies = require('cookie-parser'), { buildSchema, graphql } = require('graphql');

const safe = (s) => String(s).replace(/[&<>"']/g, (c) => `&#x${c.charCodeAt(0).toString(16)};`);
const key = () => crypto.randomUUID().replace(/-/g, '');
const base = (...more) => {
	const app = express();
	app.disable('x-powered-by');
	app.use(...more);
	return app;
};

// An insurer: a letter to print is found by its number alone.
exports.insurer = (v) => {
	const app = base(express.urlencoded({ extended: false }), cookies()), live = new Map();
	const people = { 'k.brandt': 'Haftpflicht/9', 'j.vogt': 'Teilkasko/5' };
	const letters = { 20311: ['k.brandt', 'Rechnung 2024', '412,00 Euro'], 20312: ['j.vogt', 'Schadensmeldung', 'Auffahrunfall, Knieverletzung'], 20317: ['k.brandt', 'Kündigung', 'zum 31. Dezember'], 20320: ['p.adler', 'Gutachten', 'Berufsunfähig seit Mai'] };
	const page = (b) => `<!DOCTYPE html><html lang="de"><head><meta charset="utf-8"><title>Assekura</title></head><body><header role="banner"><a href="/">Assekura</a> <a href="/postfach">Postfach</a> <a href="/abmelden">Abmelden</a></header><main>${b}</main></body></html>`;
	app.use((q, r, n) => { q.me = live.get(q.cookies.ASSEK); n(); });
	app.get('/', (q, r) => r.send(page(q.me ? `<p>Guten Tag, ${q.me}.</p>` : '<form action="/anmelden" method="post"><label>Kennung <input name="kennung"></label><label>Passwort <input name="passwort" type="password"></label><button>Anmelden</button></form>')));
	app.post('/anmelden', (q, r) => {
		const name = String(q.body.kennung);
		if (!Object.hasOwn(people, name) || people[name] !== q.body.passwort) return r.status(401).send(page('<p>Kennung oder Passwort falsch.</p>'));
		const sid = key();
		live.set(sid, name);
		r.cookie('ASSEK', sid, { httpOnly: true, sameSite: 'lax' }).redirect('/postfach');
	});
	app.get('/abmelden', (q, r) => { live.delete(q.cookies.ASSEK); r.redirect('/'); });
	app.get('/postfach', (q, r) => q.me ? r.send(page(`<ul>${Object.keys(letters).filter((n) => letters[n][0] === q.me).map((n) => `<li><a href="/schreiben/${n}/druck">${letters[n][1]}</a></li>`).join('')}</ul>`)) : r.redirect('/'));
	app.get('/schreiben/:nr/druck', (q, r) => {
		if (!q.me) return r.redirect('/');
		const l = Object.hasOwn(letters, q.params.nr) && letters[q.params.nr];
		if (!l || v !== 'weak' && l[0] !== q.me) return r.status(404).send(page('<p>Dieses Schreiben gibt es nicht.</p>'));
		r.send(page(`<h2>${l[1]}</h2><p>An: ${l[0]}</p><p>${l[2]}</p>`));
	});
	return app;
};

// Flats to let: leases by a GraphQL interface under identifiers of base64.
exports.landlord = (v) => {
	const app = base(express.json({ limit: '20kb' }), cookies()), live = new Map(), id = (n) => Buffer.from(`Lease:${n}`).toString('base64');
	const people = { 'tenant.ito': 'Genkan-303', 'tenant.ruiz': 'Balcon-404' };
	const leases = { 3: { owner: 'tenant.ito', flat: '303, Hill Road', rent: 910, deposit: 'IBAN LU28 0019' }, 4: { owner: 'tenant.ruiz', flat: '404, Hill Road', rent: 1040, deposit: 'IBAN LU91 4411' }, 5: { owner: 'tenant.noor', flat: '505, Hill Road', rent: 880, deposit: 'IBAN LU77 2020' } };
	const schema = buildSchema('type Lease { id: ID! flat: String rent: Int deposit: String } type Query { myLeases: [Lease] lease(id: ID!): Lease }');
	app.get('/', (q, r) => r.send(live.has(q.cookies.hr) ? `<!doctype html><html lang="en"><head><title>Hill Road Homes</title></head><body><h1>My lease</h1><p id="l"></p><button id="out">Log out</button><script>
const ask = (query, variables) => fetch("/gql", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ query, variables }) }).then((r) => r.json());
ask("query Mine { myLeases { id flat } }").then((d) => ask("query One($id: ID!) { lease(id: $id) { id flat rent deposit } }", { id: d.data.myLeases[0].id })).then((d) => { l.textContent = d.data.lease.flat + ": " + d.data.lease.rent; });
document.getElementById("out").onclick = () => fetch("/leave", { method: "POST" }).then(() => location.reload());
</script></body></html>` : `<!doctype html><html lang="en"><head><title>Hill Road Homes</title></head><body><h1>Tenants</h1><form id="f"><input name="tenant" placeholder="tenant"><input name="pass" type="password" placeholder="pass"><button>Open</button></form><script>
f.onsubmit = (e) => { e.preventDefault(); fetch("/open", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ tenant: f.tenant.value, pass: f.pass.value }) }).then((r) => r.ok ? location.reload() : alert("No.")); };
</script></body></html>`));
	app.post('/open', (q, r) => {
		const name = String((q.body || {}).tenant);
		if (!Object.hasOwn(people, name) || people[name] !== q.body.pass) return r.status(401).json({ ok: false });
		const sid = key();
		live.set(sid, name);
		r.cookie('hr', sid, { httpOnly: true, sameSite: 'strict' }).json({ ok: true });
	});
	app.post('/leave', (q, r) => { live.delete(q.cookies.hr); r.json({ ok: true }); });
	app.post('/gql', async (q, r) => {
		const me = live.get(q.cookies.hr), text = String((q.body || {}).query || '');
		if (!me) return r.status(401).json({ errors: [{ message: 'log in first' }] });
		if (/__schema|__type\b/.test(text)) return r.status(400).json({ errors: [{ message: 'not supported' }] });
		const show = (n) => ({ ...leases[n], id: id(n) });
		r.json(await graphql({ schema, source: text, variableValues: q.body.variables, rootValue: {
			myLeases: () => Object.keys(leases).filter((n) => leases[n].owner === me).map(show),
			lease: (a) => {
				const n = Object.keys(leases).find((x) => id(x) === a.id);
				return n && (v === 'weak' || leases[n].owner === me) ? show(n) : null;
			},
		} }));
	});
	return app;
};

// A practice writes with its patients: which conversation is opened stands in the body.
exports.counsel = (v) => {
	const app = base(express.json({ limit: '20kb' })), live = new Map();
	const people = { 'ada.q': 'Quiet-Room-1', 'ben.z': 'Quiet-Room-2' };
	const talks = [{ conversation: 611, with: 'ada.q', subject: 'Sleep', lines: ['I wake at four.'] }, { conversation: 612, with: 'ben.z', subject: 'My brother', lines: ['He drinks again.'] }, { conversation: 613, with: 'ada.q', subject: 'Work', lines: ['Better.'] }];
	app.get('/', (q, r) => r.send('<!DOCTYPE html><html lang="en"><head><title>Calm Line</title></head><body><div id="root">Loading</div><script src="/static/calm.js"></script></body></html>'));
	app.get('/static/calm.js', (q, r) => r.type('js').send(`const api = (method, at, body) => fetch("/api" + at, { method, headers: { "Content-Type": "application/json", Authorization: "Bearer " + localStorage.calm }, body: body && JSON.stringify(body) }).then((r) => r.json());
const root = document.getElementById("root");
function start() { root.innerHTML = '<form id="s"><input name="nick"><input name="phrase" type="password"><button>Start</button></form>'; document.getElementById("s").onsubmit = (e) => { e.preventDefault(); api("POST", "/start", { nick: e.target.nick.value, phrase: e.target.phrase.value }).then((d) => { if (d.token) { localStorage.calm = d.token; list(); } }); }; }
function list() { api("GET", "/conversations").then((all) => { root.textContent = ""; all.forEach((c) => { const b = document.createElement("button"); b.textContent = c.subject; b.onclick = () => api("POST", "/conversations/open", { conversation: c.conversation, last: 20 }).then((d) => { root.append(d.lines.join(" ")); }); root.append(b); }); }); }
localStorage.calm ? list() : start();`));
	app.post('/api/start', (q, r) => {
		const name = String((q.body || {}).nick);
		if (!Object.hasOwn(people, name) || people[name] !== q.body.phrase) return r.status(401).json({ error: 'nick or phrase' });
		const token = key();
		live.set(token, name);
		r.json({ token });
	});
	app.use('/api', (q, r, n) => { q.me = live.get((q.get('Authorization') || '').replace('Bearer ', '')); q.me ? n() : r.status(401).json({ error: 'start first' }); });
	app.get('/api/conversations', (q, r) => r.json(talks.filter((t) => t.with === q.me).map(({ conversation, subject }) => ({ conversation, subject }))));
	app.post('/api/conversations/open', (q, r) => {
		const t = talks.find((x) => x.conversation === (q.body || {}).conversation && (v === 'weak' || x.with === q.me));
		t ? r.json(t) : r.status(404).json({ error: 'no such conversation' });
	});
	return app;
};

// A rota of volunteers: who signs up sends an object, and gets it back with what it became.
exports.rota = (v) => {
	const app = base(express.json({ limit: '20kb' }), cookies()), live = new Map(), all = new Map();
	app.get('/', (q, r) => r.send(`<!doctype html><html lang="en"><head><title>Soup kitchen rota</title></head><body><h1>Soup kitchen rota</h1><form id="j"><input name="email" type="email"><input name="secret" type="password"><input name="name"><button>Volunteer</button></form><form id="i"><input name="email" type="email"><input name="secret" type="password"><button>I am back</button></form><pre id="o"></pre><script>
for (const [f, at] of [[j, "/api/volunteers"], [i, "/api/session"]]) f.onsubmit = (e) => { e.preventDefault(); fetch(at, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(Object.fromEntries(new FormData(f))) }).then((r) => r.json()).then((d) => { o.textContent = JSON.stringify(d); if (d.organiser) fetch("/api/contacts"); }); };
</script></body></html>`));
	app.post('/api/volunteers', (q, r) => {
		const b = q.body || {};
		if (typeof b.email !== 'string' || !b.email.includes('@') || typeof b.secret !== 'string' || b.secret.length < 3) return r.status(422).json({ error: 'email and secret' });
		const one = { email: b.email.slice(0, 80), name: String(b.name || '').slice(0, 60), organiser: false, shifts: [] };
		if (v === 'weak') for (const k of Object.keys(one)) if (Object.hasOwn(b, k) && typeof b[k] === typeof one[k]) one[k] = b[k];
		if (!all.has(b.email)) all.set(b.email, { secret: b.secret, one }); // the answer is the same for who is on the list
		if (all.size > 300) all.delete(all.keys().next().value);
		r.status(201).json(one);
	});
	app.post('/api/session', (q, r) => {
		const who = all.get((q.body || {}).email);
		if (!who || who.secret !== q.body.secret) return r.status(401).json({ error: 'unknown' });
		const sid = key();
		live.set(sid, who.one);
		r.cookie('rota', sid, { httpOnly: true, sameSite: 'lax' }).json(who.one);
	});
	app.get('/api/contacts', (q, r) => {
		const me = live.get(q.cookies.rota);
		me ? me.organiser === true ? r.json([{ name: 'Edda', phone: '555-0173' }]) : r.status(403).json({ error: 'organisers only' }) : r.status(401).json({ error: 'sign in' });
	});
	return app;
};

// An observatory: tokens in a cookie, sealed with the key that the example of a library has.
exports.dome = (v) => {
	const app = base(express.urlencoded({ extended: false }), cookies()), secret = v === 'weak' ? 'changeme' : key();
	const people = { 'guest.kari': 'Polaris+1', 'guest.olav': 'Capella+2' };
	const b64 = (s) => Buffer.from(s).toString('base64url'), seal = (t) => crypto.createHmac('sha256', secret).update(t).digest('base64url');
	const page = (b) => `<!DOCTYPE html><html lang="no"><head><title>Kuppelen</title></head><body><nav><a href="/">Kuppelen</a><a href="/timer">Timer</a><a href="/styring">Styring</a><a href="/ut">Ut</a></nav>${b}</body></html>`;
	app.use((q, r, n) => {
		const [h, p, s] = String(q.cookies.dome || '').split('.');
		try { if (s && s === seal(`${h}.${p}`) && JSON.parse(Buffer.from(h, 'base64url')).alg === 'HS256') q.me = JSON.parse(Buffer.from(p, 'base64url')); } catch { /* nobody */ }
		n();
	});
	app.get('/', (q, r) => r.send(page(q.me ? `<p>Hei ${safe(q.me.name)}</p>` : '<form method="post" action="/inn"><input name="navn"><input name="kode" type="password"><button>Inn</button></form>')));
	app.post('/inn', (q, r) => {
		const name = String(q.body.navn);
		if (!Object.hasOwn(people, name) || people[name] !== q.body.kode) return r.status(401).send(page('<p>Feil navn eller kode.</p>'));
		const t = `${b64('{"alg":"HS256","typ":"JWT"}')}.${b64(JSON.stringify({ name, rank: 'guest' }))}`;
		r.cookie('dome', `${t}.${seal(t)}`, { httpOnly: true, sameSite: 'lax' }).redirect('/timer');
	});
	app.get('/ut', (q, r) => r.clearCookie('dome').redirect('/'));
	app.get('/timer', (q, r) => q.me ? r.send(page(`<p>${safe(q.me.name)}: 22.00 til 23.30</p>`)) : r.redirect('/'));
	app.get('/styring', (q, r) => q.me ? q.me.rank === 'director' ? r.send(page('<p>Dome code: 88-14</p>')) : r.status(403).send(page('<p>Bare for ledelsen.</p>')) : r.redirect('/'));
	return app;
};

// Passes of a ski resort: a basket of lines with numbers of pieces.
exports.skipass = (v) => {
	const app = base(express.json({ limit: '20kb' }), cookies()), live = new Map(), prices = { day: 62, week: 340, helmet: 9 };
	const people = { 'lou.m': 'Powder.day1', 'vic.t': 'Chair.lift2' };
	app.get('/', (q, r) => r.send(`<!DOCTYPE html><html lang="fr-CH"><head><meta charset="utf-8"><title>Les Crêtes</title></head><body><h1>Les Crêtes</h1>${live.has(q.cookies.cretes) ? '<select id="s"><option>day</option><option>week</option><option>helmet</option></select><input id="n" type="number" min="1" value="1"><button onclick="add()">Ajouter</button><pre id="p"></pre>' : '<form onsubmit="enter(this);return false"><input name="client"><input name="mdp" type="password"><button>Entrer</button></form>'}<script>
function post(to, body) { return fetch(to, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }); }
function enter(f) { post("/session", { client: f.client.value, mdp: f.mdp.value }).then(() => location.reload()); }
function add() { post("/panier/lignes", { article: s.value, pieces: Number(n.value) }).then(() => fetch("/panier")).then((r) => r.json()).then((d) => { p.textContent = JSON.stringify(d, null, 1); }); }
</script></body></html>`));
	app.post('/session', (q, r) => {
		const name = String((q.body || {}).client);
		if (!Object.hasOwn(people, name) || people[name] !== q.body.mdp) return r.status(401).json({ erreur: 'client ou mot de passe' });
		const sid = key();
		live.set(sid, []);
		r.cookie('cretes', sid, { httpOnly: true, sameSite: 'lax' }).json({ client: name });
	});
	app.use('/panier', (q, r, n) => { q.lines = live.get(q.cookies.cretes); q.lines ? n() : r.status(401).json({ erreur: 'session' }); });
	app.post('/panier/lignes', (q, r) => {
		const { article, pieces } = q.body || {};
		if (!Object.hasOwn(prices, String(article)) || !Number.isInteger(pieces) || Math.abs(pieces) > 50 || v !== 'weak' && pieces < 1) return r.status(422).json({ erreur: 'ligne refusée' });
		if (q.lines.push({ article, pieces, somme: pieces * prices[article] }) > 20) q.lines.shift();
		r.status(201).json(q.lines.at(-1));
	});
	app.get('/panier', (q, r) => r.json({ lignes: q.lines, total: q.lines.reduce((t, l) => t + l.somme, 0) }));
	return app;
};

// A ferry: the fare of a crossing comes with the form.
exports.ferry = (v) => {
	const app = base(express.urlencoded({ extended: false })), fares = { 1: ['Split - Hvar', 48], 2: ['Split - Vis', 61] };
	const page = (b) => `<html lang="hr"><head><meta charset="utf-8"><title>Trajekt</title></head><body bgcolor="#cfe8ff"><center><h2>TRAJEKT</h2>${b}<p><a href="/">Red plovidbe</a></p></center></body></html>`;
	app.get('/', (q, r) => r.send(page(Object.entries(fares).map(([n, [t, f]]) => `<p><a href="/linija/${n}">${t}</a> ${f} EUR</p>`).join(''))));
	app.get('/linija/:n', (q, r) => {
		const one = Object.hasOwn(fares, q.params.n) && fares[q.params.n];
		one ? r.send(page(`<form action="/rezervacija" method="post"><input type="hidden" name="linija" value="${q.params.n}"><input type="hidden" name="cijena" value="${one[1]}">Ime <input name="ime"><button>Rezerviraj</button></form>`)) : r.status(404).send(page('<p>Nema linije.</p>'));
	});
	app.post('/rezervacija', (q, r) => {
		const one = Object.hasOwn(fares, String(q.body.linija)) && fares[q.body.linija];
		if (!one) return r.status(400).send(page('<p>Nema linije.</p>'));
		const sum = v === 'weak' ? Number(q.body.cijena) : one[1];
		r.send(page(Number.isFinite(sum) ? `<h3>${one[0]}</h3><p>Putnik: ${safe(q.body.ime || '')}</p><p>Za platiti: ${sum} EUR</p>` : '<p>Pogrešna cijena.</p>'));
	});
	return app;
};

// Beekeepers log in by a form whose brackets become objects, which a store of documents takes for conditions.
exports.apiary = (v) => {
	const app = base(express.urlencoded({ extended: true }), cookies()), live = new Map();
	const people = [{ mail: 'ina@hive.example', word: 'Linden-Honey-3' }, { mail: 'sten@hive.example', word: 'Heather-Honey-4' }];
	const holds = (have, want) => want === null || typeof want !== 'object' ? have === want : Object.entries(want).every(([op, x]) => ({ $ne: have !== x, $gt: have > x, $eq: have === x, $exists: true, $regex: typeof x === 'string' && have.includes(x.replace(/[.^$*]/g, '')) })[op] || false);
	const page = (b) => `<!doctype html><html lang="sv"><head><title>Bigården</title></head><body><p class="logo"><a href="/">Bigården</a></p>${b}</body></html>`;
	app.get('/', (q, r) => r.send(page(live.has(q.cookies.bi) ? '<p>Kupa 7: 34 grader. <a href="/ut">Ut</a></p>' : '<form method="post" action="/kupa/in"><input name="mail" placeholder="e-post"><input name="word" type="password" placeholder="ord"><button>In</button></form>')));
	app.post('/kupa/in', (q, r) => {
		let { mail, word } = q.body;
		if (v !== 'weak') { mail = String(mail); word = String(word); }
		const one = mail !== undefined && word !== undefined && people.find((p) => holds(p.mail, mail) && holds(p.word, word));
		if (!one) return r.status(401).send(page('<p>Fel e-post eller ord.</p>'));
		const sid = key();
		live.set(sid, one.mail);
		r.cookie('bi', sid, { httpOnly: true, sameSite: 'lax' }).redirect('/');
	});
	app.get('/ut', (q, r) => { live.delete(q.cookies.bi); r.redirect('/'); });
	return app;
};

// Bicycles to hire: a bonus is added each time that its code is sent.
exports.bikes = (v) => {
	const app = base(express.json({ limit: '20kb' }), cookies()), live = new Map(), accounts = new Map();
	const people = { 'rider.pia': 'Spoke-31', 'rider.tom': 'Spoke-32' };
	app.get('/', (q, r) => r.send(`<!doctype html><html lang="en"><head><title>CityBikes</title></head><body><h1>CityBikes</h1>${live.has(q.cookies.bikes) ? '<p>Credit <span id="c"></span></p><input id="b" placeholder="bonus code, such as SPRING4"><button id="g">Add</button>' : '<form id="f"><input name="rider"><input name="lock" type="password"><button>Ride</button></form>'}<script src="/ride.js"></script></body></html>`));
	app.get('/ride.js', (q, r) => r.type('js').send(`function send(to, body) { return fetch(to, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }); }
if (window.f) f.onsubmit = function (e) { e.preventDefault(); send("/app/unlock", { rider: f.rider.value, lock: f.lock.value }).then(function () { location.reload(); }); };
function credit() { fetch("/app/credit").then(function (r) { return r.json(); }).then(function (d) { c.textContent = d.credit; }); }
if (window.g) { credit(); g.onclick = function () { send("/app/bonus", { code: b.value }).then(credit); }; }`));
	app.post('/app/unlock', (q, r) => {
		const name = String((q.body || {}).rider);
		if (!Object.hasOwn(people, name) || people[name] !== q.body.lock) return r.status(401).json({ error: 'rider or lock' });
		const sid = key();
		live.set(sid, name);
		r.cookie('bikes', sid, { httpOnly: true, sameSite: 'lax' }).json({ rider: name });
	});
	app.use('/app', (q, r, n) => {
		const name = live.get(q.cookies.bikes);
		if (!name) return r.status(401).json({ error: 'unlock first' });
		if (!accounts.has(name)) accounts.set(name, { credit: 10, used: [] });
		q.mine = accounts.get(name);
		n();
	});
	app.get('/app/credit', (q, r) => r.json({ credit: q.mine.credit }));
	app.post('/app/bonus', (q, r) => {
		const code = (q.body || {}).code;
		if (code !== 'SPRING4') return r.status(422).json({ error: 'unknown code' });
		if (v !== 'weak' && q.mine.used.includes(code)) return r.status(409).json({ error: 'used' });
		q.mine.used.push(code);
		q.mine.credit += 4;
		r.json({ credit: q.mine.credit });
	});
	return app;
};
