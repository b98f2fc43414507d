// Foreign text in every name and text that people set and that targets, reports, models, forges and feeds answer: markup,
// scripts, template text, marks that turn the direction, words of 10 KB. Where the API refuses a text, the nearest that it
// takes.
import { createServer } from 'node:http'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ended } from './kit.mjs'

export const evil = `"><img src=x onerror=breach('ran')><script>breach('ran')</script>{{7*7}}\${7*7}\u202egnp.exe\u2066\u200b`
const name = `Evil ${evil}`.slice(0, 120)
const word = 'W'.repeat(10_000)
const short = (n) => 'w'.repeat(n)

/** Asks with a body as it is, else without what cannot be seen, which some names may not have. */
const taking = (api) => async (method, path, body) => {
  try { return await api(method, path, body) } catch { return api(method, path, JSON.parse(JSON.stringify(body).replace(/[^ -~]/g, ''))) }
}

/** Fills the settings of a team. The server must let programs of others be named, and need not run them. */
export async function fillSettings({ api, run, base }) {
  const first = taking(api)
  const token = run(['token', 'create', '--email', 'ada@example.com']).trim() // keys are made by people alone
  const made = await fetch(`${base}/api/v1/user/apikeys`, { method: 'POST', headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, body: JSON.stringify({ name: name.replace(/[^ -~]/g, '').slice(0, 64), scope: 'read' }) })
  if (!made.ok) throw new Error(`a key: ${await made.text()}`)
  await first('POST', '/api/v1/secrets', { name: `EVIL_${'W'.repeat(100)}`, value: evil })
  await first('POST', '/api/v1/ssh-keys', { name: short(128), algorithm: 'ed25519', default_username: 'root', default_host: `${short(60)}.${short(60)}.${short(60)}.example` })
  const project = await first('POST', '/api/v1/projects', { name, settings_md: `${evil} ${word}`, tags: [short(32)] })
  await api('PUT', `/api/v1/projects/${project.project?.id ?? project.id}/memory`, { facts: [evil.replace(/[^ -~]/g, ''), short(1000)] })
  await first('POST', '/api/v1/schedules', { name, task_message: `${evil} ${word} https://shop.example`, schedule_type: 'recurring', scan_frequency: 'daily', start_time: '03:00', time_zone: 'UTC' })
  await first('POST', '/api/v1/prompts', { name, description: `${evil} ${short(1500)}`, text: `${word} {{host}} ${evil}`, tags: ['web'] })
  await first('POST', '/api/v1/skills', { name: short(64), description: `${name} ${short(800)}`, instructions: `${evil} ${word}` })
  await first('POST', '/api/v1/agents/user', { name, description: `${evil}${short(1500)}`, when_to_use: evil, system_context: `${evil} ${word}`, tags: [short(32)], install_commands: [`echo ${evil} ${short(500)}`], custom_tools: [{ id: short(40), description: evil, command_template: `echo ${short(500)}`, script_content: `${evil}${word}`, input_schema: { type: 'object', properties: { [short(60)]: { type: 'string', description: evil } } } }] })
  await first('POST', '/api/v1/dynamic-toolkits', { toolkit_id: `k${short(60)}`, name, description: evil, language: 'javascript', dependencies: { [short(100)]: '>=1' } })
  await first('POST', '/api/v1/dynamic-tools', { tool_id: `t${short(120)}`, description: `${evil}${short(1500)}`, code: 'export const run = () => 1' })
  await first('POST', '/api/v1/tools', { name: `h${short(60)}`, description: `${evil}${short(1500)}`, method: 'GET', url: `https://shop.example/${short(1800)}` })
  await first('POST', '/api/v1/mcp/servers', { name: 'evil', command: ['sh', '-c', `echo ${JSON.stringify(evil)} >&2; exit 3`, short(500)] })
  await first('POST', '/v1/scans/config', { name: `${name}${short(60)}`, config_type: 'alerting', config: Buffer.from(`slack:\n  webhook_url: https://hooks.example/${short(900)}\n`).toString('base64') })
  await first('POST', '/v1/scans/config', { name: `${name}${short(60)}`, config_type: 'reporting', config: Buffer.from(`github:\n  owner: ${short(80)}\n  project-name: ${short(80)}\n  token: secret-token-1\n`).toString('base64') })
  await first('POST', '/v1/scans/config/exclude', { exclude_type: 'scan_target', values: [`${short(60)}.${short(60)}.${short(60)}.example`] })
  await first('POST', '/v1/domain', { domain: `${short(60)}.${short(60)}.example` })
  await first('PUT', '/api/v1/memory', { facts: [evil, short(1000)], insights: [evil, short(1000)] })
  await api('POST', `/api/v1/files?key=${short(180)}.txt`, 'x')
  await first('PUT', '/v1/team/report', { title: name, company: short(200), client: name, notice: `${evil}${short(700)}` })
  await first('POST', '/api/v1/triage/rules', { name, match: { search: evil.slice(0, 60), host: [`${short(200)}.example`] }, set: { labels: [short(60)] } })
  await first('PATCH', '/api/v1/teams', { name, webhook_url: `https://hooks.example/${short(1800)}` })
}

// A finding whose every field tries to leave the text that it is.
const finding = (more) => JSON.stringify({
  'template-id': 'evil-template', info: { name: `Evil ${evil}`, author: [evil], tags: [evil], description: evil, impact: evil, remediation: evil, severity: 'critical', reference: [`javascript:breach('ran')`, evil], classification: { 'cve-id': [evil], 'cwe-id': [evil] } },
  host: 'evil.example', 'matched-at': `http://evil.example/${'x'.repeat(3000)}${evil}`, 'extracted-results': [evil, 'A'.repeat(5000)], 'matcher-status': true, type: 'http', ip: '192.0.2.1', port: '80', timestamp: '2026-01-02T03:04:05Z',
  compared: [{ note: evil, request: `GET /${'y'.repeat(3000)}${evil} HTTP/1.1\r\n\r\n`, response: `${evil}${'\u202e<b>x</b>\n'.repeat(1000)}` }],
  request: `GET / HTTP/1.1\r\nX: ${evil}\r\n\r\n`, response: `HTTP/1.1 200 OK\r\n\r\n<html>${evil}${'<b>x</b>\u202e'.repeat(60_000)}`, 'curl-command': `curl '${evil}'`, 'template-path': evil, ...more,
})

/** A site whose pages have foreign text in their title, headers and bodies, and weaknesses. */
export async function evilSite() {
  const site = createServer((q, r) => {
    r.setHeader('Content-Type', 'text/html')
    r.setHeader('Server', `Evil "><img src=x onerror=breach('ran')>`)
    if (q.url === '/.git/HEAD') r.end('ref: refs/heads/main\n')
    else if (q.url === '/.env') r.end(`APP_KEY=base64:c2VjcmV0c2VjcmV0\nDB_PASSWORD=hunter2hunter2\nDB_HOST=localhost\nSHOP=${evil}\n`)
    else if (q.url === '/') r.end(`<title>${evil.replace('<script>', '&lt;script&gt;')}${short(2000)}</title><h1>${evil}</h1>`)
    else { r.statusCode = 404; r.end(evil) }
  })
  await new Promise((done) => site.listen(0, '127.0.0.1', done))
  return { site, target: `http://127.0.0.1:${site.address().port}` }
}

/** What the model of such a server answers: words, a call of a tool and a question, each foreign text. */
export const evilModel = { replies: [
  { turn: 1, system: 'You ask evil.', calls: [{ name: 'ask_question', args: JSON.stringify({ question: `${evil} ${short(3000)}`, options: [evil, short(200)] }) }] },
  { turn: 1, system: 'You say evil.', text: `${evil} ${short(3000)}\n# no heading\n[link](javascript:breach('ran'))`, calls: [{ name: 'http_request', args: JSON.stringify({ url: `http://evil.example/${evil}`, note: short(3000) }) }] },
  { turn: 2, system: 'You say evil.', text: evil },
] }

/**
 * Fills what a team works with: findings, a scan that ran twice and was captured, an enumeration, tasks, knowledge, queues,
 * reports, policies, leaked logins, a CVE. The target is an evilSite, the model of the server is evilModel. It gives the
 * addresses of what it made, by the screens of screens.mjs that have an id.
 */
export async function fillWork(server, target) {
  const { api, run, dir } = server
  const first = taking(api)
  const agent = async (says) => (await first('POST', '/api/v1/agents/user', { name: `${says}${name}`.slice(0, 100), description: evil, system_context: says })).id
  const task = async (body) => (await api('POST', '/api/v1/tasks', { response_format: 'json', ...body })).id
  const [asker, sayer] = [await agent('You ask evil.'), await agent('You say evil.')]
  await api('POST', '/api/v1/operator/credits', { team: (await api('GET', '/api/v1/teams')).team.id, credits: 1000, note: evil })
  const asks = await task({ task: `${evil} ${short(3000)} ${target}`, agent_id: asker, ask_question: true })
  const says = await task({ task: `${evil} ${target}`, agent_id: sayer })
  const built = await task({ task: `Look for exposed files on ${target} ${evil}`, model: 'builtin' })
  const enumeration = (await first('POST', '/v1/asset/enumerate', { name, enrichment_inputs: [`${target}/`] })).id
  const scan = (await first('POST', '/v1/scans', { name: `${name} ${short(60)}`.slice(0, 150), targets: [target, `${target}/${short(500)}`], templates: ['vcs', 'config'], capture_traffic: true })).id

  const imported = await api('POST', `/v1/scans/import?name=${encodeURIComponent(name)}`, finding())
  await api('POST', `/v1/scans/import?format=nuclei&name=${encodeURIComponent(`${name} ${short(100)}`.slice(0, 200))}`, finding({ 'template-id': 'evil-other' }))
  const rows = (await api('GET', '/v1/scans/results?severity=critical&search=evil.example&sightings=true')).data
  const vuln = (await api('GET', `/v1/scans/results?scan_ids=${imported.id}`)).data[0].vuln_id // the one with comparisons
  const ids = rows.map((r) => r.vuln_id)
  await first('PATCH', '/v1/scans/vulns/labels', { ids, labels: [`<b>${short(40)}</b>`, evil.slice(0, 60)], type: 'append' })
  for (const assignee of ['bob@example.com', 'ada@example.com']) await api('PATCH', '/v1/scans/vulns/assignee', { vuln_ids: ids, assignee })
  await api('PATCH', '/v1/scans/vulns', { vuln_ids: ids.slice(-1), vuln_status: 'accepted_risk', reason: evil })
  await first('POST', `/v1/scans/vulns/${vuln}/comments`, { text: `${evil} ${word.slice(0, 3000)} @ada@example.com` })
  await first('POST', `/v1/scans/vulns/${vuln}/ticket`, { custom_reporting_id: short(80), custom_reporting_url: `https://issues.example/${short(300)}?<b>` })
  await first('POST', '/v1/scans/config/severity', { template_id: 'evil-template', vuln_id: vuln, custom_severity: 'critical', reason: evil })
  const queue = (await first('POST', '/api/v1/triage/queues', { name, sort: 'severity', selection: { severity: ['critical'] } })).id
  await first('POST', '/api/v1/knowledge/index', { name, content: `evil ${evil} ${word}` })
  await first('POST', '/api/v1/knowledge/index', { urls: [`http://127.0.0.1:9/${short(100)}`] })
  const template = await api('POST', '/v1/template', { template: `id: evil\ninfo: {name: ${JSON.stringify(name.replace(/[^ -~]/g, ''))}, author: ${JSON.stringify(evil.replace(/[^ -~]/g, ''))}, severity: high, description: ${JSON.stringify(short(2000))}}\nhttp:\n  - path: ["{{BaseURL}}/"]\n    matchers: [{type: status, status: [200]}]\n` })
  await first('POST', '/v1/export/schedule', { name, type: 'csv', frequency: 'weekly', weekday: 1, start_time: '07:00', search: evil.slice(0, 150) })
  await first('GET', `/v1/scans/${imported.id}/export?type=csv&async=true`) // a file of its name
  await first('POST', '/v1/asset/policy', { name, policy_type: 'set_label', labels: [short(60)], policies: { custom_filter: 'status_code = 200' }, apply_to_existing: true })
  run(['leaks', 'load', '-', '--name', 'May'], JSON.stringify({ url: `https://evil.example/${short(500)}`, username: evil, password: evil, hostname: evil, log_date: '2026-03-01' }))
  writeFileSync(join(dir, 'nvd.json'), JSON.stringify({ vulnerabilities: [{ cve: {
    id: 'CVE-2021-44228', published: '2021-12-10T10:15:09.143', lastModified: '2025-02-01T10:00:00.000', references: [{ url: `https://advisory.example/${evil}${short(500)}`, source: evil }],
    descriptions: [{ lang: 'en', value: `${evil} ${short(4000)}` }], metrics: { cvssMetricV31: [{ type: 'Primary', cvssData: { vectorString: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H', baseScore: 10, baseSeverity: 'CRITICAL' } }] },
  } }] }))
  run(['feeds', 'load', '--nvd', join(dir, 'nvd.json')])

  await ended(server, `/v1/scans/${scan}`, 'finished')
  const event = (await api('GET', `/api/v1/network/events?scan_id=${scan}&limit=1`)).events[0].id
  await api('POST', `/v1/scans/${scan}/rescan`)
  for (const id of [says, built]) await ended(server, `/api/v1/tasks/${id}`, 'completed')
  await ended(server, `/api/v1/tasks/${asks}`, 'suspended')
  await ended(server, `/v1/scans/${scan}`, 'finished')
  await ended(server, `/v1/asset/enumerate/${enumeration}`, 'finished')
  await first('POST', '/v1/asset/enumerate/group', { name, filters: { custom_filter: 'status_code = 200' } })
  const asset = (await api('GET', '/v1/asset/enumerate/contents?limit=100')).data.sort((a, b) => Number(b.status_code ?? 0) - Number(a.status_code ?? 0))[0].id
  return {
    '/tasks/$id': [`/tasks/${asks}`, ...['', '?tab=findings', '?tab=calls', '?tab=about'].map((tab) => `/tasks/${says}${tab}`), `/tasks/${built}`],
    '/scans/$id': [`/scans/${imported.id}`, ...['', '?tab=coverage', '?tab=log', '?tab=runs', '?tab=compare', '?tab=config'].map((tab) => `/scans/${scan}${tab}`)],
    '/findings': ['/findings', `/findings?open=${vuln}`, `/findings?q=${encodeURIComponent(evil)}`],
    '/findings/$id': ['', '?tab=evidence', '?tab=history', '?tab=places'].map((tab) => `/findings/${vuln}${tab}`),
    '/triage': ['/triage', '/triage?tab=rules', '/triage?tab=suggestions'],
    '/triage/$id': [`/triage/${queue}`],
    '/assets': ['/assets', '/assets?view=gallery'],
    '/assets/associated': [`/assets/associated?domain=${short(60)}.example`],
    '/assets/$id': [`/assets/${asset}`],
    '/enumerations/$id': ['', '?tab=sources', '?tab=events', '?tab=runs', '?tab=difference'].map((tab) => `/enumerations/${enumeration}${tab}`),
    '/templates': ['/templates', '/templates?scope=private'],
    '/templates/$id': [`/templates/${template.template_id ?? template.id}?from=team`, '/templates/new', '/templates/vedette-git-head'],
    '/cves/$id': ['/cves/CVE-2021-44228'],
    '/knowledge': ['/knowledge', '/knowledge?q=evil'],
    '/network': ['/network', `/network?scan=${scan}&open=${event}`, `/network?host=${encodeURIComponent(evil)}`],
    '/network/$id': [`/network/${event}`],
  }
}
