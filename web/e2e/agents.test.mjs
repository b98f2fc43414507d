import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { both, browse, journeys, serve, signIn, weakSite } from './kit.mjs'

// What agents bring along, on a server with a language model, whose answers are written down.

let server, browser, site, target
const model = { replies: [
  { turn: 1, system: 'You measure.', calls: [{ name: 'measure', args: '{"what":"page"}' }] },
  { turn: 2, system: 'You measure.', text: 'Measured 7 units.' },
] }

before(async () => {
  [server, browser] = await Promise.all([serve({ model }), browse()]);
  ({ site, target } = await weakSite())
})
after(async () => { await browser?.close(); site?.close(); await server?.close() })

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
