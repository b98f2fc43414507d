import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, ApiError, body, team, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { useRole } from '../../lib/me'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Copy, Dialog, Empty, Facts, Loading, Problem, Time } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'
import { CameBack } from './came-back'
import { Repositories, Reviews, tone } from './forge'

const g = t.github
type Installation = Agent['GitHubInstallation']

/** What of GitHub the team has connected, how its repositories are reviewed, and what was found. */
export function GitHub() {
  const installations = useQuery({ queryKey: ['github', team.id], retry: false, queryFn: () => body(agent.GET('/api/v1/github/installations')) })
  const none = installations.error instanceof ApiError && installations.error.code === 'github_not_configured'
  return (
    <div className="grid max-w-5xl gap-4 *:min-w-0">
      <CameBack of={g} />
      {none ? <NoApp /> : installations.error ? <Problem error={installations.error} retry={() => void installations.refetch()} /> : !installations.data ? <Loading what={g.installations} /> : (
        <>
          <Installations of={installations.data.installations} />
          {installations.data.total > 0 && <Repositories of="github" />}
          {installations.data.total > 0 && <Reviews of="github" />}
        </>
      )}
    </div>
  )
}

function NoApp() {
  const at = (path: string) => location.origin + path
  return (
    <Card title={g.noApp}>
      <p className="mb-4 max-w-prose text-sm text-muted">{g.noAppText}</p>
      <Facts of={[
        [g.callback, <span key="c"><code className="text-xs">{at('/api/v1/github/oauth/callback')}</code> <Copy text={at('/api/v1/github/oauth/callback')} /></span>],
        [g.hooks, <span key="h"><code className="text-xs">{at('/hooks/github')}</code> <Copy text={at('/hooks/github')} /></span>],
        [g.permissions, g.permissionsText], [g.events, g.eventsText],
        [g.settings, <code key="s" className="text-xs">github_app_id, github_private_key_file, github_webhook_secret, github_client_id, github_client_secret</code>],
      ]} />
    </Card>
  )
}

function Installations({ of }: { of: Installation[] }) {
  const role = useRole()
  const [number, setNumber] = useState('')
  const [gone, setGone] = useState<Installation>()
  const begin = useAct(() => body(agent.POST('/api/v1/github/installations/connect')), [])
  const claim = useAct((id: number) => body(agent.POST('/api/v1/github/installations/claim', { body: { installation_id: id } })), ['github', 'github-repos'], (x) => { setNumber(''); toast(g.read(x.account_login, x.total_repos)) })
  const drop = useAct(() => agent.DELETE('/api/v1/github/installations/{github_installation_id}', { params: { path: { github_installation_id: gone!.id } } }), ['github', 'github-repos', 'github-reviews'], () => setGone(undefined), { shown: true })
  const to = begin.data?.install_url
  const host = to && /^https?:/.test(to) ? new URL(to).host : ''
  return (
    <Card title={g.installations} flush actions={role.admin && <Button kind={of.length === 0 ? 'primary' : ''} disabled={begin.isPending} onClick={() => begin.mutate()}>{g.connect}</Button>}>
      {of.length === 0 ? <Empty title={g.none}>{g.noneText}</Empty> : (
        <ul className="divide-y divide-line">
          {of.map((x) => (
            <li key={x.id} className="flex flex-wrap items-start gap-3 px-3 py-2.5 text-sm">
              <div className="min-w-0 flex-1 basis-72">
                <p className="flex flex-wrap items-center gap-2"><Shown text={x.account_login} max={80} className="font-medium" /><Chip tone={tone[x.status]}>{g.status[x.status]}</Chip></p>
                <p className="text-xs text-muted">{g.repos(x.total_repos)} · {g.number(x.installation_id)}{x.checked_at && <> · {g.answered} <Time at={x.checked_at} /></>}</p>
                {x.error && <p className="text-xs text-high"><Shown text={x.error} max={300} /></p>}
              </div>
              {role.admin && <span className="flex flex-wrap gap-2"><Button disabled={claim.isPending} onClick={() => claim.mutate(x.installation_id)}>{g.again}</Button><Button onClick={() => setGone(x)}>{g.disconnect}</Button></span>}
            </li>
          ))}
        </ul>
      )}
      {role.admin && (
        <details className="border-t border-line px-3 py-2 text-sm"><summary className="text-muted">{g.byNumber}</summary>
          <form className="mt-2 flex flex-wrap items-end gap-2" onSubmit={(e) => { e.preventDefault(); claim.mutate(Number(number)) }}>
            <label>{g.numberField}<input className="field" inputMode="numeric" required pattern="[0-9]{1,15}" value={number} onChange={(e) => setNumber(e.target.value)} /></label>
            <Button type="submit" disabled={claim.isPending}>{g.claim}</Button>
          </form>
          <p className="mt-1 text-xs text-muted">{g.byNumberText}</p>
        </details>
      )}
      {host && (
        <Dialog title={g.connectTitle} onClose={() => begin.reset()}>
          <p className="mb-4 text-sm">{g.connectText}</p>
          <p className="flex justify-end gap-2"><Button onClick={() => begin.reset()}>{t.cancel}</Button><a className="btn btn-primary" href={to} rel="noreferrer" autoFocus>{g.open(host)}</a></p>
        </Dialog>
      )}
      {gone && <Confirm title={g.dropTitle} action={g.disconnect} busy={drop.isPending} error={drop.error} onClose={() => setGone(undefined)} onYes={() => drop.mutate()}>{g.dropText(gone.account_login)}</Confirm>}
    </Card>
  )
}
