// A Slack for the browser tests: the part of its Web API that connects a workspace, which has a hostile name. Whoever opens
// its page of the app is sent back at once.
import { createServer } from 'node:http'
import { evil } from './hostile.mjs'

export const token = 'xoxb-blue-0123456789'

/** Starts it; settings are those of a server that has its app, base() is that server's address. */
export async function startChat(base) {
  const team = { id: 'T0BLUE', name: `Blue ${evil}` }
  const answers = {
    'oauth.v2.access': () => ({ access_token: token, token_type: 'bot', app_id: 'A0APP', bot_user_id: 'U0BOT', team, enterprise: null, is_enterprise_install: false }),
    'auth.test': () => ({ team_id: team.id, team: team.name, user_id: 'U0BOT', bot_id: 'B0BOT', is_enterprise_install: false }),
    'auth.revoke': () => ({ revoked: true }),
  }
  let at = ''
  const site = createServer((q, r) => {
    const url = new URL(q.url, at)
    if (url.pathname === '/oauth/v2/authorize') {
      const back = new URL('/api/v1/slack/oauth/callback', base())
      for (const [k, v] of Object.entries({ code: 'the-code', state: url.searchParams.get('state') })) back.searchParams.set(k, v)
      r.writeHead(302, { Location: back.href }).end()
      return
    }
    q.resume().on('end', () => {
      const method = url.pathname.replace('/api/', '')
      const known = method === 'oauth.v2.access' || q.headers.authorization === `Bearer ${token}`
      r.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(known ? { ok: true, ...answers[method]?.() } : { ok: false, error: 'invalid_auth' }))
    })
  })
  await new Promise((done) => site.listen(0, '127.0.0.1', done))
  at = `http://127.0.0.1:${site.address().port}`
  return {
    settings: { VEDETTE_SLACK_CLIENT_ID: '111.222', VEDETTE_SLACK_CLIENT_SECRET: 'client-secret-0123', VEDETTE_SLACK_SIGNING_SECRET: 'signing-secret-0123', VEDETTE_SLACK_API_URL: `${at}/api` },
    close: () => { site.close(); site.closeAllConnections() },
  }
}
