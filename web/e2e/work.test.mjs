import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { both, browse, journeys, ready, serve, signIn, weakSite } from './kit.mjs'

// What a team does with findings: decide, assign, talk, undo, prove, work off. On SQLite, and once more on PostgreSQL.

let browser, site, target
const servers = {}

before(async () => {
  [servers.sqlite, servers.postgres, browser] = await Promise.all([serve(), serve({ onPostgres: true }), browse()]);
  ({ site, target } = await weakSite())
  for (const s of [servers.sqlite, servers.postgres].filter(Boolean)) {
    s.run(['user', 'role', '--email', 'bob@example.com', '--team', 'Red team', '--role', 'member'])
    const scan = await s.api('POST', '/v1/scans', { name: 'Weekly', targets: [target], recommended: true })
    s.scan = scan.id
    for (;;) {
      const state = await s.api('GET', `/v1/scans/${scan.id}`)
      if (state.status === 'finished') break
      assert.ok(!['failed', 'stopped'].includes(state.status), JSON.stringify(state))
      await new Promise((done) => setTimeout(done, 150))
    }
    s.found = (await s.api('GET', '/v1/scans/results?severity=critical,high,medium,low&sort_desc=severity')).data
    assert.ok(s.found.length >= 2, `${s.found.length} findings`)
  }
})
after(async () => { await browser?.close(); site?.close(); for (const s of Object.values(servers)) await s?.close() })

for (const name of ['sqlite', 'postgres']) {
  const journey = journeys(() => ({ browser, server: servers[name] }))
  const on = () => servers[name]

  journey(`${name}: a risk is accepted with a reason and an end, which the history shows and takes back`, async (page) => {
    const id = on().found[0].vuln_id
    await page.at(`/findings/${id}`)
    await signIn(page)
    await page.getByRole('button', { name: 'Set status' }).click()
    await page.getByRole('radio', { name: 'Accepted risk' }).check()
    await page.getByLabel('The risk is accepted').selectOption({ label: 'in 30 days' })
    await page.getByLabel('Reason').fill('Only our own network reaches it.')
    await page.getByRole('dialog').getByRole('button', { name: 'Set status' }).click()
    await page.getByText('1 finding is now: accepted risk').waitFor()
    const line = await on().api('GET', `/v1/scans/vuln/${id}/timeline`)
    const last = line.events.at(-1)
    assert.equal(last.reason, 'Only our own network reaches it.')
    const days = (new Date(last.until) - Date.now()) / 86_400_000
    assert.ok(days > 29.9 && days < 30.1, last.until)
    await page.getByRole('link', { name: 'History and comments' }).click()
    await page.getByText('Only our own network reaches it.').waitFor()
    await page.getByText(/^until /).waitFor()
    await page.getByRole('button', { name: 'Undo: status' }).first().click()
    await page.getByText('1 finding is as before').waitFor()
    await page.getByText('undone', { exact: true }).first().waitFor()
    assert.equal((await on().api('GET', `/v1/scans/vuln/${id}`)).vuln_status, 'open')
    await both(page, 'history')
  })

  journey(`${name}: findings are given to a member, who is told; a comment names them; a bulk change is undone`, async (page) => {
    await page.at('/findings')
    await signIn(page)
    await page.getByRole('row').nth(2).waitFor()
    await page.keyboard.press('X')
    await page.keyboard.press('a')
    await page.getByRole('dialog').getByLabel('Assigned to').selectOption('bob@example.com')
    await page.getByRole('dialog').getByRole('button', { name: 'Assign' }).click()
    await page.getByText(/findings are now assigned to bob@example.com/).waitFor()
    await page.getByRole('cell').getByText('bob@example.com').first().waitFor()
    await page.keyboard.press('X')
    await page.keyboard.press('s')
    await page.getByRole('radio', { name: 'Duplicate' }).check()
    await page.getByRole('dialog').getByRole('button', { name: 'Set status' }).click()
    await page.getByText(/findings are now: duplicate/).waitFor()
    await page.getByRole('button', { name: /^Undo/ }).last().waitFor()
    await page.keyboard.press('z')
    await page.getByText(/findings are as before/).waitFor()
    await page.getByRole('row').nth(2).waitFor()
    let answer // what is typed before the comments are there stays when they come
    const held = new Promise((resolve) => { answer = resolve })
    await page.route('**/comments?*', async (route) => { await held; await route.continue() }, { times: 1 })
    await page.at(`/findings/${on().found[0].vuln_id}?tab=history`)
    await page.getByLabel('Add a comment').fill('Is this the old shop, @bo')
    answer()
    await page.getByText('No comments').waitFor()
    await page.keyboard.press('Enter') // takes the member that is offered
    assert.match(await page.getByLabel('Add a comment').inputValue(), /@bob@example\.com $/)
    await page.keyboard.press('Control+Enter')
    await page.getByText('bob@example.com is told.').waitFor()
    await page.getByText('Is this the old shop').waitFor()

    const other = await page.context().browser().newContext()
    const bob = await other.newPage()
    await bob.goto(on().base + '/inbox')
    await signIn(bob, 'bob@example.com')
    await bob.getByText('You are named').waitFor()
    await bob.getByText('Assigned to you').first().waitFor()
    await bob.getByRole('link', { name: 'Open the finding' }).first().click()
    await bob.getByText('Is this the old shop').waitFor()
    await bob.goto(on().base + '/inbox')
    await ready(bob)
    await both(bob, 'inbox')
    await bob.getByRole('button', { name: 'Mark all as read' }).click()
    await bob.getByText('Nothing unread').waitFor()
    await other.close()
  })

  journey(`${name}: a team rates a weakness by a CVSS vector, says why, and takes it back`, async (page) => {
    const f = on().found.at(-1)
    await page.at(`/findings/${f.vuln_id}`)
    await signIn(page)
    await page.getByRole('button', { name: 'Set severity' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('radio', { name: 'A CVSS vector' }).check()
    await dialog.getByLabel('CVSS vector', { exact: true }).fill('CVSS:3.1/AV:N/AC:L')
    await dialog.getByLabel('Reason').fill('The payment host is behind it.')
    await dialog.getByRole('button', { name: 'Set severity' }).click()
    await dialog.getByText(/cvss_vector/).waitFor() // the server says what is wrong, and the dialog keeps what was typed
    await dialog.getByLabel('CVSS vector', { exact: true }).fill('CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H')
    await dialog.getByRole('button', { name: 'Set severity' }).click()
    await page.getByText('The severity is set.').waitFor()
    await page.getByText(/^Critical: your team’s own severity\./).waitFor()
    await page.getByText('The payment host is behind it.').waitFor()
    await both(page, 'own severity')
    const critical = async () => (await on().api('GET', '/v1/scans/results?severity=critical')).data.some((r) => r.vuln_id === f.vuln_id)
    assert.ok(await critical())
    await page.getByRole('button', { name: 'Back to the template’s severity' }).click()
    await page.getByText('Findings have the severity of their template again.').waitFor()
    await page.getByText(/your team’s own severity/).waitFor({ state: 'detached' })
    assert.equal(await critical(), f.event[0].info.severity === 'critical')
  })

  journey(`${name}: the proof is intact, is sent again, and its outcome is told`, async (page) => {
    await page.at(`/findings/${on().found[0].vuln_id}?tab=evidence`)
    await signIn(page)
    await page.getByText('Intact', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Replay' }).click()
    await page.getByText('Shown again, the same').waitFor({ timeout: 60_000 })
    await both(page, 'evidence')
  })

  journey(`${name}: what a finding was compared with stands beside it, and what differs is marked`, async (page) => {
    const head = (q) => `GET /item?id=${q} HTTP/1.1\r\nHost: blind.example\r\n\r\n`
    const event = { 'template-id': 'blind-sqli', info: { name: 'Blind SQL injection', severity: 'high' }, type: 'http', host: 'blind.example', 'matched-at': 'https://blind.example/item?id=1',
      request: head('1+AND+5=5'), response: 'HTTP/1.1 200 OK\r\nServer: shop\r\n\r\n<h1>Items</h1>\n<p>three items</p>\n',
      compared: [{ note: 'a condition that does not hold', request: head('1+AND+5=0'), response: 'HTTP/1.1 200 OK\r\nServer: shop\r\n\r\n<h1>Items</h1>\n<p>no items</p>\n' }, { note: 'a delay', request: head('1;SLEEP'), response: '' }] }
    await on().api('POST', '/v1/scans/import?name=Blind', JSON.stringify(event))
    const [row] = (await on().api('GET', '/v1/scans/results?search=blind.example')).data
    await page.at(`/findings/${row.vuln_id}`)
    await signIn(page)
    await page.getByRole('link', { name: '2 requests that it was compared with' }).click()
    await page.waitForURL(/tab=evidence/)
    const card = page.getByRole('region', { name: 'Compared with: a condition that does not hold' })
    const marked = (part) => card.getByRole('region', { name: part, exact: true }).locator('mark').allInnerTexts()
    await card.waitFor()
    assert.deepEqual(await marked('What shows it: Request'), ['5'])
    assert.deepEqual(await marked('What it was compared with: Request'), ['0'])
    assert.deepEqual([await marked('What shows it: Response'), await marked('What it was compared with: Response')], [['three'], ['no']])
    assert.equal(await card.getByText('1 line differs').count(), 2)
    await page.getByRole('region', { name: 'Compared with: a delay' }).getByText('Nothing was answered.').waitFor()
    await card.evaluate((c) => c.scrollIntoView())
    await both(page, 'a comparison')
  })

  journey(`${name}: a view is saved and worked off by keyboard`, async (page) => {
    await page.at('/findings?q=127.0.0.1')
    await signIn(page)
    await page.getByRole('row').nth(2).waitFor()
    await page.getByRole('button', { name: 'Save this view' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Of the shop')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('navigation', { name: 'Saved views' }).getByRole('link', { name: /Of the shop/ }).waitFor()
    await page.keyboard.press('g'); await page.keyboard.press('q')
    await page.getByRole('link', { name: 'Of the shop' }).click()
    await page.getByRole('heading', { name: 'Of the shop', level: 1 }).waitFor()
    await page.keyboard.press('n')
    await page.getByRole('group', { name: 'Decide' }).waitFor()
    await both(page, 'a queue')
    await page.keyboard.press('1')
    await page.getByText('1 finding is now: triaged').waitFor()
    await page.getByText(/1 decided/).waitFor()
    await page.keyboard.press('z')
    await page.getByText('1 finding is as before').waitFor()
  })

  journey(`${name}: what was open over time, how long fixes take, and a file of it`, async (page) => {
    await on().api('PATCH', '/v1/scans/vulns', { vuln_ids: [on().found[1].vuln_id], vuln_status: 'fixed' })
    await page.at('/reports')
    await signIn(page)
    await page.getByRole('img', { name: /^Open findings by severity/ }).waitFor()
    await page.getByRole('img', { name: /^Open findings by severity/ }).press('ArrowLeft')
    await page.getByRole('img', { name: /^New, fixed and back/ }).waitFor()
    await page.getByText('As a table').first().click()
    await page.getByRole('table').first().waitFor()
    await page.getByLabel('Kind').selectOption('csv')
    await page.getByRole('button', { name: 'Make a file' }).click()
    await page.getByRole('button', { name: 'Download' }).first().waitFor({ timeout: 60_000 })
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).first().click()])
    assert.match(file.suggestedFilename(), /\.csv$/)
    await both(page, 'reports')
    await on().api('PATCH', '/v1/scans/vulns', { vuln_ids: [on().found[1].vuln_id], vuln_status: 'open' })
  })

  journey(`${name}: a report is scheduled, made at once, turned off, changed and deleted`, async (page) => {
    await page.at('/reports')
    await signIn(page)
    const card = page.getByRole('region', { name: 'Scheduled reports' }).first()
    await card.getByText('No report is scheduled').waitFor()
    await card.getByRole('button', { name: 'Schedule a report' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('For the board')
    await dialog.getByLabel('Kind').selectOption('csv')
    await dialog.getByLabel('Day', { exact: true }).selectOption('Friday')
    await dialog.getByLabel('Time', { exact: true }).fill('17:30')
    await dialog.getByLabel('Time zone').fill('Mars/Base')
    await dialog.getByRole('checkbox', { name: 'Low' }).uncheck()
    await both(page, 'scheduling a report')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('alert').getByText('time_zone').waitFor() // what was typed is still there
    await dialog.getByLabel('Time zone').fill('Europe/Berlin')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('For the board is made next on').waitFor()
    const row = card.getByRole('row', { name: /For the board/ })
    await row.getByText('Fridays, 17:30 Europe/Berlin').waitFor()
    await row.getByRole('button', { name: 'Make now' }).click()
    const files = page.getByRole('region', { name: 'Files' }).first()
    await files.getByRole('row', { name: /For the board CSV Ready/ }).waitFor()
    await both(page, 'scheduled reports')
    await row.getByRole('button', { name: 'Turn off' }).click()
    await row.getByText('Off', { exact: true }).waitFor()
    await row.getByRole('button', { name: 'Edit' }).click()
    assert.equal(await dialog.getByRole('checkbox', { name: 'Low' }).isChecked(), false)
    await dialog.getByLabel('How often').selectOption('monthly')
    await dialog.getByLabel('Day of the month').fill('28')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('For the board is saved, and off').waitFor()
    await row.getByText('day 28 of each month').waitFor()
    await row.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await card.getByText('No report is scheduled').waitFor()
    await files.getByRole('row', { name: /For the board/ }).waitFor() // its file stays
  })
}
