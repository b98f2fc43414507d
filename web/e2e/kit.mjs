// What the browser tests share: a server of the real binary on a free port with its own data, and pages that fail a test on
// any breach of their policy, any error of a script and anything that a foreign text would run.
//
// The variable DATABASE says where the servers of a run have their data: sqlite, which it is without one, or postgres. SLOW
// holds half of the pages' requests for up to so many milliseconds, which shows what a journey does too early.
import assert from 'node:assert/strict'
import { createServer as createSite } from 'node:http'
import { test } from 'node:test'
import { execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'
import { mainOf, matches } from './screens.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
const binary = join(root, 'bin/vedette')
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
export const password = 'correct-horse-battery'

const freePort = () => new Promise((done) => { const s = createServer().listen(0, '127.0.0.1', () => { const { port } = s.address(); s.close(() => done(port)) }) })

const slow = Number(process.env.SLOW ?? 0)
const onPostgres = process.env.DATABASE === 'postgres'

/** A PostgreSQL of its own, in a folder. */
async function postgres(dir) {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql').sort((a, b) => b - a) : []
  if (versions.length === 0) throw new Error('no PostgreSQL is installed')
  const bin = `/usr/lib/postgresql/${versions[0]}/bin`
  const home = join(dir, 'pg')
  mkdirSync(home)
  const as = {}
  if (process.getuid() === 0) { // it refuses to run as root
    as.uid = Number(execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' }))
    as.gid = Number(execFileSync('id', ['-g', 'postgres'], { encoding: 'utf8' }))
    execFileSync('chmod', ['755', dir])
    chownSync(home, as.uid, as.gid)
  }
  execFileSync(`${bin}/initdb`, ['-D', `${home}/data`, '-U', 'vedette', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C'], { ...as, cwd: home, stdio: 'ignore' })
  const port = await freePort()
  const server = spawn(`${bin}/postgres`, ['-D', `${home}/data`, '-p', String(port), '-h', '127.0.0.1', '-k', home, '-F'], { ...as, cwd: home, stdio: ['ignore', 'ignore', 'pipe'] })
  await new Promise((done, fail) => {
    server.stderr.on('data', (part) => { if (String(part).includes('ready to accept connections')) done() })
    server.once('exit', () => fail(new Error('PostgreSQL ended')))
  })
  return { url: `postgres://vedette@127.0.0.1:${port}/postgres?sslmode=disable`, close: () => new Promise((done) => { server.once('exit', done); server.kill('SIGINT') }) }
}

/**
 * Starts a server; its users are ada (owner) and bob (viewer of the same team), with the same password. With keys,
 * security keys can be used at its address, which is localhost; model is what a language model answers, settings are
 * variables of its environment. More of them can be given to start, after kill.
 */
export async function serve({ keys = false, model, settings = {} } = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'vedette-web-'))
  const database = onPostgres ? await postgres(dir) : undefined
  const more = ['--data-dir', join(dir, 'data'), ...(database ? ['--database', database.url] : [])]
  const run = (args, input) => execFileSync(binary, [...args, ...more], { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] })
  const s = { dir, run, process: undefined, base: '', kept: new Map() }
  const env = { ...process.env, VEDETTE_API_KEYS_PER_USER: '5', ...settings }
  if (model) {
    writeFileSync(join(dir, 'model.json'), JSON.stringify(model))
    Object.assign(env, { VEDETTE_LLM_PROVIDER: 'scripted', VEDETTE_LLM_SCRIPT: join(dir, 'model.json') })
  }
  s.start = async (listen = '127.0.0.1:0', also = {}) => {
    const port = keys ? await freePort() : 0
    if (keys) listen = `127.0.0.1:${port}`
    s.process = spawn(binary, ['serve', '--listen', listen, ...more, ...(keys ? ['--public-url', `http://localhost:${port}`] : [])], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...env, ...also } })
    s.base = await new Promise((resolve, reject) => {
      let text = ''
      const take = (part) => {
        text += part
        const m = /serves on (http:\/\/[^ ]+)/.exec(text)
        if (m) resolve(m[1])
      }
      s.process.stdout.on('data', take)
      s.process.stderr.on('data', take)
      s.process.once('exit', () => reject(new Error(`the server ended: ${text}`)))
    })
    if (keys) s.base = `http://localhost:${port}`
  }
  s.kill = () => new Promise((resolve) => { s.process.once('exit', resolve); s.process.kill('SIGKILL') })
  s.close = async () => { await s.kill(); await database?.close(); rmSync(dir, { recursive: true, force: true }) }
  run(['user', 'create', '--email', 'ada@example.com', '--admin', '--team', 'Red team', '--password-stdin'], password)
  run(['user', 'create', '--email', 'bob@example.com', '--team', 'Red team', '--password-stdin'], password)
  run(['user', 'role', '--email', 'bob@example.com', '--team', 'Red team', '--role', 'viewer'])
  await s.start()
  const token = run(['token', 'create', '--email', 'ada@example.com']).trim()
  const made = await fetch(s.base + '/api/v1/user/apikey', { method: 'POST', headers: { Authorization: `Bearer ${token}` } })
  s.key = (await made.json()).key
  s.api = async (method, path, body) => {
    const r = await fetch(s.base + path, { method, headers: { 'X-Api-Key': s.key, 'Content-Type': typeof body === 'string' ? 'application/octet-stream' : 'application/json' }, body: typeof body === 'string' ? body : body && JSON.stringify(body) })
    if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${await r.text()}`)
    return r.json()
  }
  return s
}

/** Waits until what a path answers has the state, and gives the answer; a state that it cannot leave is an error. */
export async function ended(server, path, wanted) {
  for (;;) {
    const answer = await server.api('GET', path)
    const { status } = answer.data?.status ? answer.data : answer
    if (status === wanted) return answer
    assert.ok(!['failed', 'stopped', 'aborted', 'completed', 'finished'].includes(status), JSON.stringify(answer))
    await new Promise((done) => setTimeout(done, 100))
  }
}

export const browse = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--font-render-hinting=none', '--disable-lcd-text'] })

/** A page, and what went wrong on it. */
export async function open(browser, server, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'UTC', ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(Number(process.env.PATIENCE ?? 60_000))
  page.problems = []
  page.server = server
  page.visited = new Set()
  page.on('framenavigated', (f) => { if (f === page.mainFrame()) page.visited.add(new URL(f.url()).pathname) })
  page.on('pageerror', (e) => page.problems.push(`script: ${e.message}`))
  page.on('dialog', (d) => { page.problems.push(`dialog: ${d.message()}`); void d.dismiss() })
  page.on('request', (r) => { if (!r.url().startsWith(server.base) && !r.url().startsWith('blob:')) page.problems.push(`request to ${r.url()}`) })
  await page.exposeFunction('breach', (what) => page.problems.push(what))
  await page.addInitScript(() => document.addEventListener('securitypolicyviolation', (e) => window.breach(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`)))
  if (slow) await page.route(/\/v1\//, async (route) => { await new Promise((done) => setTimeout(done, Math.random() < 0.5 ? 0 : Math.random() * slow)); await route.continue().catch(() => undefined) })
  page.at = (path) => page.goto(server.base + path)
  return page
}

/** A page of another person, who is signed in; what is visited and goes wrong there counts for the first. */
export async function another(page, path, email = 'bob@example.com') {
  const other = await open(page.context().browser(), page.server)
  Object.assign(other, { problems: page.problems, visited: page.visited })
  await other.at(path)
  await signIn(other, email)
  return other
}

/** Signs in where the page is: by what an earlier sign-in at the server left in the browser, or by the form (fresh). */
export async function signIn(page, email = 'ada@example.com', fresh = false) {
  const kept = page.server?.kept?.get(email)
  if (kept && !fresh) {
    await page.getByLabel('Email').waitFor()
    await page.context().addCookies(kept)
    const next = new URL(page.url()).searchParams.get('next') ?? '/'
    await page.goto(page.server.base + next)
    const door = page.getByRole('button', { name: 'Sign in', exact: true }) // pages behind it have fields for addresses, too
    await page.getByRole('navigation', { name: 'Main' }).or(door).first().waitFor()
    if (await door.count() === 0) return
    page.server.kept.delete(email) // it has ended
  }
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  page.server?.kept?.set(email, await page.context().cookies())
}

/** No page is wider than the narrowest screen: 1280 px at 400 % (WCAG 2.2, 1.4.10). */
export async function narrow(page, what) {
  const before = page.viewportSize()
  await page.setViewportSize({ width: 320, height: 640 })
  const wide = await page.evaluate(() => document.documentElement.scrollWidth)
  await page.setViewportSize(before)
  assert.ok(wide <= 320, `${what} is ${wide} wide on 320`)
}

/** Takes pictures of a page for people to look at, where SHOTS names a folder: light and dark, 1440 and 390 wide. */
async function pictures(page, what) {
  const before = page.viewportSize()
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 844 })
    for (const theme of ['light', 'dark']) {
      await page.evaluate((x) => { document.documentElement.dataset.theme = x }, theme)
      await page.screenshot({ path: join(process.env.SHOTS, `${what.replace(/\W+/g, '-')}-${theme}-${width}.png`) })
    }
  }
  await page.setViewportSize(before)
}

/**
 * Says that a page fits a narrow screen, and that axe finds nothing on it, light and dark. What is not about colours is the
 * same in both; and what a page looks like is the same on both databases, so that one is enough.
 */
export async function both(page, what) {
  if (onPostgres) return
  await narrow(page, what)
  if (process.env.SHOTS) await pictures(page, what)
  assert.deepEqual(await look(page), [], what)
}

/** What axe finds on a page, light and dark. */
export async function look(page) {
  const found = []
  for (const theme of onPostgres ? [] : ['light', 'dark']) {
    await page.evaluate((x) => { document.documentElement.dataset.theme = x }, theme)
    found.push(...(await check(page, theme === 'dark')).map((x) => `${theme}: ${x}`))
  }
  return found
}

/** Makes a test of a journey on a page of its own, which must have met no problem at its end, and been at the screens whose main one it is. */
export const journeys = (of) => function journey(name, run, options) {
  test(name, async () => {
    const { browser, server } = of()
    const page = await open(browser, server, options)
    try {
      await run(page)
      assert.deepEqual(page.problems, [])
      for (const screen of mainOf(name)) assert.ok([...page.visited].some((path) => matches(screen, path)), `it was not at ${screen}`)
    } catch (e) {
      e.stack += `\nat ${page.url()}\nproblems: ${page.problems.join('\n')}\n${(await page.locator('body').innerText().catch(() => '')).slice(0, 1500)}`
      if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `failed-${name.replace(/\W+/g, '-').slice(0, 60)}.png`) }).catch(() => undefined)
      throw e
    } finally {
      await page.context().close()
    }
  })
}

/** A site with weaknesses: a working copy of Git and a settings file lie open. slow() is the pause before its answers. */
export async function weakSite(slow = () => 0) {
  const site = createSite((q, r) => setTimeout(() => {
    if (q.url === '/.git/HEAD') r.end('ref: refs/heads/main\n')
    else if (q.url === '/.env') r.end('APP_KEY=base64:c2VjcmV0c2VjcmV0\nDB_PASSWORD=hunter2hunter2\nDB_HOST=localhost\n')
    else if (q.url === '/') r.end('<title>Shop</title><h1>Shop</h1>')
    else { r.statusCode = 404; r.end('nothing here') }
  }, slow()))
  await new Promise((done) => site.listen(0, '127.0.0.1', done))
  return { site, target: `http://127.0.0.1:${site.address().port}` }
}

/** Closes the messages of what was done, so that the next of the same words is another. */
export async function dismiss(page) {
  const close = page.getByRole('status').getByRole('button', { name: 'Close' })
  while (await close.count() > 0) await close.first().click()
}

/** A screen is there, and nothing on it still loads. */
export async function ready(page) {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForFunction(() => !document.querySelector('[data-loading]'))
}

/** What axe finds that is serious or critical, of all or (colours) of contrasts alone. The tool is given to the page past its policy, by the debugger. */
export async function check(page, colours = false) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  const found = await page.evaluate(async (colours) => (await window.axe.run(document, { resultTypes: ['violations'], preload: false, ...(colours ? { runOnly: ['color-contrast', 'link-in-text-block'] } : {}) })).violations, colours)
  return found.filter((v) => v.impact === 'serious' || v.impact === 'critical').map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(' | ')}`)
}
