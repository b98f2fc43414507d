// Serves the challenges in Node: LAB_FLOWS says which, in which variant, on which port. Weak on purpose; loopback only.
process.env.NODE_ENV = 'production';
const all = { ...require('./apps'), ...require('./apps2') };
for (const one of process.env.LAB_FLOWS.split(' ')) {
	const [name, variant, port] = one.split(':');
	all[name](variant).listen(Number(port), '127.0.0.1');
}
