// Measures the console on a big database, for docs/contribute/performance.md; it is no test, for machines differ:
//
//	go run ./scripts/seed --database sqlite:/path/data/vedette.db --findings 1000000 --scans 10000 --assets 1000000
//	DATA=/path/data node web/e2e/speed.mjs
//
// A page notes the time of each key, click and answer, and when the frame after it was drawn, so that neither the debugger
// nor this script is measured. PAGES are scrolled through of findings, a hundred rows each; ROUNDS is how often each
// interaction is done; PROBE=1 leaves the scrolling away, ONLY=scroll, findings or assets the rest.
import { spawn, execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { browse } from './kit.mjs'

const binary = process.env.BINARY ?? join(dirname(fileURLToPath(import.meta.url)), '../../bin/vedette')
const data = process.env.DATA
const rounds = Number(process.env.ROUNDS ?? 5)
const pages = process.env.PROBE ? 0 : Number(process.env.PAGES ?? 1000)
if (!data) throw new Error('DATA is the folder of the database that scripts/seed has filled')

/** Runs in the page before its scripts: what is asked of the server, what a person did last, and how long frames take. */
function watch() {
  const w = { open: 0, asked: [], last: 0, frames: [] }
  Object.defineProperty(window, 'watched', { value: w })
  const drawn = (note) => requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () => note(performance.now()); c.port2.postMessage(0) })
  for (const kind of ['click', 'input', 'change']) document.addEventListener(kind, (e) => { w.last = e.timeStamp; w.rows = undefined; drawn(() => drawn((at) => { w.acted = at })) }, true)
  const ask = window.fetch
  window.fetch = async (...of) => {
    const url = String(of[0]?.url ?? of[0])
    const at = new URL(url, location.href)
    // A total that is asked for by itself is no list.
    const note = { path: at.pathname + (at.searchParams.get('limit') === '1' ? ' total' : ''), began: performance.now() }
    w.asked.push(note)
    w.open++
    try {
      const answer = await ask(...of)
      await answer.clone().arrayBuffer()
      note.ended = performance.now()
      // React draws after the body was read once more; the frame after the next one has it.
      drawn(() => drawn((at) => { note.drawn = at }))
      return answer
    } catch (e) { note.failed = true; note.drawn = performance.now(); throw e } finally { w.open-- }
  }
  // The frame that shows other rows than when a person did something last.
  const ofRows = (m) => (m.target.nodeType === 1 ? m.target : m.target.parentElement)?.closest('main tbody') || [...m.removedNodes].some((n) => n.querySelector?.('tbody')) // a list without rows has no table
  new MutationObserver((list) => { if (!w.rows && list.some(ofRows)) { w.rows = NaN; drawn((at) => { w.rows = at }) } }).observe(document, { childList: true, characterData: true, subtree: true })
  // The first row, in a frame that was drawn.
  new MutationObserver((_, o) => { if (document.querySelector('main tbody tr')) { o.disconnect(); drawn((at) => { w.first = at }) } }).observe(document, { childList: true, subtree: true })
  w.scroll = () => { w.frames = []; let before; const tick = (at) => { if (before) w.frames.push(at - before); before = at; if (w.counting) requestAnimationFrame(tick) }; w.counting = true; requestAnimationFrame(tick) }
}

const list = { findings: '/v1/scans/results', assets: '/v1/asset/enumerate/contents' }
const counts = '/v1/scans/results/counts'
const settled = (page) => page.waitForFunction(() => window.watched.open === 0 && window.watched.asked.every((x) => x.drawn || x.failed))

const at = (of, share) => { const sorted = [...of].sort((a, b) => a - b); return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] }
const ms = (x) => (x === undefined ? '–' : `${Math.round(x)} ms`)
const row = (what, of) => console.log(`| ${what} | ${ms(at(of, 0.5))} | ${ms(at(of, 1))} | ${of.length} |`)

/** Times of one interaction, from the last event of the person to the frame that shows the rows, and the facets. */
async function time(page, of, act) {
  await page.evaluate(() => { window.watched.asked = [] })
  await act()
  // Other rows, or an answer with the same ones.
  await page.waitForFunction((path) => window.watched.rows > 0 || window.watched.asked.some((x) => x.path === path && x.drawn && !x.failed && x.began >= window.watched.last), list[of]).catch((e) => { throw new Error(`the rows stayed: ${e.message}`) })
  await settled(page)
  await page.waitForFunction(() => !Number.isNaN(window.watched.rows)) // the frame is yet to be drawn
  return page.evaluate(({ path, counts }) => {
    const drawn = (p) => window.watched.asked.filter((x) => x.path === p && !x.failed).at(-1)
    const l = window.watched.asked.find((x) => x.path === path && !x.failed && x.began >= window.watched.last && x.began < window.watched.last + 250), c = drawn(counts) // what follows is asked for ahead, 300 ms later
    return { rows: (l ? Math.max(l.drawn, window.watched.acted) : window.watched.rows ?? window.watched.acted) - window.watched.last, waited: l ? l.ended - l.began : 0, counts: c && c.drawn - window.watched.last }
  }, { path: list[of], counts })
}

const interactions = {
  findings: [
    ['facet: high', (p) => p.getByRole('checkbox', { name: 'High' }).click()],
    ['facet: triaged', (p) => p.getByRole('checkbox', { name: 'Triaged' }).click()],
    ['sort by name', (p) => p.getByRole('button', { name: 'Finding', exact: true }).click()],
    ['sort by place', (p) => p.getByRole('button', { name: /^(Where|Place)/ }).click()],
    ['sort by time found', (p) => p.getByRole('columnheader', { name: 'Found' }).getByRole('button').click()],
    ['next page', (p) => p.getByRole('button', { name: 'Next' }).click()],
    ['found in the last week', (p) => p.getByRole('combobox', { name: /Found/ }).selectOption('last_week')],
    ['only regressions', (p) => p.getByRole('checkbox', { name: /regress/i }).click()],
    ['typing four letters', (p) => p.getByRole('searchbox').first().pressSequentially('host', { delay: 40 })],
  ],
  assets: [
    ['only new', (p) => p.getByRole('checkbox').first().click()],
    ['next page', (p) => p.getByRole('button', { name: 'Next' }).click()],
    ['typing four letters', (p) => p.getByRole('searchbox').nth(0).pressSequentially('shop', { delay: 40 })],
    ['typing a condition', (p) => p.getByRole('searchbox').nth(2).fill('port = 443')],
  ],
}

async function measure(browser, base, cookies) {
  const open = async () => {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'UTC' })
    await context.addCookies(cookies)
    const page = await context.newPage()
    await page.addInitScript(watch)
    return page
  }
  console.log('| what | median | slowest | times |\n|---|---|---|---|')
  for (const of of ['findings', 'assets'].filter((x) => !process.env.ONLY || process.env.ONLY === x)) {
    const first = [], rest = []
    for (let n = 0; n < rounds; n++) {
      const page = await open()
      await page.goto(`${base}/${of}`)
      await page.locator('main tbody tr').first().waitFor()
      await page.waitForFunction(() => window.watched.first)
      await settled(page)
      first.push(await page.evaluate(() => window.watched.first))
      rest.push(await page.evaluate(() => Math.max(...window.watched.asked.map((x) => x.drawn ?? 0))))
      if (process.env.PROBE) console.log(JSON.stringify(await page.evaluate(() => window.watched.asked.map((x) => [x.path, Math.round(x.began), Math.round(x.ended), Math.round(x.drawn)]))))
      await page.context().close()
    }
    row(`${of}: first load to rows`, first)
    row(`${of}: first load to everything`, rest)
    for (const [name, act] of interactions[of]) {
      const rows = [], facets = [], waits = []
      for (let n = 0; n < rounds; n++) {
        const page = await open()
        await page.goto(`${base}/${of}`)
        await page.locator('main tbody tr').first().waitFor()
        await settled(page)
        const t = await time(page, of, () => act(page))
        rows.push(t.rows)
        waits.push(t.waited)
        if (t.counts) facets.push(t.counts)
        await page.context().close()
      }
      row(`${of}: ${name}, rows`, rows)
      if (process.env.PROBE) row('… of it the request', waits)
      if (facets.length > 0) row(`${of}: ${name}, counts of facets`, facets)
    }
  }
  if (pages > 0) await scroll(await open(), base)
}

/** Scrolls through pages with the wheel, and notes each frame. */
async function scroll(page, base) {
  await page.goto(`${base}/findings`)
  await page.locator('main tbody tr').first().waitFor()
  await settled(page)
  let frames = [], turns = [], next = []
  for (let n = 0; n < pages; n++) {
    await page.evaluate(() => window.watched.scroll())
    const height = await page.evaluate(() => document.documentElement.scrollHeight)
    for (let y = 0; y < height; y += 600) await page.mouse.wheel(0, 600)
    frames = frames.concat(await page.evaluate(() => { window.watched.counting = false; return window.watched.frames }))
    await page.evaluate(() => window.watched.scroll())
    next.push((await time(page, 'findings', () => page.getByRole('button', { name: 'Next' }).click())).rows)
    turns = turns.concat(await page.evaluate(() => { window.watched.counting = false; return window.watched.frames }))
    await page.evaluate(() => window.scrollTo(0, 0))
    await page.mouse.move(700, 300) // not where the way on is: to be there has the next page asked for
  }
  const long = (of) => `${of.filter((x) => x > 50).length} of ${of.length} above 50 ms, longest ${ms(at(of, 1))}`
  console.log(`\n${pages * 100} rows: frames of scrolling ${long(frames)}; frames of going on ${long(turns)}`)
  row('going on to the next page', next)
}

execFileSync(binary, ['version'])
const token = execFileSync(binary, ['token', 'create', '--email', 'seed@example.com', '--data-dir', data], { encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] }).trim()
const server = spawn(binary, ['serve', '--listen', '127.0.0.1:0', '--data-dir', data], { stdio: ['ignore', 'pipe', 'pipe'] })
const base = await new Promise((done, fail) => {
  let said = ''
  const take = (part) => { said += part; const m = /serves on (http:\/\/[^ ]+)/.exec(said); if (m) done(m[1]) }
  server.stdout.on('data', take)
  server.stderr.on('data', take)
  server.once('exit', () => fail(new Error(`the server ended: ${said}`)))
})
const browser = await browse()
try {
  await measure(browser, base, [{ name: 'vedette-session', value: token, url: base, httpOnly: true, sameSite: 'Strict' }])
} finally {
  await browser.close()
  server.kill('SIGTERM')
}
