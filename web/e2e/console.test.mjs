import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { after, before } from 'node:test'
import { another, both, browse, journeys, password, ready, serve, signIn, weakSite } from './kit.mjs'

let server, browser, site, target
let slow = 0

before(async () => {
  [server, browser] = await Promise.all([serve(), browse()]);
  ({ site, target } = await weakSite(() => slow))
})
after(async () => { await browser?.close(); site?.close(); await server?.close() })

const journey = journeys(() => ({ browser, server }))

journey('signing in leads to where one wanted to go, and a wrong password says so', async (page) => {
  await page.at('/findings?status=any&severity=high')
  await page.waitForURL(/\/login\?next=/)
  await page.getByLabel('Email').fill('ada@example.com')
  await page.getByLabel('Password').fill('wrong-horse-battery')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('alert').waitFor()
  await signIn(page, 'ada@example.com', true)
  await page.waitForURL(server.base + '/findings?status=any&severity=high')
  const cookies = await page.context().cookies()
  assert.deepEqual(cookies.map((c) => [c.name, c.httpOnly, c.sameSite]), [['vedette-session', true, 'Strict']])
  await page.reload()
  await page.getByRole('heading', { name: 'Findings', level: 1 }).waitFor()
})

journey('by keyboard alone: a task, its finding, a decision, back, a retest', async (page) => {
  await page.at('/')
  await signIn(page)
  await page.keyboard.press('c'); await page.keyboard.press('t')
  await page.getByLabel('What is to be done').fill(`Look for exposed files on ${target}`)
  await page.keyboard.press('Control+Enter')
  await page.waitForURL(/\/tasks\/[0-9a-f-]{36}/)
  await page.getByText('Completed', { exact: true }).first().waitFor({ timeout: 60_000 })
  await page.keyboard.press('g'); await page.keyboard.press('f')
  await page.getByRole('heading', { name: 'Findings', level: 1 }).waitFor()
  await page.getByRole('row').nth(1).waitFor()
  const rows = await page.getByRole('row').count()
  assert.ok(rows >= 3, `${rows} rows`)
  await page.keyboard.press('j'); await page.keyboard.press('k')
  await page.keyboard.press('Enter')
  await page.waitForURL(/open=/)
  await page.getByRole('complementary').getByText('As a command').waitFor()
  await page.keyboard.press('Escape')
  await page.waitForURL(server.base + '/findings')
  await page.keyboard.press('x')
  await page.keyboard.press('s')
  await page.getByRole('radio', { name: 'False positive' }).check()
  await page.getByLabel('Reason').fill('a test site')
  await page.getByRole('button', { name: 'Set status' }).last().click()
  await page.getByText('1 finding is now: false positive').waitFor()
  await page.getByRole('row').nth(rows - 1).waitFor({ state: 'detached' })
  await page.keyboard.press('z')
  await page.getByText('1 finding is as before').waitFor()
  await page.getByRole('row').nth(rows - 1).waitFor()
  await page.keyboard.press('o')
  await page.waitForURL(/\/findings\/[0-9a-v]{20,}/)
  await page.getByRole('link', { name: 'History and comments' }).click()
  await page.getByText('a test site').waitFor()
  await page.getByRole('button', { name: 'Retest' }).click()
  await page.getByText(/Retest: still there/).waitFor({ timeout: 60_000 })
  await page.goBack()
  await page.getByRole('heading', { name: 'What it is' }).waitFor()
})

journey('a finding of a task is shown beside the control that did not show it', async (page) => {
  const { issues } = await server.api('GET', '/api/v1/issues?per_page=200')
  const issue = issues.find((i) => i.evidence.some((e) => e.compared))
  await page.at(`/findings/${issue.vuln_id}?tab=evidence`)
  await signIn(page)
  const card = page.getByRole('region', { name: /^Compared with: .*Second look$/ })
  await card.getByRole('region', { name: 'What it was compared with: Response' }).locator('mark').first().waitFor()
  assert.equal(await card.count(), 1) // the finding and its issue have the same control
  await card.evaluate((c) => c.scrollIntoView())
  await both(page, 'a control')
})

journey('a dialog begins where one types, and gives the focus back', async (page) => {
  await page.at('/tasks')
  await signIn(page)
  await ready(page)
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type('go to know')
  await page.keyboard.press('Enter')
  await page.waitForURL(server.base + '/knowledge')
  await page.getByRole('button', { name: 'Add' }).first().click()
  await page.keyboard.type('typed at once')
  assert.equal(await page.getByLabel('Text', { exact: true }).inputValue(), 'typed at once')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Add')
})

journey('a scan is set up, runs, and says what was tested', async (page) => {
  await page.at('/scans/new')
  await signIn(page)
  await page.getByLabel('Hosts, URLs, addresses and ranges').fill(target)
  await page.getByRole('radio', { name: /Chosen templates/ }).check()
  await page.getByLabel(/^Search, such as/).fill('git')
  await page.getByRole('checkbox', { name: /Git repository exposed \(HEAD\)/ }).check()
  await page.getByRole('button', { name: 'Start scan' }).click()
  await page.waitForURL(/\/scans\/[0-9a-v]{20}/)
  await page.getByText('Finished').first().waitFor({ timeout: 60_000 })
  await page.getByRole('link', { name: 'Git repository exposed (HEAD)' }).waitFor()
  await page.getByRole('link', { name: 'Coverage' }).click()
  await page.waitForURL(/tab=coverage/)
  await page.getByRole('img', { name: /Tested: 1/ }).waitFor()
  const scan = page.url().split('?')[0]
  await page.goto(`${scan}?team_id=none`) // as nuclei prints it
  await page.getByRole('link', { name: 'Git repository exposed (HEAD)' }).waitFor()
})

journey('an application is tested as a user', async (page) => {
  await page.at('/scans/new')
  await signIn(page)
  await page.getByLabel('Hosts, URLs, addresses and ranges').fill(`${target}\n${target}/shop`)
  await page.getByRole('radio', { name: /What the application does/ }).check()
  await page.getByLabel('How far tests may go').selectOption('passive')
  const user = page.getByRole('group', { name: 'User', exact: true })
  assert.equal(await page.getByRole('group', { name: 'Second user' }).count(), 0)
  await user.getByLabel('Username').fill('alice')
  await user.getByLabel('Password').fill('wrong-password')
  await page.getByRole('group', { name: 'Second user' }).waitFor()
  await page.getByText('name one target').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Start scan' }).isDisabled(), true)
  await page.getByLabel('Hosts, URLs, addresses and ranges').fill(target)
  const [sent] = await Promise.all([page.waitForRequest((r) => r.method() === 'POST' && r.url().endsWith('/v1/scans')), page.getByRole('button', { name: 'Start scan' }).click()])
  assert.deepEqual(sent.postDataJSON().web_options, { level: 'passive', users: [{ username: 'alice', password: 'wrong-password' }] })
  await page.waitForURL(/\/scans\/[0-9a-v]{20}/)
  await page.getByText('Finished').first().waitFor({ timeout: 120_000 })
  await page.getByRole('link', { name: 'Coverage' }).click()
  await page.getByText(/the login failed/).first().waitFor()
  assert.equal((await page.content()).includes('wrong-password'), false)
})

journey('a viewer sees everything and is offered no change; a stranger\'s address shows nothing', async (page) => {
  await page.at('/')
  await signIn(page, 'bob@example.com')
  await page.getByText('Worst open findings').waitFor()
  assert.equal(await page.getByRole('link', { name: 'New task' }).count(), 0)
  await page.at('/findings')
  await page.getByRole('row').nth(1).waitFor()
  assert.equal(await page.getByRole('checkbox', { name: /^Choose/ }).count(), 0)
  await page.at('/findings/00000000000000000000000000')
  await page.getByRole('alert').waitFor()
  await page.at('/nowhere')
  await page.getByText('There is no such page').waitFor()
})

journey('a member of another role is given a role, works, and is a viewer again', async (page) => {
  const role = async (of) => {
    await page.getByRole('row', { name: /bob@example/ }).getByRole('combobox').selectOption({ label: of })
    const holds = async () => (await server.api('GET', '/v1/user/team/member')).members.find((m) => m.email.startsWith('bob')).role.toLowerCase() === of.toLowerCase()
    while (!(await holds())) await new Promise((done) => setTimeout(done, 50))
  }
  await page.at('/settings/members')
  await signIn(page)
  const bob = await another(page, '/findings')
  await bob.getByRole('row').nth(1).waitFor()
  assert.equal(await bob.getByRole('checkbox', { name: /^Choose/ }).count(), 0)
  await role('Member')
  await bob.reload()
  await bob.getByRole('checkbox', { name: /^Choose/ }).first().check()
  await role('Viewer')
  await bob.keyboard.press('s') // the page still offers it; the server does not do it, and says so
  await bob.getByRole('radio', { name: 'Triaged' }).check()
  await bob.getByRole('dialog').getByRole('button', { name: 'Set status' }).click()
  await bob.getByText('A viewer of the team can read and not change.').first().waitFor()
  assert.equal((await server.api('GET', '/v1/scans/results?vuln_status=triaged')).total_results, 0)
  await bob.context().close()
})

journey('reports are files: PDF, SARIF and CSV of what the list shows', async (page) => {
  const [one] = (await server.api('GET', '/v1/scans/results?limit=1')).data
  await server.api('PATCH', '/v1/scans/vulns/labels', { ids: [one.vuln_id], labels: ['till'], type: 'append' })
  await page.at('/findings?label=till')
  await signIn(page)
  await page.getByRole('row').nth(1).waitFor()
  const file = async (kind) => {
    const [f] = await Promise.all([page.waitForEvent('download'), page.getByLabel('Export').selectOption(kind)])
    return readFileSync(await f.path())
  }
  assert.equal((await file('pdf')).subarray(0, 5).toString(), '%PDF-')
  const sarif = JSON.parse(await file('sarif'))
  assert.deepEqual([sarif.version, sarif.runs.flatMap((r) => r.results).length], ['2.1.0', 1])
  const rows = (await file('csv')).toString().trim().split('\n')
  const ids = (await server.api('GET', '/v1/scans/results?limit=100')).data.map((r) => r.vuln_id)
  assert.deepEqual(ids.filter((id) => rows.some((r) => r.startsWith(id))), [one.vuln_id]) // the finding with the label alone
  await page.at(`/findings?template=${one.template_id}&status=any`)
  await page.getByRole('row').nth(1).waitFor()
  const of = JSON.parse(await file('json'))
  assert.ok(JSON.stringify(of).includes(one.template_id))
  const list = Array.isArray(of) ? of : (of.data ?? of.findings ?? of.results)
  assert.ok(list.every((x) => JSON.stringify(x).includes(one.template_id)), 'another template is in the file')
})

journey('what waits for an approval stands there with its plan, and is accessible', async (page) => {
  const made = await server.api('POST', '/api/v1/tasks', { task: `Check the security headers of ${target}`, mode: 'plan', response_format: 'json' })
  await page.at(`/tasks/${made.id}`)
  await signIn(page)
  const card = page.getByRole('alert', { name: /./ }).filter({ has: page.getByRole('button', { name: 'Approve' }) })
  await card.waitFor({ timeout: 60_000 })
  assert.equal(await card.getByRole('button', { name: 'Approve' }).evaluate((b) => b === document.activeElement), false)
  await both(page, 'a task that waits')
  await card.getByRole('textbox').fill('Not today')
  await card.getByRole('button', { name: 'Decline' }).click()
  await card.waitFor({ state: 'detached' })
  await page.at('/tasks?status=suspended')
  await ready(page)
})

journey('a session that ends in the middle of work takes no draft with it', async (page) => {
  await page.at('/tasks/new')
  await signIn(page)
  await page.getByLabel('What is to be done').fill(`Check ${target} for cookies`)
  await page.context().clearCookies()
  await page.keyboard.press('Control+Enter')
  await page.getByRole('dialog', { name: 'Sign in again' }).waitFor()
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal(await page.getByLabel('What is to be done').inputValue(), `Check ${target} for cookies`)
  await page.getByRole('button', { name: /Start task/ }).click()
  await page.waitForURL(/\/tasks\/[0-9a-f-]{36}/)
})

journey('the server is killed and comes back while a task streams: no event is lost, none doubled', async (page) => {
  slow = 120
  await page.at('/')
  await signIn(page)
  const made = await server.api('POST', '/api/v1/tasks', { task: `Give ${target} a full check`, response_format: 'json' })
  await page.at(`/tasks/${made.id}`)
  await page.getByText('Run templates', { exact: true }).waitFor({ timeout: 60_000 })
  const listen = new URL(server.base).host
  await server.kill()
  await page.getByText(/Reconnecting/).waitFor({ timeout: 30_000 })
  slow = 0
  await server.start(listen)
  await page.getByRole('heading', { name: 'Result' }).waitFor({ timeout: 120_000 })
  const [events, last] = await page.locator('[data-events]').evaluate((e) => [e.dataset.events, e.dataset.last])
  assert.equal(events, last)
  const detail = await server.api('GET', `/api/v1/tasks/${made.id}`)
  assert.equal(Number(last), detail.stream.last_seq)
})

journey('a task that streams for hours leaves the page as small as it was', async (page) => {
  const made = await server.api('POST', '/api/v1/tasks', { task: `Look for exposed files on ${target}`, mode: 'plan', response_format: 'json' }) // it waits
  const at = new Date().toISOString()
  const words = 'The shop answers as before, and so does its till. '.repeat(4)
  let seq = 0
  const part = (n) => Array.from({ length: n }, () => {
    seq++
    const id = `c${Math.floor(seq / 4)}`
    const [type, data] = [['tool-input-available', { id, tool: 'http_request', data: { args: { url: `http://shop.example/${seq}`, note: words } } }], ['tool-progress', { id, text: words }],
      ['tool-output-available', { id, data: { status: 'completed', result: { text: words.repeat(8) } } }], ['text-delta', { text: words }]][seq % 4]
    return `id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify({ type, seq, at, stream_id: 's', data })}\n\n`
  }).join('')
  let sent = 0
  const most = Number(process.env.EVENTS ?? 30_000)
  const parts = [most / 5, most * 4 / 5] // the page asks for what follows when one has ended
  await page.route('**/stream?*', (route) => (sent < parts.length ? route.fulfill({ contentType: 'text/event-stream', body: part(parts[sent++]) }) : route.fulfill({ status: 503 })))
  const debug = await page.context().newCDPSession(page)
  await debug.send('Performance.enable')
  const used = async () => {
    await debug.send('HeapProfiler.collectGarbage')
    return (await debug.send('Performance.getMetrics')).metrics.find((m) => m.name === 'JSHeapUsedSize').value / 2 ** 20
  }
  // The answer that brought the last events is let go when the page has asked for more; what stays is the page's.
  const heap = async (events, most) => {
    await page.locator(`[data-events="${events}"]`).waitFor({ timeout: 60_000 })
    const until = Date.now() + 15_000
    let now = await used()
    while (now > most && Date.now() < until) {
      await page.evaluate(() => new Promise((done) => setTimeout(done, 250)))
      now = await used()
    }
    return now
  }
  await page.at('/')
  await signIn(page)
  await page.at(`/tasks/${made.id}`)
  const first = await heap(most / 5, Infinity)
  const then = await heap(most, first + 4)
  const said = `${first.toFixed(1)} MB after ${most / 5} events, ${then.toFixed(1)} MB after ${most}`
  assert.ok(then - first < 4, said)
  if (process.env.EVENTS) console.log(said)
  await page.getByText(/^[\d,]+ earlier steps are not shown here/).waitFor()
  assert.ok(await page.getByRole('listitem').count() < 700)
})

journey('another site cannot frame the console, nor act with its session', async (page) => {
  await page.at('/')
  await signIn(page)
  const statuses = await page.evaluate(async () => {
    const plain = await fetch('/v1/user/sessions', { method: 'DELETE' }) // without the header of our pages
    const ours = await fetch('/v1/user/sessions?others=true', { method: 'DELETE', headers: { 'X-Requested-With': 'x' } })
    return [plain.status, ours.status]
  })
  assert.deepEqual(statuses, [403, 200])
  const evilSite = createServer((_, r) => { r.setHeader('Content-Type', 'text/html'); r.end(`<iframe src="${server.base}/"></iframe><form method="post" action="${server.base}/sign-out"><button>go</button></form>`) })
  await new Promise((done) => evilSite.listen(0, '127.0.0.1', done))
  const other = await page.context().newPage()
  await other.goto(`http://localhost:${evilSite.address().port}/`)
  await other.waitForTimeout(300)
  assert.ok(other.frames().slice(1).every((f) => !f.url().startsWith(server.base)), 'it was framed')
  await other.getByRole('button').click()
  await other.waitForLoadState()
  await other.close()
  evilSite.close()
  await page.reload()
  await page.getByRole('navigation', { name: 'Main' }).waitFor() // still signed in
})

journey('the commands and the shortcuts are dialogs that everybody can use', async (page) => {
  await page.at('/login')
  await page.getByLabel('Email').waitFor()
  await both(page, 'login')
  await signIn(page)
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').waitFor()
  await both(page, 'commands')
  await page.keyboard.press('Escape')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await both(page, 'shortcuts')
})
