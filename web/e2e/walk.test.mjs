import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { startChat, token } from './chat.mjs'
import { evilModel, evilSite, fillSettings, fillWork } from './hostile.mjs'
import { reviewed, startHub, startLab } from './hub.mjs'
import { another, browse, journeys, look, narrow, ready, serve, signIn } from './kit.mjs'
import { screens } from './screens.mjs'

// A walk through every screen of a team whose every name and text is foreign: it runs nothing, widens nothing, shows what is
// hidden in it; and axe finds nothing on it, light and dark.

let server, browser, site, hub, lab, chat, addresses

before(async () => {
  hub = await startHub(() => server.base)
  lab = await startLab(() => server.base)
  chat = await startChat(() => server.base)
  const evil = await evilSite()
  site = evil.site;
  [server, browser] = await Promise.all([serve({ model: evilModel, settings: { ...hub.settings, ...chat.settings, VEDETTE_WEBHOOK_ALLOW: '127.0.0.0/8' } }), browse()])
  await server.api('POST', '/api/v1/github/installations/claim', { installation_id: 7 })
  const { webhook_path, webhook_secret } = await server.api('POST', '/api/v1/gitlab/connections', { url: lab.url, token: 'glpat-journey', projects: ['acme/shop'] })
  await hub.opened()
  await lab.opened(webhook_path, webhook_secret)
  await server.api('PUT', '/api/v1/slack/connection', { bot_token: token, signing_secret: 'own-signing-secret-0123' })
  addresses = await fillWork(server, evil.target)
  await fillSettings(server)
  for (const forge of ['github', 'gitlab']) await reviewed(server, forge)
})
after(async () => { await browser?.close(); site?.close(); await server?.close(); hub?.close(); lab?.close(); chat?.close() })

const journey = journeys(() => ({ browser, server }))

// Characters that are not seen, or that turn others around: they stand on a page as escapes only.
const raw = '[\\u200b\\u202a-\\u202e\\u2066-\\u2069]'

/** What foreign text did to a page of this width, in words. */
const harm = (page, width) => page.evaluate(([raw, width]) => {
  const found = []
  const wide = document.documentElement.scrollWidth
  if (wide > width) found.push(`it is ${wide} wide`)
  for (const e of document.querySelectorAll('main img, main script, main iframe, main b, dialog img, dialog script, dialog b')) found.push(`it has made ${e.outerHTML.slice(0, 80)}`)
  if (width < 640) for (const table of document.querySelectorAll('table.cards')) if (table.parentElement.scrollWidth > table.parentElement.clientWidth + 1) found.push(`its table ${table.ariaLabel} scrolls`) // their rows are cards
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let n; (n = texts.nextNode());) if (new RegExp(raw).test(n.data) && !n.parentElement.closest('script, style, textarea, [data-editor]')) found.push(`${n.parentElement.tagName} hides something: ${n.data.slice(0, 80)}`)
  return found
}, [raw, width])

// These show what people have named: it must be there, as text.
const named = /^\/(triage|reports|knowledge|tasks|scans|enumerations|assets\/policies)?$|settings\/(projects|schedules|prompts|agents|tools|memory|credits|github|gitlab|slack)$|[?]tab=(rules|history)$|\/cves\/.|\/triage\/./

for (const width of [1280, 320]) {
  journey(`every field of every screen is foreign text, ${width} wide: it runs nothing, breaks no page, and axe finds nothing`, async (page) => {
    await page.at('/settings/account')
    await signIn(page)
    await page.setViewportSize({ width, height: 860 })
    const wrong = []
    for (const screen of Object.keys(screens)) {
      const all = addresses[screen] ?? [screen]
      assert.ok(!all.some((a) => a.includes('$')), `${screen} has no address`)
      for (const address of screen === '/login' ? [] : all) {
        // The router follows, so that nothing is loaded anew; by way of no screen, so that what is looked at is not the one before.
        await page.evaluate(() => history.pushState({}, '', '/nowhere'))
        await page.getByText('There is no such page').waitFor()
        await page.evaluate((to) => history.pushState({}, '', to), address)
        await page.getByText('There is no such page').waitFor({ state: 'detached' })
        await ready(page)
        const note = (what) => wrong.push(...what.map((x) => `${address}: ${x}`))
        note(await harm(page, width))
        if (named.test(address) && await page.getByRole('main').getByText(/<img src=x/).filter({ visible: true }).count() === 0) note(['the foreign text is not there'])
        if (width > 640 && address === all[0]) note(await look(page))
        // What opens from the first row of it, too.
        const opens = page.getByRole('main').getByRole('button', { name: /^(Edit|Read$|Options of|People of|Delete|Open the review|Versions|Unlink)/ })
        if (address.startsWith('/settings') && await opens.count() > 0) {
          await opens.first().click()
          await page.getByRole('dialog').waitFor()
          await ready(page)
          note((await harm(page, width)).map((x) => `dialog: ${x}`))
          await page.keyboard.press('Escape')
          await page.getByRole('dialog').waitFor({ state: 'detached' })
        }
      }
    }
    assert.deepEqual(wrong, [])
  })
}

journey('what is hidden in a finding is shown, its links lead nowhere, and the rest of a long answer waits', async (page) => {
  const [finding, evidence] = addresses['/findings/$id']
  await page.at(finding)
  await signIn(page)
  await page.getByText('U+202E').first().waitFor()
  assert.equal(await page.getByRole('link', { name: /javascript/ }).count(), 0)
  await page.at(evidence)
  await page.getByRole('region', { name: /^Compared with: / }).getByText(/lines differ|hardly a line/).first().waitFor()
  await page.getByRole('button', { name: 'Show more' }).first().waitFor()
  const bob = await another(page, '/inbox') // who is told of it
  await bob.getByText('Assigned to you').first().waitFor()
  await bob.getByText('Evil "><img', { exact: false }).first().waitFor()
  assert.equal(await bob.evaluate(() => document.querySelectorAll('main img, main script').length), 0)
  await narrow(bob, 'the inbox')
  await bob.context().close()
})
