import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'
import { after, before } from 'node:test'
import { another, both, browse, ended, journeys, ready, serve, signIn, weakSite } from './kit.mjs'

// What tasks and scans sent and were answered, sent again with changes; what people and tasks can look up; and reports of
// other tools.

let server, browser, site, target, evilSite, task, scan
const got = [] // by the second site

// A page that tries to leave the text that it is.
const evil = `"><img src=x onerror=breach('ran')><script>breach('ran')</script>\u202egnp.exe`
// A check that sends a password in a JSON document, as somebody might send it again with another role.
const template = `id: sign-up
info: {name: Sign up, author: me, severity: low}
http:
  - raw:
      - |
        POST /sign-up HTTP/1.1
        Host: {{Hostname}}
        Content-Type: application/json
        Cookie: session=0123456789abcdef0123456789abcdef
        X-Kept: yes

        {"user":"alice","password":"correct-horse-9","role":"user"}
    matchers: [{type: status, status: [201]}]
`

before(async () => {
  [server, browser] = await Promise.all([serve(), browse()]);
  ({ site, target } = await weakSite())
  evilSite = createServer((q, r) => {
    let body = ''
    q.on('data', (part) => { body += part })
    q.on('end', () => {
      got.push({ method: q.method, url: q.url, headers: q.headers, body })
      r.writeHead(q.method === 'POST' ? 201 : 200, { 'Content-Type': 'text/html', 'X-Evil': '<b>no</b>' })
      r.end(`<p>${evil}</p><p>answer ${got.length}</p>`)
    })
  })
  await new Promise((done) => evilSite.listen(0, '127.0.0.1', done))
  const made = await server.api('POST', '/api/v1/tasks', { task: `Look for exposed files on ${target}`, response_format: 'json' })
  task = made.id
  const own = await server.api('POST', '/v1/template', { template })
  scan = (await server.api('POST', '/v1/scans', { name: 'Sign up', targets: [`http://127.0.0.1:${evilSite.address().port}`], templates: [own.template_id ?? own.id], capture_traffic: true })).id
  await ended(server, `/api/v1/tasks/${task}`, 'completed')
  await ended(server, `/v1/scans/${scan}`, 'finished')
})
after(async () => { await browser?.close(); site?.close(); evilSite?.close(); await server?.close() })

const journey = journeys(() => ({ browser, server }))
const rows = (page) => page.getByRole('table', { name: 'Network events' }).getByRole('row')

journey('what a task sent is filtered and read by keyboard; the address keeps what is open', async (page) => {
  await page.at(`/tasks/${task}`)
  await signIn(page)
  await page.getByRole('link', { name: 'Requests' }).click()
  await page.waitForURL(server.base + `/network?task=${task}`)
  await rows(page).nth(5).waitFor()
  await page.getByText(/^\d+ requests are kept$/).waitFor()
  await page.getByRole('combobox', { name: 'Answer' }).selectOption('200')
  await page.waitForURL(/status=200/)
  await page.waitForFunction(() => [...document.querySelectorAll('main tbody td:nth-child(2)')].every((c) => c.textContent === '200'))
  const listed = await rows(page).count() - 1
  const there = (await server.api('GET', `/api/v1/network/events?task_id=${task}&status=200&limit=100`)).events
  assert.equal(listed, there.length)
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForURL(new RegExp(`open=${there[1].id}`))
  const panel = page.getByRole('complementary', { name: 'The chosen request' })
  await panel.getByRole('region', { name: 'Request', exact: true }).getByText(/^GET \//).waitFor()
  await panel.getByRole('region', { name: 'Answer', exact: true }).getByText(/^HTTP\/1\.1 200 OK/).waitFor()
  await both(page, 'list with panel')
  await page.keyboard.press('k')
  await page.waitForURL(new RegExp(`open=${there[0].id}`))
  await page.reload()
  await panel.getByRole('region', { name: 'Answer', exact: true }).waitFor()
  assert.equal(await page.getByRole('combobox', { name: 'Answer' }).inputValue(), '200')
  await page.goBack() // before the panel was opened
  await panel.waitFor({ state: 'detached' })
  await page.goBack()
  await page.waitForURL(server.base + `/network?task=${task}`)
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'HAR file' }).click()])
  const har = JSON.parse(readFileSync(await file.path(), 'utf8'))
  assert.equal(file.suggestedFilename(), 'network-events.har')
  assert.equal(har.log.entries.length, (await server.api('GET', `/api/v1/network/stats?task_id=${task}`)).events)
  await page.getByRole('button', { name: 'Older' }).click() // there are more than a page
  await page.waitForURL(/after=/)
  await page.getByRole('button', { name: 'To the newest' }).waitFor()
  await page.at('/network?method=PUT')
  await page.getByText('No requests match').waitFor()
  await page.getByRole('main').getByRole('button', { name: 'Clear all filters' }).last().click()
  await page.waitForURL(server.base + '/network')
  await rows(page).nth(5).waitFor()
})

journey('a request is sent again with a change: what is masked arrives as it was, and the answers stand side by side', async (page) => {
  const e = (await server.api('GET', `/api/v1/network/events?scan_id=${scan}&method=POST`)).events[0]
  await page.at(`/network?scan=${scan}&open=${e.id}`)
  await signIn(page)
  const panel = page.getByRole('complementary', { name: 'The chosen request' })
  await panel.getByText(/\[masked:/).first().waitFor()
  assert.equal((await page.content()).includes('correct-horse-9'), false)
  await page.getByRole('button', { name: /^Send again/ }).waitFor()
  await page.keyboard.press('r')
  const dialog = page.getByRole('dialog', { name: 'Send this request again?' })
  await dialog.getByText('Nothing is changed.').waitFor()
  const body = await dialog.getByLabel('Body').inputValue()
  await dialog.getByLabel('Body').fill(body.replace('"user"}', '"admin"}'))
  const sent = await dialog.getByLabel('Headers').inputValue()
  await dialog.getByLabel('Headers').fill(`${sent}\nX-Tested-By`)
  await dialog.getByText(/is no header/).waitFor()
  assert.equal(await dialog.getByRole('button', { name: 'Send', exact: true }).isDisabled(), true)
  await dialog.getByLabel('Headers').fill(sent.replace('X-Kept: yes', 'X-Tested-By: me'))
  await dialog.getByText('3 changes.').waitFor()
  await both(page, 'send again')
  const before = got.length
  await dialog.getByRole('button', { name: 'Send', exact: true }).click()
  await page.waitForURL(new RegExp(`/network/${e.id}\\?with=`))
  const last = got.at(-1)
  assert.equal(got.length, before + 1)
  assert.deepEqual(JSON.parse(last.body), { user: 'alice', password: 'correct-horse-9', role: 'admin' })
  assert.equal(last.headers['x-tested-by'], 'me')
  assert.equal(last.headers['x-kept'], undefined)
  assert.equal(last.headers.cookie, 'session=0123456789abcdef0123456789abcdef')
  await page.getByRole('region', { name: 'The first time: Answer', exact: true }).waitFor()
  await page.getByRole('region', { name: 'Sent again: Answer', exact: true }).waitFor()
  await page.getByText(/^\+ /).filter({ hasText: `answer ${got.length}` }).waitFor()
  await both(page, 'compared')
  await page.reload()
  await page.getByRole('region', { name: 'Sent again: Request', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Show what looks like a secret' }).click()
  await page.getByText(/correct-horse-9/).first().waitFor()
  const log = await server.api('GET', '/v1/team/audit_log?limit=50')
  assert.ok(log.data.some((x) => x.action === 'read-network-event-unmasked'))
  // It leads back to the first request, whichever of the two was opened.
  await page.at(`/network/${new URL(page.url()).searchParams.get('with')}`)
  await page.getByRole('link', { name: 'The first request' }).click()
  await page.waitForURL(new RegExp(`/network/${e.id}\\?with=`))
})

journey('what a target answered stays text, on a wide screen and a narrow one', async (page) => {
  const e = (await server.api('GET', `/api/v1/network/events?scan_id=${scan}`)).events[0]
  await page.at('/')
  await signIn(page)
  for (const path of [`/network?scan=${scan}&open=${e.id}`, `/network/${e.id}`, `/network?open=${encodeURIComponent(evil)}`, `/network?host=${encodeURIComponent(evil)}`, `/network?task=${encodeURIComponent(evil)}`]) {
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 860 })
      await page.at(path)
      await ready(page)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      assert.ok(wide <= width, `${path} is ${wide} wide`)
      assert.equal(await page.evaluate(() => document.querySelectorAll('main img, main script, main iframe, main b').length), 0, path)
    }
  }
  await page.at(`/network/${e.id}`)
  await page.getByText('U+202E').first().waitFor()
})

journey('a viewer looks, and is offered nothing to send or change', async (page) => {
  const e = (await server.api('GET', `/api/v1/network/events?scan_id=${scan}&method=POST`)).events.at(-1)
  await page.at(`/network?scan=${scan}&open=${e.id}`)
  await signIn(page, 'bob@example.com')
  await page.getByRole('complementary').getByText(/\[masked:/).first().waitFor()
  for (const name of [/^Send again/, 'Delete', 'Show what looks like a secret']) assert.equal(await page.getByRole('button', { name }).count(), 0, String(name))
  await page.getByRole('button', { name: 'What is kept' }).click()
  await page.getByText('Admins of the team change this.').waitFor()
  assert.equal(await page.getByRole('dialog').getByRole('button', { name: 'Save' }).count(), 0)
})

journey('a scan that asks for it is captured; out of scope nothing is sent again; its requests are deleted', async (page) => {
  await page.at('/scans/new')
  await signIn(page)
  await page.getByLabel('Hosts, URLs, addresses and ranges').fill(target)
  await page.getByRole('radio', { name: /Chosen templates/ }).check()
  await page.getByLabel(/^Search, such as/).fill('git')
  await page.getByRole('checkbox', { name: /Git repository exposed \(HEAD\)/ }).check()
  await page.getByRole('checkbox', { name: /^Keep requests and answers/ }).check()
  await page.getByRole('button', { name: 'Start scan' }).click()
  await page.waitForURL(/\/scans\/[0-9a-v]{20}/)
  await page.getByText('Finished').first().waitFor({ timeout: 60_000 })
  await page.getByRole('link', { name: 'Requests', exact: true }).click()
  await page.waitForURL(/\/network\?scan=/)
  await page.getByRole('button', { name: /\/\.git\/HEAD/ }).first().click()
  const { ids } = await exclude('127.0.0.1')
  await page.getByRole('button', { name: /^Send again/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('dialog').getByText('It was not sent').waitFor()
  await both(page, 'not sent')
  await server.api('DELETE', '/v1/scans/config/exclude', { ids })
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog', { name: 'Delete these requests?' }).getByRole('button', { name: 'Delete' }).click()
  await page.getByText(/requests? (is|are) deleted/).waitFor()
  await page.getByText('No requests yet').waitFor()
  await page.getByRole('button', { name: 'What is kept' }).click()
  await page.getByLabel('Days until they are removed').fill('7')
  await both(page, 'what is kept')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('What is kept is set.').waitFor()
  assert.equal((await server.api('GET', '/api/v1/network/policy')).retention_days, 7)
})

async function exclude(value) {
  await server.api('POST', '/v1/scans/config/exclude', { exclude_type: 'scan_target', values: [value] })
  const all = await server.api('GET', '/v1/scans/config/exclude')
  return { ids: all.data.map((x) => x.id) }
}

const source = (page, name) => page.getByRole('row', { name })

journey('notes and files are added, found with their place, read again and deleted', async (page) => {
  await page.at('/knowledge')
  await signIn(page)
  await page.getByText('Nothing to know yet').waitFor()
  await both(page, 'no knowledge')
  await page.getByRole('main').getByRole('button', { name: 'Add' }).first().click()
  await page.waitForURL(/new=text/)
  const dialog = page.getByRole('dialog', { name: 'Add to the knowledge' })
  await dialog.getByLabel('Text', { exact: true }).fill(`# Staging\n\nThe gateway of staging is at door 12. Ask Ada before you scan it.\n\n${evil}\n`)
  await dialog.getByLabel('Name').fill('Network notes')
  await dialog.getByRole('checkbox', { name: /^For the whole team/ }).check()
  await both(page, 'add a text')
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await source(page, /Network notes/).getByText('Ready').waitFor()
  await page.getByRole('button', { name: 'Add' }).click()
  await dialog.getByRole('radio', { name: 'Files' }).check()
  await dialog.getByLabel('From this computer').setInputFiles({ name: 'runbook.md', mimeType: 'text/markdown', buffer: Buffer.from('# Runbook\n\nThe printer of the office has its password on a label.\n') })
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await source(page, /runbook\.md/).getByText('Ready').waitFor()
  await page.getByRole('button', { name: 'Add' }).click()
  await dialog.getByRole('radio', { name: 'Files' }).check()
  await dialog.getByRole('checkbox', { name: /knowledge\/runbook\.md/ }).waitFor() // it is among the files now
  await page.keyboard.press('Escape')

  await page.keyboard.press('/')
  await page.keyboard.type('staging Gateway?')
  await page.waitForURL(/q=staging/)
  const passage = page.getByRole('region', { name: /^Network notes, line/ })
  await passage.getByText('door 12').waitFor()
  assert.ok((await passage.locator('mark').allInnerTexts()).includes('gateway'))
  assert.equal(await page.getByRole('region', { name: /runbook/ }).count(), 0)
  await page.getByRole('button', { name: 'Only in this source' }).first().click()
  await page.waitForURL(/source=/)
  await both(page, 'passages')
  await page.reload()
  await passage.getByText('door 12').waitFor()
  assert.equal(await page.evaluate(() => document.querySelectorAll('main img, main script').length), 0)
  await page.getByLabel('What do you want to know?').fill('password printer')
  await page.getByText('No text has these words').waitFor() // in that source
  await page.getByLabel('In', { exact: true }).selectOption('')
  await page.getByRole('region', { name: /runbook/ }).waitFor()

  const [asked] = await Promise.all([page.waitForResponse(/reindex/), page.getByRole('button', { name: 'Read again: Network notes' }).click()])
  assert.equal(asked.status(), 200)
  await page.getByText('It is read again.').waitFor()
  await source(page, /Network notes/).getByText('Ready').waitFor()
  await page.getByRole('button', { name: /^Delete: .*runbook\.md/ }).click()
  await page.getByRole('dialog', { name: 'Delete this source?' }).getByRole('button', { name: 'Delete' }).click()
  await source(page, /runbook\.md/).waitFor({ state: 'detached' })
  await page.getByText('No text has these words').waitFor()
  assert.deepEqual((await server.api('GET', '/api/v1/knowledge/sources')).sources.map((s) => s.name), ['Network notes'])
})

journey('what cannot be read says why; a viewer searches and changes nothing', async (page) => {
  await server.api('POST', '/api/v1/knowledge/index', { name: 'Team notes', content: 'The lighthouse is green.', shared: true })
  await page.at('/knowledge?new=url')
  await signIn(page)
  const dialog = page.getByRole('dialog', { name: 'Add to the knowledge' })
  const pages = Array.from({ length: 21 }, (_, i) => `https://wiki.example/${i}`)
  await dialog.getByLabel('Addresses').fill(pages.join('\n'))
  await dialog.getByText('At most 20 at a time.').waitFor()
  assert.equal(await dialog.getByRole('button', { name: 'Add', exact: true }).isDisabled(), true)
  await dialog.getByLabel('Addresses').fill('ftp://wiki.example/')
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await dialog.getByRole('alert').getByText(/https or http/).waitFor()
  await dialog.getByLabel('Addresses').fill('http://169.254.169.254/latest/meta-data')
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await source(page, /169\.254/).getByText('Failed').waitFor({ timeout: 60_000 })
  await source(page, /169\.254/).getByText(/cannot be fetched/).waitFor()
  await page.getByLabel('State').selectOption('failed')
  await page.waitForURL(/status=failed/)
  assert.equal(await page.getByRole('row').count(), 2)
  await both(page, 'a source that failed')
  await page.at('/knowledge?new=git')
  await dialog.getByLabel('Address of the repository').fill('https://git.invalid/team/runbooks')
  await dialog.getByLabel('Branch, tag or commit').fill('main')
  const [sent] = await Promise.all([page.waitForRequest(/knowledge\/index/), dialog.getByRole('button', { name: 'Add', exact: true }).click()])
  assert.deepEqual(sent.postDataJSON(), { git_url: 'https://git.invalid/team/runbooks', ref: 'main' })
  await dialog.waitFor({ state: 'detached' })

  const bob = await another(page, '/knowledge?new=text')
  await source(bob, /Team notes/).waitFor()
  assert.equal(await bob.getByText('169.254').count(), 0) // Ada's own
  for (const name of ['Add', /^Delete/, /^Read again/]) assert.equal(await bob.getByRole('button', { name }).count(), 0, String(name))
  assert.equal(await bob.getByRole('dialog').count(), 0)
  await bob.getByLabel('What do you want to know?').fill('lighthouse')
  await bob.getByRole('region', { name: /^Team notes, line/ }).waitFor()
  await bob.context().close()
})

journey('the report of another tool is taken in, and nothing of it is dropped in silence', async (page) => {
  const line = (id, more) => JSON.stringify({ 'template-id': id, info: { name: `Import ${id}`, severity: 'medium' }, type: 'http', host: 'https://shop.example', 'matched-at': `https://shop.example/${id}`, ...more })
  await page.at('/scans')
  await signIn(page)
  await page.getByRole('button', { name: 'Import a report' }).click()
  await page.waitForURL(/import=1/)
  const dialog = page.getByRole('dialog')
  const report = (text) => dialog.getByLabel('Report').setInputFiles({ name: 'report.jsonl', mimeType: 'application/json', buffer: Buffer.from(text) })
  await report('nothing of a kind')
  await dialog.getByRole('button', { name: 'Import', exact: true }).click()
  await dialog.getByRole('alert').waitFor()
  await report([line('git-config'), line('tech', { 'matcher-status': false }), '{"info": {}}', line('env')].join('\n'))
  await dialog.getByLabel('Name of the scan').fill('From elsewhere')
  await both(page, 'import')
  await dialog.getByRole('button', { name: 'Import', exact: true }).click()
  await dialog.getByText(/^It was read as a report of nuclei/i).waitFor()
  await dialog.getByText('What could not be read').waitFor()
  await dialog.getByText('line 3').waitFor()
  await dialog.getByText(/^1 × /).waitFor()
  await both(page, 'imported')
  await dialog.getByRole('link', { name: 'Open the findings' }).click()
  await page.getByRole('heading', { name: 'From elsewhere', level: 1 }).waitFor()
  await page.getByRole('link', { name: 'Import git-config' }).waitFor()
})
