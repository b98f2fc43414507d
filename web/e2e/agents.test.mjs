import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startChat, token } from './chat.mjs'
import { reviewed, startHub, startLab } from './hub.mjs'
import { both, browse, dismiss, journeys, ready, serve, signIn, weakSite } from './kit.mjs'

// What agents bring along, and the areas around them: GitHub, Slack, CVEs, memory, files, signers, rules. On a server with a
// language model, whose answers are written down, a GitHub App and a Slack app.

let server, browser, site, target, hub, lab, chat
const template = (id, name) => `id: ${id}
info: {name: ${name}, author: a model, severity: high, description: d, tags: [till]}
http:
  - method: GET
    path: ['{{BaseURL}}/till']
    matchers-condition: and
    matchers: [{type: status, status: [200]}, {type: word, words: [till-7]}]
`
const model = { replies: [
  { turn: 1, system: 'You measure.', calls: [{ name: 'measure', args: '{"what":"page"}' }] },
  { turn: 2, system: 'You measure.', text: 'Measured 7 units.' },
  ...[1, 2, 3].map((turn) => ({ turn, system: 'You write detection templates', last: turn === 1 ? 'poem' : 'cannot be run', text: `Roses are red ${turn}.` })),
  { turn: 1, system: 'You write detection templates', text: template('till-open', 'Till is open') },
] }

before(async () => {
  hub = await startHub(() => server.base)
  lab = await startLab(() => server.base)
  chat = await startChat(() => server.base);
  [server, browser] = await Promise.all([serve({ model, settings: { ...hub.settings, ...chat.settings, VEDETTE_WEBHOOK_ALLOW: '127.0.0.0/8' } }), browse()]);
  ({ site, target } = await weakSite())
})
after(async () => { await browser?.close(); site?.close(); await server?.close(); hub?.close(); lab?.close(); chat?.close() })

const journey = journeys(() => ({ browser, server }))
const hostile = "\"><img src=x onerror=breach('ran')>\u202e"

journey('an agent gets tools of its own; a task installs them, and the page says how that went', async (page) => {
  await page.at('/settings/agents')
  await signIn(page)
  await page.getByRole('button', { name: 'New agent' }).click()
  const dialog = page.getByRole('dialog')
  await page.getByLabel('Name', { exact: true }).fill('Ruler')
  await page.getByLabel('What it is told').fill('You measure.')
  await page.getByLabel('Programs on the server').fill('sh, cat')
  await page.getByRole('button', { name: 'Add an install command' }).click()
  await page.keyboard.type('echo 7 >units; echo done') // the new field has the focus
  await page.getByRole('button', { name: 'Add an install command' }).click()
  await page.keyboard.type('echo 8')
  await page.getByRole('button', { name: 'Remove install command 2' }).click()
  await page.getByRole('button', { name: 'Add a check command' }).click()
  await page.keyboard.type('grep -qx 7 units')
  await page.getByRole('button', { name: 'Add a tool' }).click()
  await page.keyboard.type('measure')
  const tool = dialog.getByRole('group', { name: 'Tool 1' })
  await tool.getByLabel('What it does').fill(`Measures ${hostile}`)
  await tool.getByLabel('Command').fill("sh {{script_path}} '{{what}}'")
  await tool.getByLabel('Arguments, JSON schema').fill('{"type": "object"')
  assert.equal(await dialog.getByRole('button', { name: 'Save' }).isDisabled(), true)
  await tool.getByLabel('Arguments, JSON schema').fill('{"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}')
  await tool.getByRole('button', { name: 'Add a script' }).click()
  await tool.getByLabel('Script', { exact: true }).fill('echo "$1: $(cat /agent/units) units"')
  await both(page, 'an agent')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText(/command_template: .* single quotes/).waitFor() // the server says what is wrong, and nothing is lost
  await tool.getByLabel('Command').fill('sh {{script_path}} {{what}}')
  await dialog.getByRole('button', { name: 'Save' }).click()
  const row = page.getByRole('row', { name: /Ruler/ })
  await row.getByText('Not installed yet').waitFor()
  const [made] = (await server.api('GET', '/api/v1/agents/user')).agents
  assert.deepEqual([made.prereq_packages, made.install_commands, made.verify_commands, made.custom_tools.map((x) => x.id), made.custom_tools[0].scriptPath], [['sh', 'cat'], ['echo 7 >units; echo done'], ['grep -qx 7 units'], ['measure'], 'measure'])

  const task = await server.api('POST', '/api/v1/tasks', { task: `look at ${target}`, agent_id: made.id, response_format: 'json' })
  await page.at(`/tasks/${task.id}`)
  await page.getByRole('heading', { name: 'Result' }).waitFor({ timeout: 60_000 })
  await page.at('/settings/agents')
  // Where the machine has no sandbox, the installation fails, and says so.
  await row.getByText(/^(Installed|Installation failed)$/).waitFor()
  await row.getByRole('button', { name: 'Read' }).click()
  await dialog.getByText('Tools of its own').click()
  await dialog.getByRole('region', { name: 'Install commands' }).waitFor()
  await dialog.getByText('U+202E').first().waitFor()
  await both(page, 'an agent that was used')
  await page.keyboard.press('Escape')

  await row.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('Secrets').fill('STORE_KEY')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await row.getByText('Not installed yet').waitFor() // it must be installed anew
  const again = await server.api('POST', '/api/v1/tasks', { task: `look at ${target}`, agent_id: made.id, response_format: 'json' })
  await page.at(`/tasks/${again.id}`)
  await page.getByText(/requires secrets that its owner does not have: STORE_KEY/).first().waitFor({ timeout: 60_000 })
  const [kept] = (await server.api('GET', '/api/v1/agents/user')).agents
  assert.deepEqual([kept.config_version, kept.custom_tools, kept.verify_commands], [2, made.custom_tools, made.verify_commands])
})

journey('an agent of the directory is read before it is copied', async (page) => {
  await page.at('/settings/agents')
  await signIn(page)
  const row = page.getByRole('region', { name: 'Directory' }).last().getByRole('row').nth(1)
  await row.getByRole('button', { name: 'Read' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('What it is told').click()
  await dialog.getByRole('region', { name: 'What it is told' }).waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await row.getByRole('button', { name: 'Copy' }).click()
  await page.getByText(/is yours to change now/).waitFor()
})

journey('repositories at GitHub are connected, set up, reviewed and disconnected', async (page) => {
  await page.at('/settings/github')
  await signIn(page)
  await page.getByText('Nothing is connected').waitFor()
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByRole('dialog').getByRole('link', { name: /^Go to 127/ }).click()
  await page.getByText('It is connected.').waitFor()
  page.problems.splice(0) // the person left the console, as it said
  await page.getByRole('button', { name: 'Close' }).click()
  assert.equal(new URL(page.url()).search, '')
  await page.getByRole('listitem').filter({ hasText: 'octo' }).getByText('Active', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Read again' }).click()
  await page.getByText('octo: 3 repositories.').waitFor()

  await page.getByRole('button', { name: 'Options of octo/shop' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Check fails from').selectOption('high')
  await dialog.getByLabel('Files left out').fill('vendor/**\n*.lock')
  await both(page, 'options of a repository')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('row', { name: /octo\/shop.*High.*2 set here/ }).waitFor()
  await page.getByRole('button', { name: 'Options of octo/shop' }).click()
  await dialog.getByRole('button', { name: 'Reset: Files left out' }).click()
  await dialog.getByText('goes back to its default').waitFor()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('row', { name: /octo\/shop.*1 set here/ }).waitFor()
  const kept = (await server.api('GET', '/api/v1/github/repos')).repositories.find((x) => x.repo_full_name === 'octo/shop').effective_config
  assert.deepEqual([kept.check_gate, kept.exclude_patterns.source], [{ source: 'repo', value: 'high' }, 'default'])

  await hub.opened()
  await reviewed(server, 'github')
  await page.reload()
  await page.getByRole('row', { name: /octo\/shop #1.*Done.*Failed/ }).getByRole('button').click()
  await dialog.getByText('deploy/env.sh:4').waitFor()
  assert.equal((await dialog.innerText()).includes('AKIAQ3ZL7TXWN5VKE2YD'), false)
  await both(page, 'a review')
  await page.keyboard.press('Escape')
  await both(page, 'GitHub')
  await page.getByRole('button', { name: 'Disconnect' }).click()
  await dialog.getByRole('button', { name: 'Disconnect' }).click()
  await page.getByText('Nothing is connected').waitFor()
  await page.at('/api/v1/github/oauth/callback?code=x&installation_id=7&state=unknown')
  await page.getByText('This connection was not begun here').waitFor()
})

journey('a viewer sees no way to connect GitHub', async (page) => {
  await page.at('/settings/github')
  await signIn(page, 'bob@example.com')
  await page.getByText('Nothing is connected').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Connect' }).count(), 0)
})

journey('projects at GitLab are connected by a token, set up, reviewed and disconnected', async (page) => {
  const dialog = page.getByRole('dialog')
  await page.at('/settings/gitlab')
  await signIn(page)
  await page.getByText('Nothing is connected').waitFor()
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await dialog.getByLabel('Address of the GitLab').fill(lab.url)
  await dialog.getByLabel('Access token').fill('glpat-wrong')
  await dialog.getByLabel(/^Projects/).fill('acme/shop')
  await both(page, 'connecting a GitLab')
  await dialog.getByRole('button', { name: 'Connect' }).click()
  await dialog.getByText(/GitLab answered 401/).waitFor()
  page.problems.splice(0) // the refusal, in the browser's log
  await dialog.getByLabel('Access token').fill('glpat-journey')
  await dialog.getByRole('button', { name: 'Connect' }).click()
  await dialog.getByText('The secret is shown once.').waitFor()
  const [hook, secret] = await dialog.locator('code').allInnerTexts()
  await both(page, 'the webhook of a GitLab')
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await page.getByText('bot"><img src=x').waitFor() // it is text

  await page.getByRole('button', { name: 'Options of acme/shop' }).click()
  await dialog.getByLabel('Check fails from').selectOption('high')
  await dialog.getByLabel('What the model must heed', { exact: true }).fill('Mind tenants.')
  await dialog.getByRole('button', { name: 'Add files' }).click()
  await page.keyboard.type('deploy/**') // the new field has the focus
  await dialog.getByLabel('What the model must heed there').fill('No secrets in scripts.')
  await dialog.getByRole('button', { name: 'Add files' }).click()
  await dialog.getByRole('button', { name: 'Remove files 2' }).click()
  await both(page, 'instructions for paths')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('row', { name: /acme\/shop.*High.*3 set here/ }).waitFor()
  const project = (await server.api('GET', '/api/v1/gitlab/projects')).projects.find((x) => x.effective_config.path_instructions.value.length > 0)
  assert.deepEqual(project.effective_config.path_instructions.value, [{ path: 'deploy/**', instructions: 'No secrets in scripts.' }])

  await page.getByRole('button', { name: 'Defaults of the team' }).click()
  await dialog.getByLabel('Tone').selectOption('concise')
  await both(page, 'defaults of reviews')
  let answer // the list is read again after the options were opened
  const opened = new Promise((done) => { answer = done })
  await page.route('**/api/v1/gitlab/projects', async (route) => { await opened; await route.continue() })
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Options of acme/shop' }).click()
  await dialog.getByLabel('Tone').waitFor()
  answer()
  await dialog.getByText('The team’s', { exact: true }).waitFor()
  assert.equal(await dialog.getByLabel('Tone').inputValue(), 'concise')
  await page.unroute('**/api/v1/gitlab/projects')
  await page.keyboard.press('Escape')

  await lab.opened(new URL(hook).pathname, secret)
  await reviewed(server, 'gitlab')
  await page.reload()
  await page.getByRole('row', { name: /acme\/shop #1.*Done.*Failed/ }).getByRole('button').click()
  await dialog.getByText('deploy/env.sh:4').waitFor()
  assert.equal((await dialog.innerText()).includes('AKIAQ3ZL7TXWN5VKE2YD'), false)
  await page.keyboard.press('Escape')

  await page.getByRole('button', { name: 'Change' }).click()
  await dialog.locator('textarea:enabled').waitFor() // the projects are read first
  assert.equal(await dialog.getByLabel(/^Projects/).inputValue(), 'acme/shop')
  await dialog.getByLabel('Make another secret').check()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('The secret is shown once.').waitFor()
  assert.notEqual((await dialog.locator('code').allInnerTexts())[1], secret)
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await both(page, 'GitLab')
  await page.getByRole('button', { name: 'Disconnect' }).click()
  await dialog.getByRole('button', { name: 'Disconnect' }).click()
  await page.getByText('Nothing is connected').waitFor()
})

journey('a workspace of Slack is connected, disconnected, claimed; a team has an app of its own', async (page) => {
  const dialog = page.getByRole('dialog')
  const disconnect = async () => {
    await page.getByRole('button', { name: 'Disconnect', exact: true }).click()
    await dialog.getByText('Tasks that run go on here.').waitFor()
    await dialog.getByRole('button', { name: 'Disconnect' }).click()
    await page.getByText('Disconnected', { exact: true }).waitFor()
  }
  await page.at('/settings/slack')
  await signIn(page)
  await page.getByText('Not connected', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await dialog.getByRole('link', { name: /^Go to 127/ }).click()
  await page.getByText('It is connected.').waitFor()
  page.problems.splice(0) // the person left the console, as it said
  await page.getByText('Connected', { exact: true }).waitFor()
  await page.getByText('Blue "><img src=x').waitFor() // it is text
  await page.getByText(`${server.base}/hooks/slack`, { exact: true }).waitFor()
  await both(page, 'Slack')
  await disconnect()

  // From Slack's own page of the app, by somebody who is not signed in yet.
  await page.context().clearCookies()
  await page.at('/api/v1/slack/oauth/callback?code=the-code')
  await signIn(page, 'ada@example.com', true)
  await page.getByText('A workspace waits for a team.').waitFor()
  assert.equal(new URL(page.url()).hash, '') // the token stays in no address
  await both(page, 'a workspace that waits')
  await page.getByRole('button', { name: 'Claim' }).click()
  await page.getByText('Connected', { exact: true }).waitFor()
  await disconnect()
  await page.getByLabel('Setup token').fill('another')
  await page.getByRole('button', { name: 'Claim' }).click()
  await page.getByText('No workspace waits to be claimed').waitFor()

  await page.getByLabel('Bot token').fill('xoxp-of-a-person')
  await page.getByLabel('Signing secret').fill('own-signing-secret-0123')
  await page.getByRole('button', { name: 'Connect this app' }).click()
  await page.getByText('bot_token must be').waitFor()
  await page.getByLabel('Bot token').fill(token)
  await page.getByRole('button', { name: 'Connect this app' }).click()
  await page.getByText(/\/hooks\/slack\/[0-9a-f-]{36}$/).waitFor()
  for (const name of ['Bot token', 'Signing secret']) {
    const field = page.getByLabel(name)
    assert.deepEqual([await field.inputValue(), await field.getAttribute('type')], ['', 'password'])
  }
  await page.at('/api/v1/slack/oauth/callback?code=x&state=unknown')
  await page.getByText('This connection was not begun here').waitFor()
})

journey('a viewer sees no way to connect Slack', async (page) => {
  await page.at('/settings/slack')
  await signIn(page, 'bob@example.com')
  await page.getByText('Blue "><img src=x').waitFor()
  for (const role of ['textbox', 'button']) assert.equal(await page.getByRole('main').getByRole(role, { name: /onnect|Claim|oken|ecret/ }).count(), 0)
})

journey('a CVE is found by words and flags, and says what the team has of it', async (page) => {
  const file = join(server.dir, 'nvd.json')
  writeFileSync(file, JSON.stringify({ vulnerabilities: [{ cve: {
    id: 'CVE-2021-44228', published: '2021-12-10T10:15:09.143', lastModified: '2025-02-01T10:00:00.000', references: [{ url: 'https://advisory.example/log4j', source: 'x' }],
    descriptions: [{ lang: 'en', value: `JNDI features in log4j. ${hostile}` }], metrics: { cvssMetricV31: [{ type: 'Primary', cvssData: { vectorString: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H', baseScore: 10, baseSeverity: 'CRITICAL' } }] },
  } }] }))
  server.run(['feeds', 'load', '--nvd', file])
  while (!(await fetch(`${server.base}/v2/vulnerability/CVE-2021-44228`, { headers: { 'X-Api-Key': server.key } })).ok) await new Promise((done) => setTimeout(done, 200))
  await page.at('/templates')
  await signIn(page)
  await page.keyboard.press('g')
  await page.keyboard.press('v')
  await page.getByRole('heading', { name: 'CVEs', level: 1 }).waitFor()
  await page.getByRole('searchbox', { name: /^Words/ }).fill('log4j severity:critical')
  await page.getByRole('button', { name: 'Over a network' }).click()
  await page.getByRole('button', { name: 'Over a network', pressed: true }).waitFor()
  await page.waitForURL(/q=log4j.*is_remote=1|is_remote=1.*q=log4j/)
  await ready(page)
  await both(page, 'CVEs')
  await page.getByRole('row', { name: /CVE-2021-44228.*10/ }).getByRole('link').click()
  await page.getByText('JNDI features in log4j').first().waitFor()
  await page.getByText('https://advisory.example/log4j').waitFor()
  assert.equal(await page.getByRole('link', { name: /advisory/ }).count(), 0) // it is text
  await ready(page)
  await both(page, 'a CVE')
  await page.goBack()
  await page.getByRole('button', { name: 'Over a network', pressed: true }).waitFor()
})

journey('memory, files, reports and signers are set', async (page) => {
  await page.at('/settings/memory')
  await signIn(page)
  await page.getByLabel('What your tasks should know').fill(`Staging is rebuilt every night.\n${hostile}`)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Your tasks know it from now on.').waitFor()
  assert.deepEqual((await server.api('GET', '/api/v1/memory')).data.facts[0], 'Staging is rebuilt every night.')
  await both(page, 'memory')
  await page.getByRole('button', { name: 'Forget all' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Forget all' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Forget all' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Files', exact: true }).click()
  await page.getByLabel('File', { exact: true }).setInputFiles({ name: 'api.yaml', mimeType: 'text/yaml', buffer: Buffer.from('openapi: 3.1.0\n') })
  await page.getByRole('row', { name: /api\.yaml/ }).waitFor()
  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download: api.yaml' }).click()])
  assert.equal(saved.suggestedFilename(), 'api.yaml')
  await both(page, 'files')
  await page.getByRole('button', { name: 'Delete: api.yaml' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No files').waitFor()
  await page.getByRole('link', { name: 'Findings and reports' }).click()
  await page.getByLabel('Who may export evidence').selectOption('nobody')
  await page.getByText('It is saved.').waitFor()
  await dismiss(page)
  await page.getByLabel('Your company').fill(`Acme ${hostile}`)
  await page.getByRole('checkbox', { name: 'Summary' }).check()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('It is saved.').waitFor()
  const [style, policy] = [await server.api('GET', '/v1/team/report'), await server.api('GET', '/v1/team/evidence')]
  assert.deepEqual([style.company, style.sections, policy.unmasked], [`Acme ${hostile}`, ['summary'], 'nobody'])
  await both(page, 'findings and reports')
  await page.getByRole('link', { name: 'Signers' }).click()
  await page.getByLabel('Certificate').fill('none')
  await page.getByRole('button', { name: 'Trust it' }).click()
  await page.getByRole('alert').waitFor() // it is none, and the server says so
  await both(page, 'signers')
})

journey('a rule is made, tried on what is there and applied; a suggestion waits for a person', async (page) => {
  const found = (n) => JSON.stringify({ 'template-id': `old-${n}`, info: { name: `Old page ${n} ${hostile}`, author: ['me'], severity: 'info' }, host: 'old.example', 'matched-at': `http://old.example/${n}`, type: 'http', 'matcher-status': true, timestamp: '2026-01-01T00:00:00Z' })
  await server.api('POST', '/v1/scans/import?format=nuclei&name=Old', [1, 2].map(found).join('\n'))
  await page.at('/triage?tab=rules')
  await signIn(page)
  await page.getByRole('button', { name: 'New rule' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name', { exact: true }).fill(`Old ${hostile}`)
  await dialog.getByRole('checkbox', { name: 'Info' }).check()
  await dialog.getByLabel('Hosts').fill('old.example')
  await dialog.getByLabel('Status').selectOption('accepted_risk')
  await both(page, 'a rule')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('applied to 0 findings').waitFor()
  await page.getByRole('button', { name: 'Try on what is there' }).click()
  await dialog.getByText('Of 2 findings, 2 would change.').waitFor()
  await both(page, 'a trial of a rule')
  await dialog.getByRole('button', { name: 'Apply it' }).click()
  await page.getByText('applied to 2 findings').waitFor()
  await both(page, 'rules')
  await page.getByRole('button', { name: 'Turn off' }).click()
  await page.getByText('off', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Suggestions' }).click()
  await page.getByText('No suggestions').waitFor()
  await page.getByRole('link', { name: 'Rules' }).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No rules').waitFor()
})

journey('a model writes a template, which says who wrote it; an early one is found, read and copied', async (page) => {
  await page.at('/templates/new')
  await signIn(page)
  await page.getByRole('button', { name: 'Have a model write it' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('In words').fill('Find tills that are open')
  await both(page, 'a wish')
  await dialog.getByRole('button', { name: 'Write it' }).click()
  await page.waitForURL(/\/templates\/.+from=team/)
  await page.getByRole('heading', { name: 'Till is open', level: 1 }).waitFor()
  await page.getByText('Find tills that are open').waitFor()
  await page.getByText('Written by').waitFor()
  await both(page, 'a template of a model')
  // What the engine does not take is kept nowhere: it is a draft in the editor, with what is wrong.
  await page.at('/templates/new')
  await page.getByRole('button', { name: 'Have a model write it' }).click()
  await dialog.getByLabel('In words').fill('Write a poem')
  await dialog.getByRole('button', { name: 'Write it' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByText('Roses are red 3.').first().waitFor()
  await page.getByText('The model wrote no template that the engine takes. It is in the editor, not saved:').waitFor()
  assert.equal(new URL(page.url()).pathname, '/templates/new')
  assert.equal((await server.api('GET', '/v1/template')).total, 1)
  await both(page, 'a draft that cannot be run')
  mkdirSync(join(server.dir, 'early'))
  writeFileSync(join(server.dir, 'early', 'anvil.yaml'), template('early-anvil', 'An early anvil'))
  server.run(['templates', 'update', '--early', '--from', join(server.dir, 'early'), '--tag', 'e1'])
  await page.at('/templates')
  await page.getByLabel('Whose').selectOption('Early ones')
  const row = page.getByRole('row', { name: /An early anvil/ })
  await row.getByText('Early', { exact: true }).waitFor()
  await both(page, 'early templates')
  await row.getByRole('link').click()
  await page.getByRole('heading', { name: 'An early anvil', level: 1 }).waitFor()
  await page.getByRole('link', { name: 'Copy to edit' }).click()
  await page.waitForURL(/\/templates\/new\?copy=/)
  await page.getByText('my-early-anvil').waitFor()
})

journey('default members are added and removed, and are back by undo', async (page) => {
  await page.at('/settings/members')
  await signIn(page)
  const card = page.getByRole('region', { name: 'Default members' }).first()
  await card.getByLabel('Email').fill('carol@example.com')
  await card.getByLabel('Role').selectOption('Viewer')
  await card.getByRole('button', { name: 'Add' }).click()
  const row = card.getByRole('row', { name: /carol@example.com Viewer/ })
  await row.waitFor()
  await both(page, 'default members')
  await row.getByRole('button', { name: 'Remove' }).click()
  await row.waitFor({ state: 'detached' })
  assert.deepEqual((await server.api('GET', '/v1/user/team/default-members')).members, [])
  await page.getByRole('button', { name: 'Undo' }).click()
  await row.waitFor()
  assert.deepEqual((await server.api('GET', '/v1/user/team/default-members')).members, [{ email: 'carol@example.com', role: 'VIEWER' }])
})
