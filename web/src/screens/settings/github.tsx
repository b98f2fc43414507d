import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, ApiError, body, team, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { useRole } from '../../lib/me'
import { useTyped, useURL } from '../../lib/search'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Copy, Dialog, Empty, Facts, Loading, Problem, Severity, Table, Time } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'
import { CameBack } from './came-back'
import { Options } from './github-options'

const g = t.github
type Installation = Agent['GitHubInstallation']
type Review = Agent['GitHubListedReview']
const tone: Record<string, string> = { active: 'good', suspended: 'wait', revoked_external: 'bad', completed: 'good', failed: 'bad', running: 'busy', success: 'good', failure: 'bad', neutral: 'wait' }

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
          {installations.data.total > 0 && <Repositories />}
          {installations.data.total > 0 && <Reviews />}
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

function Repositories() {
  const [typed, setTyped] = useTyped('q')
  const [search] = useURL()
  const [open, setOpen] = useState<Agent['GitHubRepository']>()
  const found = useQuery({ queryKey: ['github-repos', team.id], queryFn: () => body(agent.GET('/api/v1/github/repos')) })
  const rows = (found.data?.repositories ?? []).filter((x) => x.repo_full_name.toLowerCase().includes((search.q ?? '').toLowerCase()))
  const set = (x: Agent['GitHubRepository']) => Object.values(x.effective_config).filter((v) => v.source === 'repo').length
  return (
    <Card title={g.repositories} flush actions={(found.data?.total ?? 0) > 10 && <input type="search" className="field !w-56" aria-label={g.filter} placeholder={g.filter} value={typed} onChange={(e) => setTyped(e.target.value)} />}>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={g.repositories} /> : rows.length === 0 ? <Empty title={g.noRepos} /> : (
        <Table label={g.repositories} head={[t.scans.name, g.auto, g.gate, g.options, '']}>
          {rows.slice(0, 200).map((x) => (
            <tr key={x.id}>
              <td><Shown text={x.repo_full_name} max={120} className="font-medium" /> {x.is_private && <Chip>{g.private}</Chip>}</td>
              <td>{x.auto_review_enabled ? g.byItself : g.onCommand}</td><td>{t.severity[String(x.effective_config.check_gate?.value)] ?? g.off}</td>
              <td className="whitespace-nowrap text-muted">{g.nSet(set(x))}</td><td><span className="flex justify-end"><Button aria-label={g.optionsOf(x.repo_full_name)} onClick={() => setOpen(x)}>{g.look}</Button></span></td>
            </tr>
          ))}
        </Table>
      )}
      {rows.length > 200 && <p className="border-t border-line px-3 py-2 text-sm text-muted">{t.more(rows.length - 200)}</p>}
      {open && <Options of={open} onClose={() => setOpen(undefined)} />}
    </Card>
  )
}

const size = 25

function Reviews() {
  const [search, set] = useURL()
  const [open, setOpen] = useState<Review>()
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const found = useQuery({ queryKey: ['github-reviews', team.id, page], refetchInterval: 15_000, queryFn: () => body(agent.GET('/api/v1/github/reviews', { params: { query: { limit: size, offset: page * size } } })) })
  const rows = found.data?.reviews ?? []
  return (
    <Card title={g.reviews} flush>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={g.reviews} /> : rows.length === 0 ? <Empty title={g.noReviews}>{g.noReviewsText}</Empty> : (
        <Table label={g.reviews} head={[g.pull, t.scans.when, t.scans.state, g.check, t.nav.findings, '']}>
          {rows.map((x) => (
            <tr key={x.id}>
              <td><Shown text={x.repo_full_name} max={120} className="font-medium" /> #{x.pr_number} <code className="text-xs text-muted"><Shown text={x.head_sha.slice(0, 8)} max={8} /></code></td>
              <td className="text-muted"><Time at={x.created_at} /></td>
              <td><Chip tone={tone[x.status]}>{g.reviewState[x.status]}</Chip></td><td>{x.conclusion ? <Chip tone={tone[x.conclusion]}>{g.conclusion[x.conclusion]}</Chip> : '–'}</td><td>{x.findings.length}</td>
              <td><span className="flex justify-end"><Button aria-label={g.reviewOf(x.repo_full_name, x.pr_number)} onClick={() => setOpen(x)}>{g.show}</Button></span></td>
            </tr>
          ))}
        </Table>
      )}
      {(page > 0 || found.data?.has_more) && <nav aria-label={t.pages.title} className="no-print flex justify-end gap-2 border-t border-line px-3 py-1.5"><Button disabled={page === 0} onClick={() => set({ page: page > 1 ? String(page) : undefined })}>{t.pages.previous}</Button><Button disabled={!found.data?.has_more} onClick={() => set({ page: String(page + 2) })}>{t.pages.next}</Button></nav>}
      {open && <One of={open} onClose={() => setOpen(undefined)} />}
    </Card>
  )
}

/** What a review read and found. No secret is in it: the server keeps their first characters alone. */
function One({ of, onClose }: { of: Review; onClose: () => void }) {
  return (
    <Dialog wide title={<><Shown text={of.repo_full_name} max={120} /> #{of.pr_number}</>} onClose={onClose}>
      <Facts of={[[g.commit, <code key="h" className="text-xs"><Shown text={of.head_sha} max={64} /></code>], [g.cause, g.causes[of.cause] ?? <Shown key="c" text={of.cause} max={60} />], [t.scans.state, g.reviewState[of.status]], [g.files, String(of.files_reviewed)], [g.comments, String(of.inline_comments)], [g.ended, of.finished_at && <Time key="t" at={of.finished_at} />], [t.network.error, of.error && <Shown key="e" text={of.error} max={500} className="text-high" />]]} />
      {of.findings.length === 0 ? <p className="mt-4 text-sm text-muted">{g.nothing}</p> : (
        <ul className="mt-4 divide-y divide-line border-t border-line">
          {of.findings.map((x, i) => (
            <li key={i} className="py-2.5 text-sm">
              <p className="flex flex-wrap items-center gap-2"><Severity of={x.severity} /><Shown text={x.title} max={200} className="font-medium" /></p>
              <p className="text-xs text-muted"><code><Shown text={`${x.path}:${x.line}`} max={300} /></code> · <Shown text={x.rule} max={80} /></p>
              <p className="mt-1"><Shown text={x.why} max={600} /></p>
              {x.shown && <p className="mt-1"><code className="text-xs"><Shown text={x.shown} max={300} /></code></p>}
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  )
}
