// Records what the scripts of a page send. What may change something is recorded and not sent: whoever reads the record
// decides about it.
(() => {
  if (window.__webtest) return;
  const sent = [];
  const readOnly = "READ_ONLY" === "true";
  const most = 200;
  const text = (body) => {
    if (body == null) return "";
    if (typeof body === "string") return body;
    if (body instanceof URLSearchParams) return body.toString();
    if (body instanceof FormData) {
      const pairs = new URLSearchParams();
      for (const [name, value] of body) pairs.append(name, typeof value === "string" ? value : value.name);
      return pairs.toString();
    }
    return "";
  };
  const note = (method, url, headers, body) => {
    method = String(method || "GET").toUpperCase();
    try {
      const form = body instanceof URLSearchParams || body instanceof FormData;
      const type = form ? "application/x-www-form-urlencoded" : "";
      if (sent.length < most) sent.push({ method, url: new URL(url, document.baseURI).href, headers, type, body: text(body) });
    } catch (e) { /* it is no address */ }
    return readOnly && !["GET", "HEAD", "OPTIONS"].includes(method);
  };
  Object.defineProperty(window, "__webtest", { value: sent });
  const fetched = window.fetch;
  window.fetch = function (input, init) {
    const request = input instanceof Request ? input : null;
    const headers = {};
    new Headers((init && init.headers) || (request && request.headers) || {}).forEach((v, k) => { headers[k] = v; });
    const method = (init && init.method) || (request && request.method);
    if (note(method, request ? request.url : input, headers, init && init.body)) {
      return Promise.resolve(new Response("{}", { status: 200, headers: { "Content-Type": "application/json" } }));
    }
    return fetched.apply(this, arguments);
  };
  const opened = XMLHttpRequest.prototype.open;
  const given = XMLHttpRequest.prototype.send;
  const header = XMLHttpRequest.prototype.setRequestHeader;
  XMLHttpRequest.prototype.open = function (method, url) {
    this.__asked = { method, url, headers: {} };
    return opened.apply(this, arguments);
  };
  XMLHttpRequest.prototype.setRequestHeader = function (name, value) {
    if (this.__asked) this.__asked.headers[name] = value;
    return header.apply(this, arguments);
  };
  XMLHttpRequest.prototype.send = function (body) {
    const asked = this.__asked;
    if (asked && note(asked.method, asked.url, asked.headers, body)) return undefined;
    return given.apply(this, arguments);
  };
  const Socket = window.WebSocket;
  const asHTTP = (url) => new URL(url, document.baseURI).href.replace(/^ws/, "http");
  window.WebSocket = class extends Socket {
    constructor(url, protocols) {
      super(...arguments);
      this.__asked = protocols ? { "Sec-WebSocket-Protocol": [].concat(protocols).join(", ") } : {};
      note("WEBSOCKET", asHTTP(this.url), this.__asked);
    }
    send(data) {
      if (typeof data === "string" && note("WEBSOCKET", asHTTP(this.url), this.__asked, data)) return;
      super.send(data);
    }
  };
  navigator.sendBeacon = (url, body) => { note("POST", url, {}, body); return true; };
  HTMLFormElement.prototype.submit = function () {
    note(this.method, this.action, {}, this.method === "post" ? new FormData(this) : null);
  };
  window.addEventListener("submit", (e) => e.preventDefault());
})();
