// Names that every script has and that need nothing but JavaScript. They may be declared again.
globalThis.structs = require("nuclei/structs");
globalThis.bytes = require("nuclei/bytes");
globalThis.console = { log: log, error: log, warn: log, info: log, debug: log };
globalThis.to_json = function (data) { return JSON.stringify(data, null, 2); };
globalThis.dump_json = function (data) { log(to_json(data)); };
globalThis.to_array = function (data) { return Object(data) !== data || data instanceof Array ? data : Array.from(data); };
globalThis.hex_to_ascii = function (hex) {
  const text = String(hex);
  let out = "";
  for (let i = 0; i < text.length; i += 2) out += String.fromCharCode(parseInt(text.substring(i, i + 2), 16));
  return out;
};
