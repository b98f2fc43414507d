import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { body, platform, team } from '../lib/api'
import { date } from '../lib/format'
import { statusTone, useSplit, type Result } from '../lib/findings'
import { useCommands } from '../lib/keys'
import { useRole } from '../lib/me'
import { save } from '../lib/save'
import { tabOf, useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { Button, Card, Chip, Confirm, Copy, Facts, Head, Loading, Problem, Severity, Tabs, Time, To, useTitle } from '../ui/kit'
import { failed, toast } from '../ui/toast'
import { t } from '../texts'
import { Evidence, Seal, useOccurrences, type Vulnerability } from './finding-evidence'
import { History } from './finding-history'
import { OwnSeverity, SeverityDialog } from './finding-severity'
import { Tickets } from './finding-tickets'
import { WorkDialogs, type Asking } from './finding-work'

export function Finding() {
  const { id } = useParams({ strict: false }) as { id: string }
  return <Detail id={id} key={id} />
}

const useVulnerability = (id: string) => useQuery({
  queryKey: ['finding', team.id, id],
  queryFn: () => body(platform.GET('/v1/scans/vuln/{vuln_id}', { params: { path: { vuln_id: id } } })),
})

/** All about one finding: as a page of its own, or as a panel beside the list. */
export function Detail({ id, panel = false, onClose }: { id: string; panel?: boolean; onClose?: () => void }) {
  const found = useVulnerability(id)
  const role = useRole()
  const [search] = useURL()
  const [asking, setAsking] = useState<Asking>('')
  const [rating, setRating] = useState(false)
  const tab = tabOf(search, ['about', 'evidence', 'history', 'places'])
  const f = found.data
  const name = f?.event?.info.name || f?.template_id || t.findings.one
  return (
    <>
      {!panel && <Title of={name} />}
      {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !f ? <Loading what={t.findings.one} /> : (
        <div className={panel ? 'p-4' : ''}>
          {panel ? (
            <div className="mb-3 flex items-start gap-2">
              <h2 className="min-w-0 flex-1 text-lg leading-snug font-semibold"><To to={`/findings/${id}`} className="hover:text-accent"><Shown text={name} max={240} /></To></h2>
              <Button kind="quiet" className="w-8 !px-0" aria-label={t.close} onClick={onClose}>✕</Button>
            </div>
          ) : (
            <Head title={<Shown text={name} max={240} />} crumb={<To to="/findings" className="link">{t.findings.title}</To>} note={<Shown text={f.event?.['matched-at'] || f.target} max={400} />}>
              <ExportOne id={id} />
            </Head>
          )}
          <div className="mb-4 flex flex-wrap items-center gap-2">
            <Severity of={f.event?.info.severity} />
            <Chip tone={statusTone[f.vuln_status ?? 'open']}>{t.status[f.vuln_status ?? 'open']}</Chip>
            {f.is_regression && <Chip tone="wait">{t.findings.regression}</Chip>}
            {f.proof === 'unproven' && <Chip title={t.findings.unprovenText}>{t.findings.unproven}</Chip>}
            <span className="text-sm text-muted">{f.assignee ? <>{t.findings.assignee}: <Shown text={f.assignee} max={80} className="text-text" /></> : t.findings.unassigned}</span>
            {role.writes && <span className="no-print flex flex-wrap gap-2">
              <Button onClick={() => setAsking('status')}>{t.findings.setStatus}</Button><Button onClick={() => setAsking('assign')}>{t.findings.assign}</Button><Button onClick={() => setAsking('label')}>{t.findings.label}</Button><Button onClick={() => setRating(true)}>{t.severityOwn.action}</Button>
            </span>}
            <Retest id={id} writes={role.writes} />
          </div>
          <OwnSeverity f={f} writes={role.writes} />
          {panel ? <PanelBody f={f} /> : (
            <>
              <Tabs of={[['about', t.findings.tabs.about], ['evidence', t.findings.tabs.evidence], ['history', t.findings.tabs.history], ['places', t.findings.tabs.places]]} now={tab} />
              {tab === 'about' && <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]"><div className="grid content-start gap-4"><About f={f} /><Evidence f={f} brief /></div><div className="grid content-start gap-4"><Side f={f} /><Tickets f={f} writes={role.writes} /></div></div>}
              {tab === 'evidence' && <div className="grid gap-4"><Seal id={id} /><Evidence f={f} /></div>}
              {tab === 'history' && <History id={id} writes={role.writes} />}
              {tab === 'places' && <Places id={id} writes={role.writes} />}
            </>
          )}
          <WorkDialogs asking={asking} list={[f as unknown as Result]} onClose={() => setAsking('')} />
          {rating && <SeverityDialog list={[f]} onClose={() => setRating(false)} />}
        </div>
      )}
      {!panel && f && role.writes && <Keys ask={setAsking} />}
    </>
  )
}

function Title({ of }: { of: string }) { useTitle(of); return null }

function Keys({ ask }: { ask: (a: Asking) => void }) {
  useCommands([
    { id: 'f status', label: t.findings.keys.status, group: t.findings.one, keys: 's', run: () => ask('status') },
    { id: 'f assign', label: t.findings.keys.assign, group: t.findings.one, keys: 'a', run: () => ask('assign') },
    { id: 'f label', label: t.findings.keys.label, group: t.findings.one, keys: 'l', run: () => ask('label') },
  ])
  return null
}

function PanelBody({ f }: { f: Vulnerability }) {
  return <div className="grid gap-4"><About f={f} bare /><Evidence f={f} brief /><Side f={f} bare /></div>
}

function About({ f, bare = false }: { f: Vulnerability; bare?: boolean }) {
  const parts: [string, string | undefined][] = [[t.findings.description, f.description], [t.findings.impact, f.impact], [t.findings.remediation, f.remediation]]
  const inner = (
    <div className="grid max-w-prose gap-3">
      {parts.filter(([, text]) => text).map(([name, text]) => (
        <div key={name}><h3 className="text-xs font-semibold text-muted">{name}</h3><p className="whitespace-pre-line"><Shown text={text} max={8000} /></p></div>
      ))}
      {(f.reference ?? []).length > 0 && (
        <div><h3 className="text-xs font-semibold text-muted">{t.findings.references}</h3>
          {/* Addresses that templates name are text, not links: nobody is sent anywhere by what a template says. */}
          <ul>{(f.reference ?? []).slice(0, 20).map((r) => <li key={r}><Shown text={r} max={300} /> <Copy text={r} /></li>)}</ul></div>
      )}
      {parts.every(([, text]) => !text) && <p className="text-muted">{t.findings.noDescription}</p>}
    </div>
  )
  return bare ? inner : <Card title={t.findings.tabs.about}>{inner}</Card>
}

function Side({ f, bare = false }: { f: Vulnerability; bare?: boolean }) {
  const c = f.event?.info.classification
  const facts = (
    <Facts of={[
      [t.findings.col.place, <Shown key="p" text={f.event?.['matched-at'] || f.target} max={300} />],
      [t.findings.template, <To key="t" to="/findings" search={{ template: f.template_id }} className="link"><Shown text={f.template_id} max={120} /></To>],
      [t.findings.host, f.event?.host ? <To key="h" to="/findings" search={{ host: f.event.host }} className="link"><Shown text={f.event.host} max={120} /></To> : ''],
      [t.findings.address, f.event?.ip && <Shown key="a" text={f.event.ip} max={60} />],
      ['CVE', c?.['cve-id']?.length ? <Shown key="c" text={c['cve-id'].join(', ').toUpperCase()} /> : ''],
      ['CWE', c?.['cwe-id']?.length ? <Shown key="w" text={c['cwe-id'].join(', ').toUpperCase()} /> : ''],
      ['CVSS', c?.['cvss-score'] ? <span key="v">{c['cvss-score'].toFixed(1)} <Copy text={c['cvss-metrics'] ?? ''} label={t.findings.copyVector} /></span> : ''],
      [t.findings.labels, f.labels.length > 0 && <span key="l" className="flex flex-wrap gap-1">{f.labels.slice(0, 30).map((l) => <Chip key={l}><Shown text={l} max={60} /></Chip>)}</span>],
      [t.findings.scan, f.scan_id ? <To key="s" to={`/scans/${f.scan_id}`} className="link">{t.findings.openScan}</To> : ''],
      [t.findings.task, f.task_id ? <To key="k" to={`/tasks/${f.task_id}`} className="link">{t.findings.openTask}</To> : ''],
      [t.findings.first, date(f.created_at)],
      [t.findings.last, date(f.updated_at)],
      [t.findings.id, <code key="i" className="text-xs select-all">{f.vuln_id}</code>],
    ]} />
  )
  return bare ? <div className="border-t border-line pt-3">{facts}</div> : <Card title={t.findings.facts} className="self-start">{facts}</Card>
}

function Retest({ id, writes }: { id: string; writes: boolean }) {
  const queries = useQueryClient()
  const last = useQuery({
    queryKey: ['retest', team.id, id],
    queryFn: () => body(platform.GET('/v1/retest/{vuln_id}', { params: { path: { vuln_id: id } } })),
    refetchInterval: (q) => (q.state.data?.state === 'queued' ? 1000 : false),
  })
  const start = useMutation({
    mutationFn: () => platform.POST('/v1/scans/{vuln_id}/retest', { params: { path: { vuln_id: id } }, body: {} }),
    onSuccess: () => { toast(t.findings.retestStarted); void queries.invalidateQueries({ queryKey: ['retest'] }) },
    onError: failed,
  })
  const state = last.data?.state ?? 'none'
  return (
    <>
      {writes && <Button className="no-print" disabled={start.isPending || state === 'queued'} onClick={() => start.mutate()}>{t.findings.retest}</Button>}
      {state !== 'none' && <Chip tone={state === 'matched' ? 'bad' : state === 'not_matched' ? 'good' : state === 'queued' ? 'busy' : 'wait'}>{t.retest[state]}</Chip>}
    </>
  )
}

function Places({ id, writes }: { id: string; writes: boolean }) {
  const found = useOccurrences(id)
  const split = useSplit()
  const [off, setOff] = useState<string>()
  const rows = found.data?.data ?? []
  const apart = writes && new Set(rows.map((o) => o.vuln_hash)).size > 1 // what has one hash is one weakness
  return (
    <Card title={t.findings.tabs.places} flush>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={t.findings.tabs.places} /> : (
        <ul className="divide-y divide-line">
          {rows.map((o) => (
            <li key={o.vuln_id + o.vuln_hash} className="flex flex-wrap items-start gap-3 px-3 py-2 text-sm">
              <div className="min-w-0 flex-1 basis-64">
                <p><Shown text={o.matched_at} max={300} className="font-medium" /></p>
                <p className="text-xs text-muted">
                  {o.scan_id ? <To to={`/scans/${o.scan_id}`} className="link">{t.findings.scan}</To> : o.task_id ? <To to={`/tasks/${o.task_id}`} className="link">{t.findings.task}</To> : ''}
                  {' · '}<Shown text={o.template_id} max={120} />{' · '}{t.findings.sameBy} <Shown text={o.equal || o.rule} max={300} />{' · '}{t.findings.last} <Time at={o.last_seen_at} />
                </p>
              </div>
              {apart && <Button aria-label={t.findings.splitOne(o.matched_at || o.template_id)} onClick={() => setOff(o.vuln_id)}>{t.findings.split}</Button>}
            </li>
          ))}
        </ul>
      )}
      {off && <Confirm title={t.findings.splitTitle} action={t.findings.split} onClose={() => setOff(undefined)} onYes={() => { setOff(undefined); void split(off) }}>{t.findings.splitText}</Confirm>}
    </Card>
  )
}

function ExportOne({ id }: { id: string }) {
  const run = async (type: string) => {
    try {
      const { data, response } = await platform.GET('/v1/scans/vuln/{vuln_id}/export', { params: { path: { vuln_id: id }, query: { type: type as never } }, parseAs: 'blob' })
      save(data as unknown as Blob, `finding.${type}`, response)
    } catch (e) { failed(e) }
  }
  return (
    <select className="field !w-auto" aria-label={t.findings.export} value="" onChange={(e) => void run(e.target.value)}>
      <option value="">{t.findings.export}</option>
      {['pdf', 'html', 'docx', 'json', 'csv', 'sarif'].map((f) => <option key={f} value={f}>{f.toUpperCase()}</option>)}
    </select>
  )
}
