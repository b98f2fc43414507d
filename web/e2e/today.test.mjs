import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { both, browse, ended, journeys, ready, serve, signIn, weakSite } from './kit.mjs'

// What the first screen says of work that does not go on, and what stands around the screens. Its server has a language
// model that asks, and is started once more without workers.

let server, browser, site, target, asker
const model = { replies: [
  { turn: 1, system: 'You ask.', calls: [{ name: 'ask_question', args: JSON.stringify({ question: 'May 500 requests be sent?', options: ['Yes', 'At night'] }) }] },
  { turn: 2, system: 'You ask.', text: 'It is night.' },
] }

before(async () => {
  [server, browser] = await Promise.all([serve({ model }), browse()]);
  ({ site, target } = await weakSite())
  asker = (await server.api('POST', '/api/v1/agents/user', { name: 'Asker', system_context: 'You ask.' })).id
})
after(async () => { await browser?.close(); site?.close(); await server?.close() })

const journey = journeys(() => ({ browser, server }))
const task = async (body, status) => {
  const { id } = await server.api('POST', '/api/v1/tasks', { response_format: 'json', ...body })
  await ended(server, `/api/v1/tasks/${id}`, status)
}

journey('what waits for a person or a worker stands on the first screen, and why', async (page) => {
  await task({ task: `Check the headers of ${target}`, mode: 'plan', model: 'builtin' }, 'suspended')
  await task({ task: `Look at ${target}`, agent_id: asker, ask_question: true }, 'suspended')
  for (let i = 0; i < 9; i++) await task({ task: `Say ${i}`, agent_id: asker, ask_question: true }, 'suspended')
  const listen = new URL(server.base).host
  await server.kill()
  await server.start(listen, { VEDETTE_ROLE: 'server' }) // it works on nothing
  const scan = await server.api('POST', '/v1/scans', { name: 'Nobody does it', targets: [target], recommended: true })
  await page.at('/')
  await signIn(page)
  const stuck = page.getByRole('region', { name: 'Stuck' })
  await stuck.getByText('Needs you').first().waitFor()
  await page.getByRole('link', { name: /^Waiting for you 11 / }).waitFor() // all of them, not the latest alone
  assert.equal(await stuck.getByText('Nobody does it').count(), 0) // it has only come
  await page.clock.install({ time: Date.now() + 10 * 60_000 })
  await page.reload()
  await stuck.getByRole('link', { name: 'Nobody does it' }).waitFor()
  await stuck.getByText('No worker has taken it yet.').waitFor()
  await both(page, 'what is stuck')
  await stuck.getByRole('link', { name: 'What works and what waits' }).click()
  const row = page.getByRole('row', { name: /^Scans/ })
  await row.getByText('10 min. ago').waitFor()
  await page.getByRole('row', { name: /^Tasks 0 0 – 11$/ }).waitFor()
  await both(page, 'workers')
  await row.getByRole('link', { name: '1' }).click()
  await page.waitForURL(server.base + '/scans?status=queued')
  await page.getByRole('row', { name: /Nobody does it/ }).waitFor()
  await server.kill()
  await server.start(listen)
  await ended(server, `/v1/scans/${scan.id}`, 'finished')
  await page.at('/')
  await page.getByRole('link', { name: /^Waiting for you 11 / }).click()
  await page.waitForURL(server.base + '/tasks?status=suspended')
  await page.getByRole('link', { name: `Look at ${target}` }).click()
  await page.getByText('May 500 requests be sent?').waitFor()
  await page.getByRole('button', { name: 'At night' }).click()
  await page.getByText('It is night.').first().waitFor()
})

journey('credits are granted and stand there; the statement of a month is a file', async (page) => {
  await server.api('POST', '/api/v1/operator/credits', { team: 'Red team', credits: 120.5, note: 'order 17' })
  await page.at('/settings/credits')
  await signIn(page)
  await page.getByRole('row', { name: /120\.5 0 .*order 17/ }).waitFor()
  await ready(page)
  await both(page, 'credits')
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()])
  assert.match(file.suggestedFilename(), /^credits-2[-\d]+\.csv$/)
  const months = await page.getByLabel('Month').locator('option').allInnerTexts()
  await page.getByLabel('Month').selectOption(months.at(-1))
  await page.getByText('Nothing was used in this month').waitFor()
  await page.reload()
  await page.getByText('Nothing was used in this month').waitFor()
})

journey('the counts beside the filters come after the rows, which do not wait for them', async (page) => {
  const event = (n) => JSON.stringify({ 'template-id': `late-${n}`, info: { name: `Late ${n}`, severity: n % 2 ? 'high' : 'low' }, type: 'http', host: 'late.example', 'matched-at': `https://late.example/${n}` })
  await server.api('POST', '/v1/scans/import?name=Late', [1, 2, 3].map(event).join('\n'))
  let answer
  const held = new Promise((resolve) => { answer = resolve })
  const asked = []
  await page.route(/\/v1\/scans\/results(\/counts)?\?/, async (route) => {
    const { pathname, searchParams } = new URL(route.request().url())
    asked.push(pathname.endsWith('counts') ? 'counts' : searchParams.has('without_total') ? 'rows' : 'total')
    if (pathname.endsWith('counts')) await held
    await route.continue()
  })
  await page.at('/findings?q=late.example')
  await signIn(page)
  await page.getByRole('row').nth(3).waitFor()
  const facet = page.getByRole('group', { name: 'Severity' }).locator('label').filter({ hasText: 'High' })
  const counts = page.waitForResponse(/results\/counts/)
  assert.equal((await facet.innerText()).replace(/\s+/g, ' '), 'H High')
  answer()
  await counts
  await facet.getByText('2', { exact: true }).waitFor()
  assert.ok(asked.indexOf('counts') > asked.indexOf('rows'), asked.join())
  await page.getByRole('checkbox', { name: /High/ }).check()
  await page.getByRole('row').nth(3).waitFor({ state: 'detached' })
  assert.equal(await page.getByRole('row').count(), 3) // their head, and two
})

journey('an operation of the API is found, with a request to this server; the page of all leads back', async (page) => {
  await page.at('/')
  await signIn(page)
  await page.keyboard.press('g'); await page.keyboard.press('d')
  await page.getByRole('heading', { level: 1, name: 'API reference' }).waitFor()
  await page.getByRole('searchbox', { name: 'Path or words' }).fill('post mcp servers')
  await page.getByRole('link', { name: /Connect an MCP server|POST .*MCP/ }).first().click()
  await page.waitForURL(/op=/)
  const command = await page.locator('pre[aria-label=Example]').innerText()
  assert.ok(command.startsWith(`curl -X POST '${server.base}/api/v1/mcp/servers`), command)
  assert.ok(!/NaN|undefined/.test(command), command)
  await page.getByRole('region', { name: 'Body' }).first().getByText('required', { exact: true }).first().waitFor()
  await both(page, 'an operation')
  await page.reload()
  assert.equal(await page.locator('pre[aria-label=Example]').innerText(), command)
  await page.getByRole('link', { name: 'Platform' }).click()
  await page.getByRole('searchbox', { name: 'Path or words' }).fill('get /v1/export/list')
  await page.getByRole('link', { name: /^GET / }).first().click()
  const plain = await page.locator('pre[aria-label=Example]').innerText()
  assert.ok(plain.includes('X-Api-Key: $VEDETTE_API_KEY'), plain)
  assert.equal((await fetch(/'(http[^']+)'/.exec(plain)[1], { headers: { 'X-Api-Key': server.key } })).status, 200)
  await page.getByRole('link', { name: 'All on one page' }).click()
  await page.getByRole('link', { name: 'Console' }).click()
  await page.waitForURL(server.base + '/')
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
})
