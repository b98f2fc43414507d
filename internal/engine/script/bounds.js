// Bounds for what a machine computes in one step, which it cannot interrupt; run before each script.
(function (maxItems, maxText, maxNodes, checkPattern, checkSearch, checkJSON, bytes) {
  "use strict";
  const G = globalThis, run = Reflect.apply, define = Object.defineProperty, isArray = Array.isArray;
  const names = Object.getOwnPropertyNames, min = Math.min, busy = new Set();
  const has = Set.prototype.has, add = Set.prototype.add, drop = Set.prototype.delete;
  const maxSpread = 1 << 17; // items of a list that becomes arguments: the machine copies all for every 1,024 of them
  const maxSlow = 1 << 16; // characters of a text that is compared or changed rune by rune, with tables
  const spreadable = Symbol.isConcatSpreadable;

  function fail(what) { throw new RangeError(what + " is too large"); }
  function put(object, name, f) { define(object, name, { value: f, writable: true, configurable: true }); }
  function wrap(object, name, make) { // an assignment keeps the attributes of what is there, and costs half of put
    const f = object[name];
    if (typeof f === "function") object[name] = make(f, name);
  }
  // Each machine runs all this before its script: loops by index cost a fraction of iterators.
  function wrapAll(object, list, make) { for (let i = 0; i < list.length; i++) wrap(object, list[i], make); }
  function text(v) { const s = String(v); if (s.length > maxText) fail("the text"); return s; }
  function count(list) { if (list.length > maxItems) fail("the list"); return list; }

  // Functions are not made of text, and memory is not taken by the number.
  for (const f of [function () {}, function* () {}, async function () {}]) {
    define(Object.getPrototypeOf(f), "constructor", { value: undefined });
  }
  const keep = new Set(["Object", "Array", "String", "Number", "Boolean", "Date", "RegExp", "Error", "EvalError",
    "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError", "AggregateError", "Math", "JSON", "Map",
    "Set", "WeakMap", "WeakSet", "Symbol", "Promise", "isNaN", "isFinite", "parseInt", "parseFloat", "encodeURI",
    "encodeURIComponent", "decodeURI", "decodeURIComponent", "escape", "unescape", "NaN", "Infinity", "undefined",
    "globalThis"]);
  const arrays = ["Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array",
    "Uint32Array", "Float32Array", "Float64Array"], made = [];
  const B = bytes ? G.ArrayBuffer : null, view = bytes ? G.DataView : null;
  if (bytes) for (let i = 0; i < arrays.length; i++) made[i] = G[arrays[i]];
  const globals = names(G);
  for (let i = 0; i < globals.length; i++) if (!keep.has(globals[i])) delete G[globals[i]];

  // Lists.
  function real(v) {
    if (isArray(v)) return count(v);
    const n = Number(Object(v).length) || 0, list = [];
    if (n > maxItems) fail("the list");
    for (let i = 0; i < n; i++) if (i in Object(v)) list[i] = v[i];
    return list;
  }
  const A = Array.prototype, join = A.join;
  const listMethods = names(A).filter((name) => name !== "constructor" && name !== "toString");
  wrapAll(A, listMethods, (f) => function (...a) { return run(f, real(this), a); });
  wrap(A, "values", (f) => {
    put(A, Symbol.iterator, function () { if (real(this).length > maxSpread) fail("the list"); return run(f, this, []); });
    return f;
  });
  put(A, "join", function (separator) {
    const list = real(this), parts = [], s = separator === undefined ? "," : text(separator);
    if (run(has, busy, [list])) return "";
    run(add, busy, [list]);
    try {
      let size = 0;
      for (let i = 0; i < list.length; i++) {
        const x = list[i];
        parts[i] = x === undefined || x === null ? "" : String(x);
        if ((size += parts[i].length + s.length) > maxText) fail("the text");
      }
      return run(join, parts, [s]);
    } finally { run(drop, busy, [list]); }
  });
  wrap(A, "concat", (f) => function (...a) {
    for (let i = 0; i < a.length; i++) {
      if (isArray(a[i])) count(a[i]);
      else if (a[i] !== null && typeof a[i] === "object" && a[i][spreadable]) fail("the list");
    }
    return run(f, this, a);
  });
  put(A, "flat", function (depth) {
    const out = [], most = depth === undefined ? 1 : min(Number(depth) || 0, 100);
    (function go(list, left) {
      for (let i = 0; i < list.length; i++) {
        if (!(i in list)) continue;
        if (isArray(list[i]) && left > 0) go(count(list[i]), left - 1);
        else out[out.length] = list[i];
        if (out.length > maxItems) fail("the list");
      }
    })(real(this), most);
    return out;
  });
  delete A.toLocaleString;
  wrap(Array, "from", (f) => function (from, ...a) {
    if (typeof from === "string" || isArray(from)) count(from);
    else if (from !== null && from !== undefined && !from[Symbol.iterator]) from = real(from);
    return run(f, this, [from, ...a]);
  });
  wrap(Object.getPrototypeOf(run), "apply", (f) => function (self, list) {
    return run(f, this, [self, list === undefined || list === null ? list : real(list)]);
  });
  const objectMethods = ["keys", "values", "entries", "getOwnPropertyNames", "getOwnPropertyDescriptors", "assign"];
  wrapAll(Object, objectMethods, (f) => function (...a) {
    for (let i = 0; i < a.length; i++) if (typeof a[i] === "string" || a[i] instanceof String) count(a[i]);
    return run(f, this, a);
  });

  // Texts.
  const S = String.prototype;
  delete String.raw;
  wrapAll(G, ["encodeURI", "encodeURIComponent", "escape", "unescape"], (f) => function (v) { return f(text(v)); });
  wrapAll(S, ["concat", "endsWith", "includes", "indexOf", "lastIndexOf", "localeCompare", "match", "matchAll",
    "normalize", "search", "slice", "split", "startsWith", "substring", "toLowerCase", "toUpperCase", "trim"],
    (f, name) => function (...a) {
      const s = text(this);
      if (name === "match" || name === "matchAll" || name === "search") {
        if (a.length > 0 && !(a[0] instanceof RE)) { a[0] = text(a[0]); checkPattern(a[0]); checkSearch(a[0], s.length); }
      } else if (name === "concat") {
        let size = s.length;
        for (let i = 0; i < a.length; i++) if ((size += (a[i] = text(a[i])).length) > maxText) fail("the text");
      } else if ((name === "normalize" || name === "localeCompare") && s.length > maxSlow) fail("the text");
      else if (name === "localeCompare") {
        if ((a[0] = text(a[0])).length > maxSlow) fail("the text");
      } else if (name === "split" && s.length > maxItems) fail("the list");
      return run(f, s, a);
    });
  wrap(S, Symbol.iterator, (f) => function () { return run(f, count(text(this)), []); });
  wrap(S, "repeat", (f) => function (n) {
    const s = text(this);
    if (s.length * (n = Number(n)) > maxText) fail("the text");
    return run(f, s, [n]);
  });
  wrapAll(S, ["padStart", "padEnd"], (f) => function (n, ...a) {
    if ((n = Number(n)) > maxText) fail("the text");
    return run(f, text(this), [n, ...a]);
  });
  function growth(s, by) {
    if (typeof by === "function") return by;
    by = text(by);
    if ((s.length + 1) * (by.length + 1) > maxText * 4) fail("the text");
    if ((by.includes("$'") || by.includes("$`")) && s.length * s.length > maxText) fail("the text");
    return by;
  }
  wrapAll(S, ["replace", "replaceAll"], (f) => function (what, by) {
    const s = text(this);
    return run(f, s, [what instanceof RE ? what : text(what), growth(s, by)]);
  });

  // Regular expressions.
  const RE = RegExp, P = RE.prototype, source = Object.getOwnPropertyDescriptor(P, "source").get;
  function looked(re, v) { const s = text(v); checkSearch(run(source, re, []), s.length); return s; }
  wrapAll(P, ["exec", "test", Symbol.match, Symbol.matchAll, Symbol.search, Symbol.split, Symbol.replace],
    (f, name) => function (v, ...a) {
      const s = looked(this, v);
      if (name === Symbol.replace) a[0] = growth(s, a[0]);
      return run(f, this, [s, ...a]);
    });
  delete P.compile;
  function RegExp_(pattern, flags) {
    checkPattern(pattern instanceof RE ? run(source, pattern, []) : pattern === undefined ? "" : text(pattern));
    return new RE(pattern, flags);
  }
  RegExp_.prototype = P;
  define(RegExp_, "name", { value: "RegExp" });
  put(P, "constructor", RegExp_);
  put(G, "RegExp", RegExp_);

  // JSON.
  wrap(JSON, "parse", (f) => function (v, ...a) { v = text(v); checkJSON(v); return f(v, ...a); });
  wrap(JSON, "stringify", (f) => function (v, by, space) {
    let nodes = 0, size = 0;
    const only = isArray(by) ? new Set(run(A.map, by, [String])) : null;
    return f(v, function (key, x) {
      if (only !== null && key !== "" && !isArray(this) && !run(has, only, [key])) return undefined;
      if (typeof by === "function") x = run(by, this, [key, x]);
      size += key.length + (typeof x === "string" ? x.length : 8);
      if (++nodes > maxNodes || size > maxText) fail("the value");
      return x;
    }, space);
  });

  // Arrays of bytes: as long as lists may be.
  if (!bytes) return;
  function inherit(name, made, old) {
    made.prototype = old.prototype;
    define(made, "name", { value: name });
    put(old.prototype, "constructor", made);
    put(G, name, made);
  }
  function size(n) { if (!((n = Number(n) || 0) <= maxItems)) fail("the array"); return n; }
  inherit("ArrayBuffer", function (n) { return new B(size(n)); }, B);
  inherit("DataView", function (...a) { return new view(...a); }, view);
  const T = Object.getPrototypeOf(made[0].prototype);
  for (let i = 0; i < arrays.length; i++) {
    const name = arrays[i], old = made[i];
    const typed = function (from, offset, length) {
      if (from === null || typeof from !== "object") return new old(size(from));
      if (isArray(from)) { // first, as scripts make many of one byte; the machine's own way calls the iterator above
        const n = count(from).length, list = new old(n);
        for (let i = 0; i < n; i++) list[i] = from[i];
        return list;
      }
      if (from instanceof B) return new old(from, offset, length);
      if (!(from instanceof old)) from = typeof from[Symbol.iterator] === "function" ? [...from] : real(from);
      return new old(count(from));
    };
    inherit(name, typed, old);
    put(typed, "from", (from, f) => new typed(Array.from(from, f)));
    put(typed, "of", (...a) => new typed(a));
    define(typed, "BYTES_PER_ELEMENT", { value: old.BYTES_PER_ELEMENT });
  }
  const listed = (typed) => Array.from(typed);
  put(T, "join", function (s) { return listed(this).join(s); });
  put(T, "toString", function () { return listed(this).join(","); });
  put(T, "toJSON", function () { return listed(this); });
  put(T, "concat", function (...a) { return listed(this).concat(...a); });
  delete T.toLocaleString;
  define(T, "constructor", { value: undefined });
})
