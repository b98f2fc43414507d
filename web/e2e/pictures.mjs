// Takes a picture of every screen, light and dark, wide and narrow, of a server with realistic and hostile data, for people
// to look at: OUT=folder node web/e2e/pictures.mjs [part of a screen's name]… after make build. It is no test. With
// HOSTILE=1 the settings have foreign texts, too; with CLEAN=1 nothing has, as in the pictures of docs/use/console.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fillSettings } from './hostile.mjs'
import { startHub, startLab } from './hub.mjs'
import { browse, open, ready, serve, signIn, weakSite } from './kit.mjs'

const out = process.env.OUT ?? 'pictures'
const only = process.argv.slice(2)
const clean = process.env.CLEAN === '1'
mkdirSync(out, { recursive: true })

const long = (word, n = 200) => `${word} `.repeat(Math.ceil(n / (word.length + 1))).slice(0, n)
const evil = `"><img src=x onerror=alert(1)><b>bold</b>{{7*7}}\u202egnp.exe\u2066\u200b\u001b[31m`
const arabic = 'لوحة الإدارة مكشوفة بدون كلمة مرور على الخادم الرئيسي للشركة'

// What other tools reported: checks at hosts of a company, and texts that try a page's patience.
function report() {
  const checks = [
    ['CVE-2021-44228', 'Apache Log4j2 remote code execution', 'critical', 10], ['exposed-git', 'Git repository exposed', 'medium', 5.3],
    ['CVE-2023-34362', 'MOVEit Transfer SQL injection', 'critical', 9.8], ['weak-tls', 'TLS 1.0 is accepted', 'low', 3.7],
    ['default-login', 'Default password of the administrator works', 'high', 8.1], ['open-redirect', 'Redirect to any address', 'medium', 4.7],
    ['missing-hsts', 'HSTS is not set', 'info', 0], ['directory-listing', 'Directory listing', 'low', 2.6],
    ['sql-injection', 'SQL injection in a parameter of the search', 'high', 8.6], ['phpinfo', 'phpinfo() is public', 'medium', 5.3],
  ]
  const hosts = ['www.acme.example', 'shop.acme.example', 'api.acme.example', 'mail.acme.example:8443', 'intranet-legacy-application-server-07.emea.corp.acme.example']
  const events = []
  for (const [h, host] of hosts.entries()) {
    for (const [i, [id, name, severity, score]] of checks.entries()) {
      if ((h + i) % 3 === 0) continue
      events.push({ 'template-id': id, info: { name, author: ['team'], tags: ['web', severity], severity, description: `${name}. An attacker who reaches the host can use it without an account. Update the software, or restrict who reaches it.`, remediation: 'Update to the newest release; until then let only known addresses reach it.', reference: [`https://advisories.example/${id}`], classification: { 'cvss-score': score, 'cvss-metrics': 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H', 'cve-id': id.startsWith('CVE') ? [id] : [], 'cwe-id': ['CWE-502'] } },
        host, 'matched-at': `https://${host}/app/${id}?page=${i}`, type: 'http', ip: `192.0.2.${h + 1}`, port: '443', 'matcher-status': true, timestamp: '2026-11-20T08:00:00Z',
        request: `GET /app/${id}?page=${i} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: Mozilla/5.0\r\nAccept: */*\r\n\r\n`, response: `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: Apache/2.4.41\r\n\r\n<html><head><title>App</title></head><body>${name}</body></html>`, 'curl-command': `curl -X GET 'https://${host}/app/${id}?page=${i}'`, 'extracted-results': i % 2 ? ['2.4.41'] : undefined })
    }
  }
  const ask = (q) => `GET /catalogue?id=${q} HTTP/1.1\r\nHost: shop.acme.example\r\nUser-Agent: Mozilla/5.0\r\nAccept: */*\r\n\r\n`
  const page = (items) => `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: Apache/2.4.41\r\n\r\n<html><head><title>Catalogue</title></head>\n<body>\n<h1>Catalogue</h1>\n${items}\n</body></html>\n`
  events.push({ 'template-id': 'blind-sqli', info: { name: 'SQL injection, shown by two conditions', author: ['team'], severity: 'high', description: 'A condition in the parameter decides what the page shows.' }, host: 'shop.acme.example', 'matched-at': 'https://shop.acme.example/catalogue?id=7', type: 'http', 'matcher-status': true, timestamp: '2026-11-20T08:00:00Z',
    request: ask('7+AND+31=31'), response: page('<ul><li>Anvil, 40 kg</li><li>Rocket skates</li></ul>'), compared: [{ note: 'a condition that does not hold', request: ask('7+AND+31=32'), response: page('<p>Nothing was found.</p>') }] })
  const hostile = (id, name, extra) => !clean && events.push({ 'template-id': id, info: { name, author: [name], tags: [evil, long('tag', 60)], severity: 'critical', description: long(name, 2000), reference: [evil], classification: { 'cve-id': ['CVE-2026-1'], 'cvss-score': 9.8 } }, host: 'evil.example', 'matched-at': `http://evil.example/${'x'.repeat(400)}${evil}`, type: 'http', ip: '192.0.2.99', port: '80', 'matcher-status': true, timestamp: '2026-11-20T08:00:00Z', request: `GET /${evil} HTTP/1.1\r\n\r\n`, response: `HTTP/1.1 200 OK\r\n\r\n${evil}`, ...extra })
  hostile('markup', `Evil ${evil}`)
  hostile('long-name', long('Extraordinarily-long'), { 'matched-at': `http://${'very-long-host-name.'.repeat(10)}example/` })
  hostile('one-word', 'W'.repeat(200))
  hostile('right-to-left', arabic)
  hostile('big-body', 'A response of 7 MB', { response: `HTTP/1.1 200 OK\r\n\r\n${'<li>item</li>\n'.repeat(500_000)}` })
  return events.map((e) => JSON.stringify(e)).join('\n')
}

const model = { replies: [
  { turn: 1, system: 'You wait.', calls: [{ name: 'ask_question', args: JSON.stringify({ question: 'May the search of the shop be tested with 500 requests?', options: ['Yes', 'Only at night'] }) }] },
] }

async function seed(s, target) {
  const until = async (path, states) => {
    for (let n = 0; n < 400; n++) {
      const x = await s.api('GET', path)
      if (states.includes(x.status)) return x
      await new Promise((done) => setTimeout(done, 200))
    }
    throw new Error(`${path} has not ended`)
  }
  const quiet = (work) => work.catch((e) => { console.error(String(e).slice(0, 300)) })
  await s.api('POST', '/v1/scans/import?name=' + encodeURIComponent('Quarterly assessment'), report())
  if (!clean) await quiet(s.api('POST', '/v1/scans/import?format=nuclei&name=' + encodeURIComponent(`${long('Yearly assessment of', 100)}${evil}`), report().split('\n').slice(0, 3).join('\n')))
  const scan = (await s.api('POST', '/v1/scans', { name: 'Weekly', targets: [target, `${target}/shop`], recommended: true, capture_traffic: true })).id
  const enumeration = await s.api('POST', '/v1/asset/enumerate', { name: 'Machines', enrichment_inputs: [new URL(target).host] })
  const task = (await s.api('POST', '/api/v1/tasks', { task: `Look for exposed files on ${target}`, response_format: 'json' })).id
  await until(`/v1/scans/${scan}`, ['finished', 'failed'])
  await until(`/api/v1/tasks/${task}`, ['completed', 'failed'])
  const waiting = (await s.api('POST', '/api/v1/tasks', { task: `Check the security headers of ${target}`, mode: 'plan', model: 'builtin', response_format: 'json' })).id
  await until(`/api/v1/tasks/${waiting}`, ['suspended', 'failed'])
  await s.api('POST', `/v1/scans/${scan}/rescan`)
  await until(`/v1/scans/${scan}`, ['finished', 'failed'])
  const rows = (await s.api('GET', '/v1/scans/results?limit=100&sort_desc=severity')).data
  await s.api('PATCH', '/v1/scans/vulns/labels', { ids: rows.slice(5, 12).map((r) => r.vuln_id), labels: clean ? ['payment'] : ['payment', long('label', 60)], type: 'append' })
  await s.api('PATCH', '/v1/scans/vulns/assignee', { vuln_ids: rows.slice(3, 9).map((r) => r.vuln_id), assignee: 'bob@example.com' })
  await s.api('PATCH', '/v1/scans/vulns/assignee', { vuln_ids: rows.slice(9, 12).map((r) => r.vuln_id), assignee: 'ada@example.com' })
  await s.api('PATCH', '/v1/scans/vulns', { vuln_ids: rows.slice(20, 24).map((r) => r.vuln_id), vuln_status: 'fixed' })
  await s.api('PATCH', '/v1/scans/vulns', { vuln_ids: rows.slice(14, 16).map((r) => r.vuln_id), vuln_status: 'false_positive', reason: clean ? 'Checked by hand.' : `Checked by hand. ${evil}` })
  await quiet(s.api('POST', '/api/v1/triage/queues', { name: clean ? 'Worst of all' : `Critical ${evil}`.slice(0, 100), sort: 'severity', selection: { severity: ['critical'] } }))
  await quiet(s.api('POST', '/api/v1/triage/queues', { name: 'Of the shop', sort: 'oldest', selection: { search: 'shop' } }))
  await quiet(s.api('POST', '/api/v1/knowledge/index', { name: `${long('Handbook', 120)}${evil}`.slice(0, 200), content: `${arabic}\n${evil}\n${long('The till is in the cellar.', 3000)}` }))
  await quiet(s.api('POST', '/api/v1/prompts', { name: `Prompt ${evil}`.slice(0, 100), text: 'Look at {{host}}', description: evil }))
  await quiet(s.api('POST', '/v1/template', { template: `id: team-template\ninfo: {name: ${JSON.stringify(long('Our own template', 150))}, author: me, severity: high}\nhttp:\n  - path: ["{{BaseURL}}/"]\n    matchers: [{type: status, status: [200]}]\n` }))
  await quiet(s.api('POST', '/v1/asset/policy', { name: long('Pages that answer', 120), policy_type: 'set_label', labels: ['web', long('label', 60)], policies: { custom_filter: 'status_code = 200' }, apply_to_existing: true }))

  await settings(s)

  const id = (n) => rows.find((r) => r.event[0].info.name.startsWith(n) || r.template_id === n)?.vuln_id ?? rows[0].vuln_id
  const assets = (await s.api('GET', '/v1/asset/enumerate/contents?limit=5')).data
  const network = await quiet(s.api('GET', '/v1/scans?limit=1')) && (await quiet(s.api('GET', '/api/v1/network/events?limit=1')))
  return { scan, task, waiting, cve: 'CVE-2021-44228', queue: (await s.api('GET', '/api/v1/triage/queues')).queues[0].id, enumeration: enumeration.id, rows, assets, id, network }
}

/** What a team sets in its first week. */
async function settings(s) {
  const file = join(s.dir, 'nvd.json')
  const cve = (id, score, severity, text) => ({ cve: { id, published: '2023-06-02T14:15:09.143', lastModified: '2025-02-01T10:00:00.000', references: [{ url: `https://advisory.example/${id}`, source: 'x' }], descriptions: [{ lang: 'en', value: text }], metrics: { cvssMetricV31: [{ type: 'Primary', cvssData: { vectorString: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H', baseScore: score, baseSeverity: severity } }] } } })
  writeFileSync(file, JSON.stringify({ vulnerabilities: [cve('CVE-2021-44228', 10, 'CRITICAL', 'JNDI features in configuration, log messages and parameters of Apache Log4j2 do not protect against endpoints that attackers control. An attacker who can control log messages can execute code.'), cve('CVE-2023-34362', 9.8, 'CRITICAL', 'In MOVEit Transfer a SQL injection allows an attacker without an account to read the database.'), cve('CVE-2022-0001', 5.4, 'MEDIUM', long('A weakness in a product with a long description', 400))] }))
  s.run(['feeds', 'load', '--nvd', file])
  const quiet = (work) => work.catch((e) => { console.error(String(e).slice(0, 300)) })
  await quiet(s.api('POST', '/api/v1/projects', { name: 'Web shop', settings_md: 'Ask Ada before staging is tested.', tags: ['shop'] }))
  await quiet(s.api('POST', '/api/v1/schedules', { name: 'Nightly', task_message: 'Look for exposed files on https://shop.acme.example', schedule_type: 'recurring', scan_frequency: 'daily', start_time: '03:00', time_zone: 'UTC' }))
  await quiet(s.api('POST', '/api/v1/secrets', { name: 'SHOP_TOKEN', value: 'hunter2hunter2' }))
  await quiet(s.api('POST', '/api/v1/ssh-keys', { name: 'look-inside', algorithm: 'ed25519', default_username: 'vedette', default_host: 'bastion.acme.example' }))
  await quiet(s.api('PUT', '/api/v1/memory', { facts: ['Staging is rebuilt every night.', 'The shop is behind a WAF of Acme.'], insights: ['Admin pages are under /backoffice.'] }))
  for (const name of ['openapi.yaml', 'scope/hosts.txt', `${long('report', 90).replaceAll(' ', '-')}.pdf`]) await quiet(s.api('POST', `/api/v1/files?key=${encodeURIComponent(name)}`, 'x'.repeat(4000)))
  await quiet(s.api('POST', '/api/v1/triage/rules', { name: 'Banners are accepted', match: { severity: ['info'], tags: ['tech'] }, set: { vuln_status: 'accepted_risk', labels: ['banner'] } }))
  await quiet(s.api('POST', '/api/v1/triage/rules', { name: 'The shop’s own', match: { domain: ['shop.acme.example'] }, set: { assignee: 'bob@example.com' }, stop: true }))
  await quiet(s.api('POST', '/api/v1/github/installations/claim', { installation_id: 7 }))
  await quiet(hub.opened())
  await quiet(s.api('POST', '/api/v1/gitlab/connections', { url: lab.url, token: 'glpat-journey', projects: ['acme/shop'] }).then((x) => lab.opened(x.webhook_path, x.webhook_secret)))
  await quiet(s.api('POST', '/api/v1/operator/credits', { team: 'Red team', credits: 250, note: 'Order 17 of November' }))
  if (process.env.HOSTILE === '1') await fillSettings(s)
}

const site = await weakSite()
let s
const hub = await startHub(() => s.base)
const lab = await startLab(() => s.base)
const [started, browser] = await Promise.all([serve({ ...(process.env.MODEL ? { model } : {}), settings: { ...hub.settings, VEDETTE_WEBHOOK_ALLOW: '127.0.0.0/8' } }), browse()])
s = started
try {
  const d = await seed(s, site.target)
  const f = d.id('default-login')
  const pages = ['account', 'keys', 'members', 'models', 'scope', 'credits', 'due', 'leaks', 'results', 'signers', 'memory', 'files', 'audit', 'projects', 'schedules', 'secrets', 'ssh', 'agents', 'skills', 'prompts', 'tools', 'notifications', 'trackers', 'github', 'gitlab', 'slack', 'webhooks']
  const screens = {
    today: '/', findings: '/findings', 'findings-panel': `/findings?open=${f}`, 'findings-empty': '/findings?q=nothing-like-this', finding: `/findings/${f}`, 'finding-evidence': `/findings/${f}?tab=evidence`, 'finding-compared': `/findings/${d.id('blind-sqli')}?tab=evidence`, 'finding-history': `/findings/${d.rows[14].vuln_id}?tab=history`, 'finding-places': `/findings/${f}?tab=places`,
    'finding-evil': `/findings/${d.id('markup')}`, 'finding-word': `/findings/${d.id('one-word')}`, 'finding-arabic': `/findings/${d.id('right-to-left')}`, 'finding-big': `/findings/${d.id('big-body')}?tab=evidence`,
    tasks: '/tasks', 'task-new': '/tasks/new', task: `/tasks/${d.task}`, 'task-waits': `/tasks/${d.waiting}`, 'task-findings': `/tasks/${d.task}?tab=findings`, 'task-calls': `/tasks/${d.task}?tab=calls`, 'task-about': `/tasks/${d.task}?tab=about`,
    scans: '/scans', 'scan-new': '/scans/new', scan: `/scans/${d.scan}`, ...Object.fromEntries(['coverage', 'log', 'runs', 'compare', 'config'].map((tab) => [`scan-${tab}`, `/scans/${d.scan}?tab=${tab}`])),
    assets: '/assets', 'assets-gallery': '/assets?view=gallery', policies: '/assets/policies', associated: '/assets/associated', ...(d.assets[0] ? { asset: `/assets/${d.assets[0].id}` } : {}), enumerations: '/enumerations', enumeration: `/enumerations/${d.enumeration}`, 'enumeration-diff': `/enumerations/${d.enumeration}?tab=difference`,
    templates: '/templates', template: '/templates/vedette-git-head', 'template-new': '/templates/new', triage: '/triage', queue: `/triage/${d.queue}`, 'triage-rules': '/triage?tab=rules', 'triage-suggestions': '/triage?tab=suggestions', cves: '/cves', ...(d.cve ? { cve: `/cves/${d.cve}` } : {}), inbox: '/inbox', reports: '/reports', agents: '/agents', network: '/network', knowledge: '/knowledge', reference: '/reference', 'reference-post': '/reference?q=post%20tasks', docs: '/docs', missing: '/nowhere',
    ...Object.fromEntries(pages.map((p) => [`settings-${p}`, `/settings/${p}`])),
  }
  const looks = [['light', 1440], ['dark', 1440], ['light', 390], ['dark', 390]].filter(([theme, width]) => !process.env.LOOKS || process.env.LOOKS.split(',').includes(`${theme}-${width}`))
  for (const width of [1440, 390, 320]) {
    if (!looks.some((l) => l[1] === width) && width !== 320) continue
    const page = await open(browser, s, { viewport: { width, height: width === 1440 ? 900 : 844 }, colorScheme: 'light' })
    await page.at('/login')
    if (width !== 320) await page.screenshot({ path: join(out, `login-light-${width}.png`) })
    await page.setViewportSize({ width: 1440, height: 900 })
    await signIn(page)
    await page.setViewportSize({ width, height: width === 1440 ? 900 : 844 })
    for (const [name, path] of Object.entries(screens)) {
      if (only.length > 0 && !only.some((x) => name.includes(x))) continue
      await page.at(path)
      await ready(page).catch((e) => console.log(`${name} ${width}: not ready: ${e.message.split('\n')[0]}`))
      if (name === 'queue' && await page.getByRole('button', { name: /^Next finding/ }).count() > 0) { await page.keyboard.press('n'); await page.getByRole('button', { name: /^Skip/ }).waitFor(); await ready(page) }
      await page.waitForTimeout(150)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      if (wide > width) console.log(`${name}: ${wide} wide at ${width}`)
      if (width === 320) continue
      for (const [theme, w] of looks) {
        if (w !== width) continue
        await page.evaluate((x) => { document.documentElement.dataset.theme = x }, theme)
        await page.screenshot({ path: join(out, `${name}-${theme}-${width}.png`), fullPage: process.env.WHOLE === '1' })
      }
      for (const p of page.problems.splice(0)) console.log(`${name} ${width}: ${p}`)
    }
    await page.context().close()
  }
} finally {
  await browser.close(); site.site.close(); hub.close(); lab.close(); await s.close()
}
