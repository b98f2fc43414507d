import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { agent, ApiError, body, team, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { useRole } from '../../lib/me'
import { useURL } from '../../lib/search'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Copy, Dialog, Facts, Field, Loading, Problem } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'
import { CameBack } from './came-back'

const s = t.slack
type Workspace = Agent['SlackWorkspace']
const tone: Record<string, string> = { active: 'good', pending_unclaimed: 'wait', revoked_external: 'bad' }
const noApp = (error: unknown) => error instanceof ApiError && error.code === 'slack_not_configured'

/** The team's workspace of Slack, where people begin tasks: how it is connected, and what connects and disconnects it. */
export function Slack() {
  const role = useRole()
  const found = useQuery({ queryKey: ['slack', team.id], queryFn: () => body(agent.GET('/api/v1/slack/oauth/status')) })
  const token = useToken()
  return (
    <div className="grid max-w-4xl gap-4 *:min-w-0">
      <CameBack of={s} />
      {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !found.data ? <Loading what={t.settings.page.slack!} /> : (
        <>
          <Now of={found.data} />
          {role.admin ? <>{(token || found.data.status !== 'active') && <Claim given={token} />}<Own /></> : token && <Card title={s.claimTitle}><p className="mb-2 text-sm">{s.claimOthers}</p><code className="text-xs break-all">{token}</code> <Copy text={token} /></Card>}
        </>
      )}
    </div>
  )
}

/** What claims a workspace, for who comes from Slack's own page of the app. The address forgets it. */
function useToken() {
  const [, set] = useURL()
  const [token] = useState(() => new URLSearchParams(location.hash.slice(1)).get('setup_token')?.slice(0, 2000) ?? '')
  useEffect(() => { if (location.hash) set({}, { replace: true }) }, [set])
  return token
}

function Now({ of }: { of: Workspace }) {
  const role = useRole()
  const [leaves, setLeaves] = useState(false)
  const begin = useAct(() => body(agent.POST('/api/v1/slack/oauth/connect')), [], undefined, { shown: true })
  const drop = useAct(() => body(agent.DELETE('/api/v1/slack/connection')) as Promise<Workspace & { warnings?: string[] }>, ['slack'], (x) => { setLeaves(false); toast(x.warnings?.[0] ?? s.dropped) }, { shown: true })
  const to = begin.data?.authorize_url
  const host = to && /^https?:/.test(to) ? new URL(to).host : ''
  const there = of.status === 'active'
  const address = of.events_path && location.origin + of.events_path
  return (
    <Card title={s.workspace} actions={role.admin && <span className="flex flex-wrap gap-2">
      <Button kind={there ? '' : 'primary'} disabled={begin.isPending} onClick={() => begin.mutate()}>{there ? s.again : s.connect}</Button>
      {(there || of.status === 'revoked_external') && <Button onClick={() => setLeaves(true)}>{s.disconnect}</Button>}
    </span>}>
      <Facts of={[
        [s.state, <Chip key="s" tone={tone[of.status]}>{s.status[of.status]}</Chip>],
        [s.name, of.team_name && <Shown key="n" text={of.team_name} max={200} className="font-medium" />],
        [s.organisation, of.enterprise_name && <Shown key="o" text={of.enterprise_name} max={200} />],
        [s.error, of.error && <Shown key="e" text={of.error} max={500} className="text-high" />],
        [s.events, address && <span key="p"><code className="text-xs break-all">{address}</code> <Copy text={address} /></span>],
      ]} />
      <p className="mt-3 max-w-prose text-sm text-muted">{there ? s.how : of.status === 'revoked_external' ? s.ended : s.none}</p>
      {noApp(begin.error) ? <p role="alert" className="mt-3 max-w-prose text-sm text-high">{s.noApp}</p> : begin.error && <Problem error={begin.error} />}
      {host && (
        <Dialog title={s.connectTitle} onClose={() => begin.reset()}>
          <p className="mb-4 text-sm">{s.connectText}</p>
          <p className="flex justify-end gap-2"><Button onClick={() => begin.reset()}>{t.cancel}</Button><a className="btn btn-primary" href={to} rel="noreferrer" autoFocus>{s.open(host)}</a></p>
        </Dialog>
      )}
      {leaves && <Confirm title={s.dropTitle} action={s.disconnect} busy={drop.isPending} error={drop.error} onClose={() => { setLeaves(false); drop.reset() }} onYes={() => drop.mutate()}>{s.dropText}</Confirm>}
    </Card>
  )
}

function Claim({ given }: { given: string }) {
  const [token, setToken] = useState(given)
  const claim = useAct(() => body(agent.POST('/api/v1/slack/oauth/claim', { body: { setup_token: token.trim() } })), ['slack'], () => { setToken(''); toast(s.connected) }, { shown: true })
  return (
    <Card title={s.claimTitle}>
      <p className="mb-3 max-w-prose text-sm text-muted">{s.claimText}</p>
      {given && token === given && <p role="status" className="mb-3 max-w-prose rounded-sm bg-medium-soft px-3 py-2 text-sm text-medium">{s.claimOnly}</p>}
      <form onSubmit={(e) => { e.preventDefault(); claim.mutate() }}>
        <Field label={s.token}>{(p) => <input {...p} className="field font-mono" autoComplete="off" spellCheck={false} required maxLength={2000} value={token} onChange={(e) => setToken(e.target.value)} />}</Field>
        {noApp(claim.error) ? <p role="alert" className="mb-3 text-sm text-high">{s.noApp}</p> : claim.error && <Problem error={claim.error} />}
        <Button type="submit" disabled={claim.isPending}>{s.claim}</Button>
      </form>
    </Card>
  )
}

/** An app of the team's. Its secrets are sent and forgotten; the server shows them to nobody. */
function Own() {
  const [bot, setBot] = useState('')
  const [signing, setSigning] = useState('')
  const save = useAct(() => body(agent.PUT('/api/v1/slack/connection', { body: { bot_token: bot, signing_secret: signing } })), ['slack'], () => { setBot(''); setSigning(''); toast(s.connectedOwn) }, { shown: true })
  return (
    <Card title={s.own}>
      <p className="mb-3 max-w-prose text-sm text-muted">{s.ownText}</p>
      <form onSubmit={(e) => { e.preventDefault(); save.mutate() }}>
        <div className="grid gap-x-3 sm:grid-cols-2">
          <Field label={s.bot} hint={s.botHint}>{(p) => <input {...p} className="field font-mono" type="password" autoComplete="off" required maxLength={500} value={bot} onChange={(e) => setBot(e.target.value)} />}</Field>
          <Field label={s.signing} hint={s.signingHint}>{(p) => <input {...p} className="field font-mono" type="password" autoComplete="off" required maxLength={500} value={signing} onChange={(e) => setSigning(e.target.value)} />}</Field>
        </div>
        {save.error && <Problem error={save.error} />}
        <Button type="submit" disabled={save.isPending}>{s.connectOwn}</Button>
      </form>
    </Card>
  )
}
