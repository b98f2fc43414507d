import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { agent, body, platform, team, type Agent, type Platform } from '../lib/api'
import { count, date, size } from '../lib/format'
import { useRole } from '../lib/me'
import { Raw, Shown } from '../lib/show'
import { save } from '../lib/save'
import { Button, Card, Chip, Copy, Facts, Problem, Table, Time, To } from '../ui/kit'
import { failed } from '../ui/toast'
import { t } from '../texts'
import { Comparisons, comparisonsOf } from './finding-compared'

export type Vulnerability = Platform['ScanVulnerability']

export const useOccurrences = (id: string) => useQuery({
  queryKey: ['places', team.id, id],
  queryFn: () => body(platform.GET('/v1/scans/vuln/{vuln_id}/occurrences', { params: { path: { vuln_id: id }, query: { limit: 100 } as never } })),
})

/** The second look that confirmed a task's issue, if there was one. */
function useVerification(f: Vulnerability) {
  const places = useOccurrences(f.vuln_id)
  const of = f.task_id ? { task: f.task_id, id: f.vuln_id } : places.data?.data.filter((o) => o.source === 'task' && o.task_id).map((o) => ({ task: o.task_id!, id: o.vuln_id }))[0]
  const issues = useQuery({
    queryKey: ['issues', team.id, of?.task], enabled: !!of,
    queryFn: () => body(agent.GET('/api/v1/issues', { params: { query: { task_id: of!.task, per_page: 200 } as never } })),
  })
  return issues.data?.issues.find((i) => i.vuln_id === of?.id)
}

export function Evidence({ f, brief = false }: { f: Vulnerability; brief?: boolean }) {
  const issue = useVerification(f)
  const e = f.event
  const second: Agent['Evidence'] | undefined = issue?.evidence.findLast((x) => x.kind === 'verification')
  const marks = e?.['extracted-results'] ?? []
  const compared = comparisonsOf(f, issue)
  if (!e?.request && !e?.response && compared.length === 0) return <Card title={t.findings.tabs.evidence}><p className="text-sm text-muted">{t.findings.noEvidence}</p></Card>
  return (
    <div className="grid gap-4">
      {second && (
        <p className="rounded-sm bg-good-soft px-3 py-2 text-sm text-good">
          {t.findings.verified(second.confirmed ?? 0, second.tried ?? 0)} <Time at={second.at} />
        </p>
      )}
      {e['extracted-results'] && e['extracted-results'].length > 0 && (
        <Card title={t.findings.extracted}>
          <ul className="font-mono text-xs">{e['extracted-results'].slice(0, 50).map((x, i) => <li key={i}><Shown text={x} max={500} /></li>)}</ul>
        </Card>
      )}
      {!brief && <Comparisons of={compared} />}
      {e['curl-command'] && <Card title={t.findings.curl} actions={<Copy text={e['curl-command']} />}><pre className="raw max-h-32 overflow-auto" tabIndex={0} role="region" aria-label={t.findings.curl}><Shown text={e['curl-command']} max={4000} /></pre></Card>}
      <div className={brief || !second?.response ? 'grid gap-4' : 'grid gap-4 xl:grid-cols-2'}>
        <Exchange title={second ? t.findings.firstLook : ''} request={e.request} response={e.response} marks={marks} />
        {!brief && second?.response && <Exchange title={t.findings.secondLook} request={second.request} response={second.response} marks={second.extracted ?? []} than={e.response} />}
      </div>
      {brief && compared.length > 0 && <p className="text-sm"><To to={`/findings/${f.vuln_id}`} search={{ tab: 'evidence' }} className="link">{t.findings.compared.link(compared.length)}</To></p>}
      {brief && second?.response && <p className="text-sm"><To to={`/findings/${f.vuln_id}`} search={{ tab: 'evidence' }} className="link">{t.findings.compare}</To></p>}
    </div>
  )
}

/** Lines of the head and body of a response that another does not have. */
export function differing(text: string, than: string): string[] {
  const other = new Set(than.split(/\r?\n/))
  return text.slice(0, 256 << 10).split(/\r?\n/).filter((l) => l.trim() && !other.has(l)).slice(0, 40)
}

function Exchange({ title, request, response, marks, than }: { title: string; request?: string; response?: string; marks: string[]; than?: string }) {
  const apart = than !== undefined && response ? differing(response, than) : undefined
  return (
    <div className="grid min-w-0 content-start gap-4">
      {request && <Card title={`${title ? `${title}: ` : ''}${t.findings.request}`} actions={<Copy text={request} />}><Raw text={request} label={t.findings.request} marks={marks} /></Card>}
      {response && (
        <Card title={`${title ? `${title}: ` : ''}${t.findings.response} · ${size(response.length)}`} actions={<Copy text={response} />}>
          {apart && <p className="mb-2 text-xs text-muted">{apart.length === 0 ? t.findings.same : t.findings.differs(apart.length)}</p>}
          {apart && apart.length > 0 && <ul className="mb-2 font-mono text-xs text-medium">{apart.slice(0, 8).map((l, i) => <li key={i}>+ <Shown text={l} max={160} /></li>)}</ul>}
          <Raw text={response} marks={marks} label={t.findings.response} />
        </Card>
      )}
    </div>
  )
}

const sealTone: Record<string, string> = { intact: 'good', changed: 'bad', unsealed: 'wait' }
const replayTone: Record<string, string> = { queued: 'busy', same: 'bad', changed: 'wait', gone: 'good', failed: 'wait' }

/** Whether what was seen is still what was sealed, and what came of sending it again. */
export function Seal({ id }: { id: string }) {
  const role = useRole()
  const queries = useQueryClient()
  const found = useQuery({
    queryKey: ['evidence', team.id, id],
    queryFn: () => body(platform.GET('/v1/scans/vuln/{vuln_id}/evidence', { params: { path: { vuln_id: id } } })),
    refetchInterval: (q) => (q.state.data?.replays.some((r) => r.state === 'queued') ? 1000 : false),
  })
  const replay = useMutation({
    mutationFn: () => platform.POST('/v1/scans/vuln/{vuln_id}/replay', { params: { path: { vuln_id: id } } }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['evidence'] }), onError: failed,
  })
  const file = async () => {
    try {
      const { data, response } = await platform.GET('/v1/scans/vuln/{vuln_id}/evidence/export', { params: { path: { vuln_id: id } }, parseAs: 'blob' })
      save(data as unknown as Blob, 'evidence.jsonl', response)
    } catch (e) { failed(e) }
  }
  const e = found.data
  if (found.error) return <Problem error={found.error} />
  if (!e) return null
  const running = e.replays.some((r) => r.state === 'queued')
  return (
    <Card title={t.evidence.title} flush actions={<>
      <Button onClick={() => void file()}>{t.evidence.file}</Button>
      {role.writes && e.proof === 'replayable' && <Button disabled={running || replay.isPending} onClick={() => replay.mutate()}>{running ? t.evidence.replaying : t.evidence.replay}</Button>}
    </>}>
      <div className="grid gap-2 p-3">
        <p className="flex flex-wrap items-center gap-2 text-sm"><Chip tone={sealTone[e.state]}>{t.evidence.state[e.state]}</Chip><span className="text-muted">{t.evidence.stateText[e.state]}</span></p>
        <Facts of={[
          [t.evidence.proof, t.evidence.proofText[e.proof]],
          [t.evidence.shown, e.verification.runs > 0 && t.evidence.shownText(e.verification.shown, e.verification.runs, e.verification.low, e.verification.high)],
          [t.evidence.entry, e.seal && <span key="e">{t.evidence.entryText(count(e.seal.entry))} <Time at={e.seal.at} /></span>],
          [t.evidence.hash, e.seal && <code key="h" className="text-xs select-all">{e.seal.hash}</code>],
          [t.findings.template, e.template.digest && <span key="t"><Shown text={e.template.template_id || e.template.tool} max={120} /> <code className="block text-xs text-muted">SHA-256 {e.template.digest}</code></span>],
        ]} />
      </div>
      {e.replays.length > 0 && (
        <Table label={t.evidence.replays} head={[t.evidence.replays, t.evidence.outcome, t.evidence.by, t.scans.when]}>
          {e.replays.slice(0, 20).map((r) => (
            <tr key={r.id}><td>{t.evidence.source[r.source]}</td><td><Chip tone={replayTone[r.state]}>{t.evidence.result[r.state]}</Chip>{r.note && <span className="block text-xs text-muted"><Shown text={r.note} max={300} /></span>}</td>
              <td className="text-muted"><Shown text={r.by} max={80} /></td><td className="whitespace-nowrap text-muted">{date(r.ended_at ?? r.asked_at)}</td></tr>
          ))}
        </Table>
      )}
    </Card>
  )
}
