// Serves the sites of a set in Node: LAB_SET says of which, LAB_FLOWS which, in which variant, on which port. Weak on purpose; loopback only.
const fs = require('fs'), path = require('path');
process.env.NODE_ENV = 'production';
const here = path.join(process.env.LAB_SET, 'node');
const all = Object.assign({}, ...fs.readdirSync(here).filter((f) => f.endsWith('.js') && f !== 'serve.js').map((f) => require(path.join(here, f))));
for (const one of process.env.LAB_FLOWS.split(' ')) {
	const [name, variant, port] = one.split(':');
	all[name](variant).listen(Number(port), '127.0.0.1');
}
