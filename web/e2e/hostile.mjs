// Foreign text in every name and text that people set: markup, scripts, template text, marks that turn the direction, words
// of 10 KB. Where the API refuses a text, the nearest that it takes.
export const evil = `"><img src=x onerror=breach('ran')><script>breach('ran')</script>{{7*7}}\${7*7}\u202egnp.exe\u2066\u200b`
const name = `Evil ${evil}`.slice(0, 120)
const word = 'W'.repeat(10_000)
const short = (n) => 'w'.repeat(n)

/** Fills the settings of a team. The server must let programs of others be named, and need not run them. */
export async function fillSettings({ api, run, base }) {
  // As it is, else without what cannot be seen, which some names may not have.
  const first = async (method, path, body) => {
    try { return await api(method, path, body) } catch { return api(method, path, JSON.parse(JSON.stringify(body).replace(/[^ -~]/g, ''))) }
  }
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
  await first('POST', '/api/v1/agents/user', { name, description: `${evil}${short(1500)}`, when_to_use: evil, system_context: `${evil} ${word}`, tags: [short(32)] })
  await first('POST', '/api/v1/dynamic-toolkits', { toolkit_id: `k${short(60)}`, name, description: evil, language: 'javascript' })
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
