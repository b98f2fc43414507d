import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState, type FormEvent } from 'react'
import { agent, ApiError, body } from '../lib/api'
import { useURL } from '../lib/search'
import { askKey, hasKeys } from '../lib/webauthn'
import { Button, Field, useTitle } from '../ui/kit'
import { t } from '../texts'

/** The page for signing in. Afterwards it goes where the person wanted to. */
export function Login() {
  useTitle(t.login.title)
  const [search] = useURL()
  const navigate = useNavigate()
  const queries = useQueryClient()
  // Only to a view of this console: a link cannot send somebody elsewhere after signing in.
  const next = /^\/(?![/\\])/.test(search.next ?? '') ? search.next! : '/'
  return (
    <main className="grid grid-cols-[minmax(0,24rem)] justify-center min-h-screen place-content-center bg-panel p-4">
      <div className="card w-[24rem] max-w-full p-6 shadow-layer">
        <div className="mb-5 flex items-center gap-2.5">
          <img src="/console/icon.svg" alt="" width="28" height="28" />
          <h1 className="text-xl font-semibold tracking-tight">{t.login.title}</h1>
        </div>
        <SignIn onDone={() => { queries.clear(); void navigate({ href: next + window.location.hash } as never) }} />
      </div>
    </main>
  )
}

/** The form for signing in: a password, then a second factor where there is one, or the OpenID issuer. */
export function SignIn({ onDone, email: known = '' }: { onDone: () => void; email?: string }) {
  const methods = useQuery({ queryKey: ['methods'], queryFn: () => body(agent.GET('/api/v1/auth/methods')) })
  const [email, setEmail] = useState(known)
  const [password, setPassword] = useState('')
  const [ticket, setTicket] = useState('')
  const [code, setCode] = useState('')
  const [problem, setProblem] = useState('')
  const [busy, setBusy] = useState(false)

  const submit = async (e: FormEvent) => {
    e.preventDefault()
    setBusy(true)
    setProblem('')
    try {
      if (ticket) await agent.POST('/api/v1/auth/login/second', { body: { ticket, code: code.trim(), cookie: true } as never })
      else await agent.POST('/api/v1/auth/login', { body: { email, password, cookie: true } })
      setPassword('')
      onDone()
    } catch (error) {
      const e = error as ApiError
      const asked = e.headers?.get('X-Sign-In-Ticket')
      if (asked) { setTicket(asked); setPassword('') } else setProblem(e.message)
    } finally {
      setBusy(false)
    }
  }
  const withKey = async () => {
    setBusy(true)
    setProblem('')
    try {
      const { publicKey } = await body(agent.POST('/api/v1/auth/login/second/challenge', { body: { ticket } }))
      await agent.POST('/api/v1/auth/login/second', { body: { ticket, credential: await askKey(publicKey), cookie: true } as never })
      onDone()
    } catch (error) {
      setProblem((error as Error).message)
    } finally {
      setBusy(false)
    }
  }
  const m = methods.data
  return (
    <>
      {methods.error && <p role="alert" className="mb-3 text-sm text-high">{methods.error.message}</p>}
      {m && !m.set_up && <p className="mb-4 rounded-sm bg-medium-soft p-2.5 text-sm text-medium">{t.login.notSetUp}</p>}
      {m?.oidc_path && (
        <>
          <a className={`btn w-full ${m.password ? '' : 'btn-primary'}`} href={m.oidc_path}>{t.login.oidc}</a>
          {m.password && <p className="my-4 text-center text-xs text-muted">{t.login.or}</p>}
        </>
      )}
      {m?.turnstile_site_key && m.password && <p className="mb-4 rounded-sm bg-medium-soft p-2.5 text-sm text-medium">{t.login.turnstile}</p>}
      {(!m || m.password) && (
        <form onSubmit={(e) => void submit(e)} aria-label={t.login.title}>
          {!ticket ? (
            <>
              <Field label={t.login.email}>{(p) => <input {...p} className="field" type="email" name="email" autoComplete="username" required autoFocus value={email} onChange={(e) => setEmail(e.target.value)} />}</Field>
              <Field label={t.login.password}>{(p) => <input {...p} className="field" type="password" name="password" autoComplete="current-password" required value={password} onChange={(e) => setPassword(e.target.value)} />}</Field>
            </>
          ) : (
            <Field label={t.login.code} hint={t.login.codeHint}>{(p) => <input {...p} className="field" inputMode="text" autoComplete="one-time-code" required autoFocus value={code} onChange={(e) => setCode(e.target.value)} />}</Field>
          )}
          {problem && <p role="alert" className="mb-3 text-sm text-high [overflow-wrap:anywhere]">{problem}</p>}
          <Button kind="primary" type="submit" disabled={busy} className="w-full">{t.login.submit}</Button>
          {ticket && hasKeys() && <Button disabled={busy} className="mt-2 w-full" onClick={() => void withKey()}>{t.login.withKey}</Button>}
        </form>
      )}
    </>
  )
}
