// Fills the fields of a page and clicks what can be clicked, one after the other, and returns what the scripts have sent,
// the addresses that the page shows, and the routes that it went to.
async () => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const harmful = /log.?out|sign.?out|log.?off|delete|remove|destroy|unsubscribe|deactivate|\bpay\b|checkout|purchase|\bbuy\b|reset|password/i;
  const routes = new Set();
  const start = location.href;
  window.addEventListener("click", (e) => {
    const link = e.target && e.target.closest && e.target.closest("a[href]");
    if (!link) return;
    const to = link.getAttribute("href");
    if (to && !to.startsWith("#") && !to.toLowerCase().startsWith("javascript:")) { routes.add(link.href); e.preventDefault(); }
  });
  const label = (e) => [e.innerText, e.value, e.id, e.name, e.getAttribute("onclick"), e.getAttribute("aria-label"), e.title].join(" ");
  const seen = new Set();
  const links = () => { for (const link of document.querySelectorAll("a[href]")) routes.add(link.href); };
  links();
  for (let round = 0; round < 2; round++) {
    for (const field of document.querySelectorAll("input,textarea")) {
      if (["", "text", "search", "email", "tel", "url", "number", "password"].includes(field.type) || field.tagName === "TEXTAREA") {
        if (!field.value) {
          const set = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set;
          set.call(field, field.type === "number" ? "1" : field.type === "email" ? "tester@example.com" : "test");
          field.dispatchEvent(new Event("input", { bubbles: true }));
          field.dispatchEvent(new Event("change", { bubbles: true }));
        }
      }
    }
    const all = document.querySelectorAll("button,input[type=button],input[type=submit],[onclick],[role=button],[role=tab],[role=menuitem],a[href^='#'],a[href^='javascript:'],a:not([href])");
    for (const e of [...all].slice(0, 60)) {
      const key = e.outerHTML.slice(0, 300);
      if (seen.has(key) || seen.size > 80 || harmful.test(label(e))) continue;
      seen.add(key);
      try { e.click(); } catch (_) { /* it is gone */ }
      await wait(60);
      if (location.href !== start) routes.add(location.href);
      links();
    }
  }
  await wait(200);
  links();
  return JSON.stringify({ sent: window.__webtest || [], routes: [...routes].slice(0, 500), html: document.documentElement.outerHTML.slice(0, 2000000) });
}
