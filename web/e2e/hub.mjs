// A GitHub for the browser tests: the part of its API that the App asks for, with one installation (7, of octo), three
// repositories, one with a hostile name, and a pull request that adds a key. Whoever opens its installation page is sent back at once.
import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { evil } from './hostile.mjs'

export const head = 'a'.repeat(40)
const secret = 'the-webhook-secret'
const patch = '@@ -3,2 +3,3 @@\n set -e\n+export AWS_ACCESS_KEY_ID=AKIAQ3ZL7TXWN5VKE2YD\n exec ./shop'

/** Starts it; settings are those of a server that has its App, base() is that server's address. */
export async function startHub(base) {
  const dir = mkdtempSync(join(tmpdir(), 'vedette-hub-'))
  const key = join(dir, 'app.pem')
  writeFileSync(key, generateKeyPairSync('rsa', { modulusLength: 2048, privateKeyEncoding: { type: 'pkcs1', format: 'pem' }, publicKeyEncoding: { type: 'spki', format: 'pem' } }).privateKey)
  let at = '', made = 0
  const installed = { id: 7, app_id: 12, account: { login: 'octo', type: 'Organization' } }
  const answers = {
    'GET /app': () => ({ id: 12, slug: 'vedette-test', html_url: `${at}/apps/vedette-test` }),
    'GET /app/installations/7': () => installed,
    'POST /app/installations/7/access_tokens': () => ({ token: 'ghs', expires_at: new Date(Date.now() + 3_600_000).toISOString() }),
    'POST /login/oauth/access_token': () => ({ access_token: 'ghu', token_type: 'bearer' }),
    'GET /user/installations': () => ({ total_count: 1, installations: [installed] }),
    'GET /installation/repositories': () => ({ total_count: 3, repositories: [{ id: 70, full_name: 'octo/shop', private: true }, { id: 71, full_name: 'octo/site' }, { id: 72, full_name: `octo/${evil}${'w'.repeat(150)}` }] }),
    'GET /repos/octo/shop/pulls/1': () => ({ number: 1, state: 'open', title: 'Deploy', user: { login: 'ada' }, head: { sha: head, ref: 'deploy' }, base: { sha: 'b'.repeat(40), ref: 'main' }, labels: [] }),
    'GET /repos/octo/shop/pulls/1/files': () => ['deploy/env.sh', `deploy/${evil}.sh`].map((filename) => ({ filename, status: 'modified', patch })),
    [`GET /repos/octo/shop/commits/${head}/check-runs`]: () => ({ total_count: 0, check_runs: [] }),
  }
  const site = createServer((q, r) => {
    const url = new URL(q.url, at)
    if (url.pathname === '/apps/vedette-test/installations/new') {
      const back = new URL('/api/v1/github/oauth/callback', base())
      for (const [k, v] of Object.entries({ code: 'the-code', installation_id: '7', setup_action: 'install', state: url.searchParams.get('state') })) back.searchParams.set(k, v)
      r.writeHead(302, { Location: back.href }).end()
      return
    }
    q.resume().on('end', () => {
      const known = answers[`${q.method} ${url.pathname}`]
      const doc = known ? known() : q.method === 'GET' ? [] : { id: ++made }
      r.writeHead(q.method === 'POST' ? 201 : 200, { 'Content-Type': 'application/json' }).end(JSON.stringify(doc))
    })
  })
  await new Promise((done) => site.listen(0, '127.0.0.1', done))
  at = `http://127.0.0.1:${site.address().port}`
  return {
    settings: { VEDETTE_GITHUB_APP_ID: '12', VEDETTE_GITHUB_PRIVATE_KEY_FILE: key, VEDETTE_GITHUB_WEBHOOK_SECRET: secret, VEDETTE_GITHUB_CLIENT_ID: 'Iv1.client', VEDETTE_GITHUB_CLIENT_SECRET: 'client-secret-0123', VEDETTE_GITHUB_API_URL: at },
    /** Tells the server that the pull request was opened. */
    opened: async () => {
      const text = JSON.stringify({ action: 'opened', installation: { id: 7 }, repository: { id: 70, full_name: 'octo/shop', private: true }, pull_request: { number: 1, state: 'open', title: 'Deploy', user: { login: 'ada' }, head: { sha: head }, base: { ref: 'main' } } })
      const r = await fetch(`${base()}/hooks/github`, { method: 'POST', body: text, headers: { 'Content-Type': 'application/json', 'X-GitHub-Event': 'pull_request', 'X-GitHub-Delivery': 'd1', 'X-Hub-Signature-256': `sha256=${createHmac('sha256', secret).update(text).digest('hex')}` } })
      if (!r.ok) throw new Error(`the webhook: ${r.status} ${await r.text()}`)
    },
    close: () => { site.close(); site.closeAllConnections(); rmSync(dir, { recursive: true, force: true }) },
  }
}

/** Starts a GitLab with one project, acme/shop, and a merge request that adds a key; url is its address. */
export async function startLab(base) {
  const answers = {
    'GET /user': () => ({ id: 5, username: `bot${evil}` }),
    'GET /projects/acme%2Fshop': () => ({ id: 70, path_with_namespace: 'acme/shop', visibility: 'private' }),
    'GET /projects/70/merge_requests/1': () => ({ iid: 1, state: 'opened', title: 'Deploy', sha: head, target_branch: 'main', labels: [], author: { id: 1, username: 'ada' }, diff_refs: { base_sha: head, start_sha: head } }),
    'GET /projects/70/merge_requests/1/diffs': () => [{ old_path: 'deploy/env.sh', new_path: 'deploy/env.sh', diff: patch }],
  }
  const site = createServer((q, r) => {
    q.resume().on('end', () => {
      const known = answers[`${q.method} ${q.url.split('?')[0].replace('/api/v4', '')}`]
      const doc = known ? known() : q.method === 'GET' ? [] : { id: 1 }
      r.writeHead(q.headers['private-token'] === 'glpat-journey' ? 200 : 401, { 'Content-Type': 'application/json' }).end(JSON.stringify(doc))
    })
  })
  await new Promise((done) => site.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${site.address().port}`,
    /** Tells the server that the merge request was opened. */
    opened: async (path, token) => {
      const r = await fetch(base() + path, { method: 'POST', body: JSON.stringify({ object_kind: 'merge_request', project: { id: 70 }, object_attributes: { iid: 1, action: 'open' } }), headers: { 'Content-Type': 'application/json', 'X-Gitlab-Event': 'Merge Request Hook', 'X-Gitlab-Token': token } })
      if (!r.ok) throw new Error(`the webhook: ${r.status} ${await r.text()}`)
    },
    close: () => { site.close(); site.closeAllConnections() },
  }
}

/** Waits until the first review at a forge, which is a job, has ended well. */
export async function reviewed(server, forge) {
  for (;;) {
    const { reviews: [first] } = await server.api('GET', `/api/v1/${forge}/reviews`)
    if (first?.finished_at) { assert.equal(first.status, 'completed', first.error); return }
    await new Promise((done) => setTimeout(done, 100))
  }
}
