import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before } from 'node:test'
import { both, browse, dismiss, ended, journeys, password, ready, serve, signIn, weakSite } from './kit.mjs'

// The inventory: groups, labels, policies, differences, associated domains; and screens that a phone or a guest sees.

let server, browser, site, sources, tracker, target, enumeration
const filed = [] // in the tracker
const open = { state: 'open', state_reason: null, updated_at: '2026-01-01T00:00:00Z' }
let issue = open // as somebody there left it

before(async () => {
  // Certificates, as crt.sh tells of them; one of them has markup in its name.
  sources = createServer((_, r) => r.end(JSON.stringify([{ issuer_ca_id: 1, issuer_name: 'C=US, O=Example CA, CN=R1', common_name: 'acme.com <b>x</b>', name_value: 'acme.com\nwww.acme-shop.com', id: 1, entry_timestamp: '2026-01-01T00:00:00.1', not_before: '2026-01-01T00:00:00', not_after: '2026-04-01T00:00:00', serial_number: '0a1b', result_count: 2 }])))
  await new Promise((done) => sources.listen(0, '127.0.0.1', done))
  // A GitHub that files what it is told to.
  tracker = createServer((q, r) => {
    let text = ''
    q.on('data', (part) => { text += part })
    q.on('end', () => {
      if (q.method === 'POST' && q.url.endsWith('/issues')) filed.push(JSON.parse(text))
      if (q.method === 'PATCH') issue = { ...issue, ...JSON.parse(text), updated_at: '2026-01-03T00:00:00Z' }
      const now = { id: 700, number: 7, ...issue, html_url: `http://127.0.0.1:${tracker.address().port}/acme/shop/issues/7`, title: filed.at(-1)?.title }
      r.writeHead(q.method === 'POST' ? 201 : 200, { 'Content-Type': 'application/json' }).end(JSON.stringify(q.url.startsWith('/search') ? { total_count: 0, items: [] } : q.url.includes('/issues?') ? [] : now))
    })
  })
  await new Promise((done) => tracker.listen(0, '127.0.0.1', done))
  const off = ['certspotter', 'rdap', 'rdap-bootstrap', 'whois', 'wikidata', 'crunchbase', 'asn'].map((x) => `${x}=off`)
  const settings = { VEDETTE_SOURCE_URLS: [`crtsh=http://127.0.0.1:${sources.address().port}/`, 'dns=127.0.0.1:9', ...off].join(','), VEDETTE_WEBHOOK_ALLOW: '127.0.0.0/8' };
  [server, browser] = await Promise.all([serve({ settings }), browse()]);
  ({ site, target } = await weakSite())
  enumeration = (await server.api('POST', '/v1/asset/enumerate', { name: 'The shop', enrichment_inputs: [`${target}/`] })).id
  await ended(server, `/v1/asset/enumerate/${enumeration}`, 'finished')
})
after(async () => { await browser?.close(); site?.close(); sources?.close(); tracker?.close(); await server?.close() })

const journey = journeys(() => ({ browser, server }))
const dialog = (page) => page.getByRole('dialog')

journey('assets are filtered by a condition, labelled, made a group, and are a file', async (page) => {
  await page.at('/assets')
  await signIn(page)
  await page.getByLabel('Condition').fill('port > 70000')
  await page.getByText('No assets match').waitFor()
  await page.getByLabel('Condition').fill('port >')
  await page.getByRole('alert').waitFor() // the server says what is wrong with it
  await page.getByLabel('Condition').fill('status_code = 200')
  await page.getByRole('row').nth(1).waitFor()
  await page.getByRole('button', { name: 'Label what is shown' }).click()
  await page.keyboard.type('shop, <b>bold</b>')
  await dialog(page).getByRole('button', { name: /^Change 1 asset/ }).click()
  await page.getByText('1 asset is changed.').waitFor()
  await page.getByRole('row', { name: /<b>bold<\/b>/ }).waitFor() // text stays text
  await page.getByRole('button', { name: 'Save as a group' }).click()
  await page.keyboard.type('Pages that answer')
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await page.waitForURL(/\/enumerations\/[0-9a-f-]{36}$/)
  await page.getByRole('heading', { name: 'Pages that answer', level: 1 }).waitFor()
  await page.getByRole('table').getByRole('link').first().waitFor()
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV file' }).click()])
  assert.match(file.suggestedFilename(), /\.csv$/)
  await both(page, 'a group')
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('Its assets stay.').waitFor()
  await dialog(page).getByRole('button', { name: 'Delete' }).click()
  await page.waitForURL(/\/enumerations$/)
  assert.ok((await server.api('GET', '/v1/asset/enumerate/contents')).total_results > 0)
  await page.at('/assets?label=shop')
  await page.getByRole('table').getByRole('link').first().click()
  await page.getByRole('button', { name: 'Remove the label shop' }).click()
  await page.getByRole('button', { name: 'Remove the label shop' }).waitFor({ state: 'detached' })
  await page.getByLabel('Add a label').fill('till')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Remove the label till' }).waitFor()
  await both(page, 'labels')
  assert.deepEqual((await server.api('GET', '/v1/asset/enumerate/contents?labels=till')).data[0].labels.sort(), ['<b>bold</b>', 'till'])
})

journey('a policy labels what matches, says when it acted, and is deleted', async (page) => {
  await page.at('/assets')
  await signIn(page)
  await page.getByRole('link', { name: 'Policies' }).click()
  await page.getByText('No policies', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'New policy' }).click()
  await page.getByLabel('Name').fill('Web pages')
  await page.getByLabel('These labels').fill('web')
  await page.getByLabel('Meets the condition').fill('status_code ==== 200')
  await dialog(page).getByLabel('Do it now').check()
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await dialog(page).getByRole('alert').waitFor()
  await page.getByLabel('Meets the condition').fill('status_code = 200')
  await both(page, 'a policy')
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  const row = page.getByRole('row', { name: /Web pages/ })
  await row.getByText('custom_filter = status_code = 200').waitFor()
  for (;;) { // it acts in the background
    if ((await server.api('GET', '/v1/asset/enumerate/contents?labels=web')).total_results === 1) break
    await new Promise((done) => setTimeout(done, 150))
  }
  await row.getByRole('button', { name: 'Log' }).click()
  await dialog(page).getByText('Done', { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await ready(page)
  await both(page, 'policies')
  await row.getByRole('button', { name: 'Edit' }).click()
  assert.equal(await page.getByLabel('Meets the condition').inputValue(), 'status_code = 200')
  await page.getByLabel('Name').fill('Pages')
  await page.getByLabel('These labels').fill('web, page')
  await page.getByLabel('Meets the condition').fill('status_code ==== 200')
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await dialog(page).getByRole('alert').waitFor() // nothing is changed, and nothing that was typed is lost
  await page.getByLabel('Meets the condition').fill('status_code = 404')
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await page.getByText('Pages is changed.').waitFor()
  const [kept] = (await server.api('GET', '/v1/asset/policy')).policies
  assert.deepEqual([kept.name, kept.labels, kept.policies.custom_filter], ['Pages', ['web', 'page'], 'status_code = 404'])
  const now = page.getByRole('row', { name: /Pages/ })
  await now.getByRole('button', { name: 'Delete' }).click()
  await dialog(page).getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No policies', { exact: true }).waitFor()
})

journey('what came between two days is told, and the address keeps the days', async (page) => {
  await page.at(`/enumerations/${enumeration}`)
  await signIn(page)
  await page.getByRole('link', { name: 'Difference' }).click()
  await page.getByText(/^Assets: \d+ more, 0 fewer/).waitFor()
  await page.getByRole('row', { name: /\+ added Assets 127\.0\.0\.1/ }).first().waitFor()
  await both(page, 'difference')
  await page.getByLabel('From').fill('2020-01-01')
  await page.getByLabel('To').fill('2020-01-02')
  await page.getByText('Nothing differs').waitFor()
  await page.reload()
  assert.equal(await page.getByLabel('To').inputValue(), '2020-01-02')
  await page.getByText('Nothing differs').waitFor()
  await page.goBack()
  await page.getByText(/^Assets: \d+ more/).waitFor()
})

journey('domains of the same owner are found, with what says so, and lead to an enumeration', async (page) => {
  await page.at('/assets')
  await signIn(page)
  await page.getByRole('link', { name: 'Associated domains' }).click()
  await page.getByLabel('Domain').fill('acme.com')
  await page.keyboard.press('Enter')
  await page.waitForURL(/domain=acme\.com/)
  const row = page.getByRole('row', { name: /acme-shop\.com/ })
  await row.getByText('Certificates', { exact: true }).waitFor({ timeout: 60_000 })
  await page.getByRole('row', { name: /^whois skipped/ }).first().waitFor()
  await both(page, 'associated domains')
  await row.getByRole('link', { name: 'Enumerate' }).click()
  assert.equal(await dialog(page).getByLabel('Domains').inputValue(), 'acme-shop.com')
})

journey('severities are set from the list by keyboard, for what is chosen', async (page) => {
  const scan = await server.api('POST', '/v1/scans', { name: 'Shop', targets: [target], recommended: true })
  await ended(server, `/v1/scans/${scan.id}`, 'finished')
  await page.at('/findings?severity=high,medium,low')
  await signIn(page)
  await page.getByRole('row').nth(2).waitFor()
  await page.keyboard.press('x'); await page.keyboard.press('j'); await page.keyboard.press('x'); await page.keyboard.press('v')
  await dialog(page).getByText('2 findings', { exact: false }).first().waitFor()
  await dialog(page).getByLabel('Severity', { exact: true }).selectOption('critical')
  await dialog(page).getByLabel('Reason').fill('Shop till')
  await both(page, 'severities')
  await dialog(page).getByRole('button', { name: 'Set severity' }).click()
  await page.getByText('The severity of 2 findings is set.').waitFor()
  assert.equal((await server.api('GET', '/v1/scans/config/severity')).custom_severity_mappings.filter((m) => m.vuln_id && m.custom_severity === 'critical').length, 2)
})

journey('all that match, on all pages, are decided about in one step, which is taken back', async (page) => {
  const many = Array.from({ length: 130 }, (_, i) => JSON.stringify({ 'template-id': `many-${i}`, info: { name: `Many ${i}`, severity: 'low' }, type: 'http', host: `h${i}.many.example` })).join('\n')
  await server.api('POST', '/v1/scans/import?format=nuclei&name=Many', many)
  const left = async (status) => (await server.api('GET', `/v1/scans/results?domain=many.example&vuln_status=${status}`)).total_results
  await page.at('/findings?domain=many.example&severity=low')
  await signIn(page)
  await page.getByText('130 findings match').waitFor()
  await page.getByRole('row').nth(100).waitFor()
  await page.keyboard.press('X')
  await page.getByText('100 findings are chosen').waitFor()
  await page.getByRole('button', { name: 'Choose all 130 that match' }).click()
  await page.getByText('All 130 findings that match are chosen').waitFor()
  await page.keyboard.press('s')
  await dialog(page).getByText('This is about all 130 findings that match').waitFor()
  await dialog(page).getByText('Open · Low · Domain: many.example').waitFor()
  await both(page, 'a decision about all')
  await page.getByRole('radio', { name: 'Triaged' }).check()
  await dialog(page).getByRole('button', { name: 'Set status' }).click()
  await page.getByText('130 sightings are now: triaged').waitFor()
  assert.deepEqual([await left('open'), await left('triaged')], [0, 130])
  await page.keyboard.press('z')
  await page.getByText('130 findings are as before').waitFor()
  assert.deepEqual([await left('open'), await left('triaged')], [130, 0])
  await dismiss(page)
  const all = async () => {
    await page.getByRole('row').nth(100).waitFor()
    await page.keyboard.press('X')
    await page.getByRole('button', { name: 'Choose all 130 that match' }).click()
  }
  const with_ = async (what) => (await server.api('GET', `/v1/scans/results?domain=many.example&${what}`)).total_results
  await all()
  await page.keyboard.press('l')
  await dialog(page).getByText('This is about all 130 findings that match').waitFor()
  await dialog(page).getByLabel('Labels').fill('shop')
  await dialog(page).getByRole('button', { name: 'Label', exact: true }).click()
  await page.getByText('130 sightings are labelled shop').waitFor()
  assert.equal(await with_('labels=shop'), 130)
  await page.keyboard.press('z')
  await page.getByText('130 findings are as before').waitFor()
  assert.equal(await with_('labels=shop'), 0)
  await all()
  await page.keyboard.press('v')
  await dialog(page).getByText('This is about all 130 findings that match').waitFor()
  await dialog(page).getByLabel('Severity', { exact: true }).selectOption('high')
  await both(page, 'a severity of all')
  await dialog(page).getByRole('button', { name: 'Set severity' }).click()
  await page.getByText('The severity of 130 sightings is set.').waitFor()
  assert.deepEqual([await with_('severity=low'), await with_('severity=high')], [0, 130])
  await page.getByText('130 findings match').waitFor({ state: 'hidden' }) // none of them is low
  await page.keyboard.press('z')
  await page.getByText('130 findings match').waitFor()
  assert.equal(await with_('severity=low'), 130)
})

/** Findings of a report, by its name. */
async function imported(name, ...ids) {
  const event = (id) => JSON.stringify({ 'template-id': id, host: `${name}.example`, 'matched-at': `https://${name}.example/${id}`, type: 'http', info: { name: `Weakness ${id}`, severity: 'high' } })
  const scan = (await server.api('POST', `/v1/scans/import?name=${name}`, ids.map(event).join('\n'))).id
  const rows = (await server.api('GET', `/v1/scans/results?scan_ids=${scan}&sort_asc=template_id`)).data
  assert.equal(rows.length, ids.length)
  return rows.map((r) => r.vuln_id)
}

journey('findings are made one and are apart again; one is split off, and is back', async (page) => {
  const [a] = await imported('pair', 'pair-a', 'pair-b')
  await page.at('/findings?q=pair.example')
  await signIn(page)
  await page.getByRole('row').nth(2).waitFor()
  await page.keyboard.press('X')
  await page.keyboard.press('m')
  await dialog(page).getByRole('radio', { name: /Weakness pair-a/ }).check()
  await both(page, 'joining')
  await dialog(page).getByRole('button', { name: 'Join' }).click()
  await page.getByText('2 findings are one now').waitFor()
  await page.getByRole('row').nth(2).waitFor({ state: 'detached' })
  await page.getByRole('row', { name: /Weakness pair-a/ }).waitFor() // the one that was chosen to stay
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('row').nth(2).waitFor()
  await page.getByText(/as before/).waitFor()
  await page.keyboard.press('X')
  await page.getByRole('button', { name: 'Join', exact: true }).click()
  await dialog(page).getByRole('radio', { name: /Weakness pair-a/ }).check()
  await dialog(page).getByRole('button', { name: 'Join' }).click()
  await page.getByRole('row').nth(2).waitFor({ state: 'detached' })
  await page.at(`/findings/${a}?tab=places`)
  const sightings = page.getByRole('main').getByRole('listitem')
  await sightings.nth(1).waitFor()
  await both(page, 'sightings')
  await page.getByRole('button', { name: 'Split off https://pair.example/pair-b' }).click()
  await dialog(page).getByRole('button', { name: 'Split off' }).click()
  await page.getByText('a finding of its own now').waitFor()
  await sightings.nth(1).waitFor({ state: 'detached' })
  assert.equal(await page.getByRole('button', { name: /^Split off/ }).count(), 0) // what is alone cannot be split
  await page.getByRole('button', { name: 'Undo' }).click()
  await sightings.nth(1).waitFor()
})

journey('a ticket is filed by hand and unlinked; one that is there is linked, and its way back links it again', async (page) => {
  const [id] = await imported('desk', 'desk-a')
  const config = `github: {owner: acme, project-name: shop, token: t, base-url: "http://127.0.0.1:${tracker.address().port}"}`
  await page.at(`/findings/${id}`)
  await signIn(page)
  const card = page.getByRole('region', { name: 'Tickets' })
  await card.getByText('No issue of a tracker').waitFor()
  await card.getByRole('button', { name: 'File a ticket' }).click()
  await dialog(page).getByRole('link', { name: 'Trackers' }).waitFor() // none is set up
  await page.keyboard.press('Escape')
  await server.api('POST', '/v1/scans/config', { name: 'Issues of the shop', config_type: 'reporting', config })
  await page.reload()
  await card.getByRole('button', { name: 'File a ticket' }).click()
  await dialog(page).getByLabel('Tracker', { exact: true }).waitFor()
  await both(page, 'filing a ticket')
  await dialog(page).getByRole('button', { name: 'File a ticket' }).click()
  await page.getByText('The finding is filed as').waitFor()
  assert.equal(filed.length, 1)
  assert.match(filed[0].title, /Weakness desk-a/)
  const issue = card.getByRole('link', { name: /7/ })
  assert.match(await issue.getAttribute('href'), /\/acme\/shop\/issues\/7$/)
  await both(page, 'a filed ticket')
  await card.getByRole('button', { name: /^Unlink/ }).click()
  await dialog(page).getByRole('button', { name: 'Unlink' }).click()
  await issue.waitFor({ state: 'detached' })
  await card.getByRole('button', { name: 'File a ticket' }).click()
  await dialog(page).getByRole('radio', { name: 'An issue that is there already' }).check()
  await dialog(page).getByLabel('Issue', { exact: true }).fill('SEC-7')
  await dialog(page).getByLabel('Address').fill('https://issues.example/SEC-7')
  await dialog(page).getByRole('button', { name: 'Link', exact: true }).click()
  await card.getByRole('link', { name: /^SEC-7/ }).waitFor()
  const undo = (said) => page.getByRole('status').locator('div', { hasText: said }).last().getByRole('button', { name: 'Undo' }).click()
  await undo('SEC-7 is linked')
  await page.getByText('SEC-7 is no longer linked').waitFor()
  await card.getByRole('link', { name: /^SEC-7/ }).waitFor({ state: 'detached' })
  await undo('SEC-7 is no longer linked')
  await card.getByRole('link', { name: /^SEC-7/ }).waitFor()
})

journey('an issue was closed there and its finding fixed here: a person says which side holds', async (page) => {
  const [id] = await imported('clash', 'clash-a')
  const config = `github: {owner: acme, project-name: shop, token: t, base-url: "http://127.0.0.1:${tracker.address().port}"}`
  const made = (await server.api('POST', '/v1/scans/config', { name: 'Issues of clashes', config_type: 'reporting', config })).id
  issue = open
  await server.api('POST', `/v1/scans/vulns/${id}/ticket?reporting_config_id=${made}`, {})
  issue = { state: 'closed', state_reason: 'not_planned', updated_at: '2026-01-02T00:00:00Z' }
  await server.api('PATCH', '/v1/scans/vulns', { vuln_ids: [id], vuln_status: 'fixed' })
  while ((await server.api('GET', '/v1/scans/vulns/tickets?state=conflict')).total_results === 0) await new Promise((done) => setTimeout(done, 100))
  await page.at(`/findings/${id}`)
  await signIn(page)
  const card = page.getByRole('region', { name: 'Tickets' })
  await card.getByRole('button', { name: 'Settle' }).click()
  await both(page, 'a conflict')
  await dialog(page).getByRole('radio').nth(1).check() // theirs
  await dialog(page).getByLabel('Status').selectOption('false_positive')
  await dialog(page).getByRole('button', { name: 'Settle' }).click()
  await dialog(page).waitFor({ state: 'detached' })
  await card.getByRole('button', { name: 'Settle' }).waitFor({ state: 'detached' })
  await page.getByText('False positive', { exact: true }).first().waitFor()
  assert.equal((await server.api('GET', `/v1/scans/vuln/${id}`)).vuln_status, 'false_positive')
  assert.equal((await server.api('GET', '/v1/scans/vulns/tickets?state=conflict')).total_results, 0)
})

journey('on a phone, the chosen finding is a sheet over the list', async (page) => {
  await page.at('/findings?status=any')
  await signIn(page)
  await page.setViewportSize({ width: 390, height: 844 })
  const list = await page.getByRole('region', { name: 'Findings' }).first().evaluate((x) => [x.scrollWidth, x.clientWidth])
  assert.ok(list[0] <= list[1], `the list is ${list.join(' of ')} wide`) // its rows are cards
  const row = page.getByRole('row').nth(1)
  await row.getByRole('cell').last().click()
  const sheet = page.getByRole('complementary', { name: 'The chosen finding' })
  await sheet.getByText('As a command').waitFor()
  const box = await sheet.boundingBox()
  assert.ok(box.x === 0 && box.width === 390 && box.y > 60 && Math.abs(box.y + box.height - 844) < 2, JSON.stringify(box))
  assert.ok(await sheet.evaluate((e) => e === document.activeElement || e.contains(document.activeElement)))
  await both(page, 'the sheet')
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'detached' })
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 390)
})

journey('a guest is led to all screens that a guest may read, and to no other', async (page) => {
  server.run(['user', 'create', '--email', 'gus@example.com', '--team', 'Red team', '--password-stdin'], password)
  server.run(['user', 'role', '--email', 'gus@example.com', '--team', 'Red team', '--role', 'guest'])
  await page.at('/')
  await signIn(page, 'gus@example.com')
  const menu = page.getByRole('navigation', { name: 'Main' })
  for (const name of ['Assets', 'Templates', 'Knowledge', 'Network', 'Findings', 'Reports']) {
    await menu.getByRole('link', { name, exact: true }).click()
    await page.getByRole('heading', { name: /./, level: 1 }).waitFor()
    await ready(page)
    assert.equal(await page.getByRole('alert').count(), 0, name)
  }
  assert.equal(await menu.getByRole('link', { name: 'Workers' }).count(), 0)
})
