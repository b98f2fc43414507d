import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { body, platform, team, type Platform } from '../lib/api'
import { count, date } from '../lib/format'
import { useRole } from '../lib/me'
import { useTyped, useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { Card, Chip, Empty, Facts, Head, Loading, Pages, Problem, Severity, Table, Time, To, useTitle } from '../ui/kit'
import { t } from '../texts'

const c = t.cves
const size = 50
const orders = ['', 'cvss_score', 'epss_score', 'cve_updated_at'] as const
const flags = ['is_kev', 'is_template', 'is_poc', 'is_remote'] as const

const percent = (n: number | null | undefined) => (n === null || n === undefined ? '–' : `${(n * 100).toFixed(n < 0.1 ? 1 : 0)} %`)

/** What the server knows of CVEs: by its templates and by the files that its operator has loaded. */
export function CVEs() {
  useTitle(c.title)
  const [search, set] = useURL()
  const [typed, setTyped] = useTyped('q')
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const order = orders.find((x) => x === search.sort) || undefined
  const q = [search.q && `(${search.q})`, search.severity && `severity:${search.severity}`, ...flags.filter((f) => search[f]).map((f) => `${f}:true`)].filter(Boolean).join(' ')
  const query = { q: q || undefined, sort_desc: order, limit: size, offset: page * size, fields: ['cve_id,name,description,severity,cvss_score,epss_score,is_kev,is_template,cve_created_at'] }
  const found = useQuery({ queryKey: ['cves', team.id, query], placeholderData: keepPreviousData, queryFn: ({ signal }) => body(platform.GET('/v2/vulnerability/search', { params: { query: query as never }, signal })) })
  const any = Boolean(q)
  return (
    <>
      <Head title={c.title} crumb={<To to="/templates" className="link">{t.nav.templates}</To>} note={found.data && c.total(count(found.data.total))} />
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <input type="search" className="field max-w-96" aria-label={c.search} placeholder={c.search} value={typed} onChange={(e) => setTyped(e.target.value)} />
        <select className="field !w-auto" aria-label={t.findings.col.severity} value={search.severity ?? ''} onChange={(e) => set({ severity: e.target.value || undefined, page: undefined })}>
          <option value="">{t.templates.anySeverity}</option>
          {['critical', 'high', 'medium', 'low'].map((s) => <option key={s} value={s}>{t.severity[s]}</option>)}
        </select>
        <select className="field !w-auto" aria-label={c.order} value={order ?? ''} onChange={(e) => set({ sort: e.target.value || undefined, page: undefined })}>{orders.map((x) => <option key={x} value={x}>{c.orders[x]}</option>)}</select>
        {flags.map((f) => <button key={f} type="button" aria-pressed={Boolean(search[f])} className="rounded-sm border border-line px-2 text-xs leading-7 text-muted hover:bg-hover aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent" onClick={() => set({ [f]: search[f] ? undefined : '1', page: undefined })}>{c.flag[f]}</button>)}
      </div>
      <Card flush>
        {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !found.data ? <Loading what={c.title} /> : found.data.results.length === 0 ? <Empty title={any ? c.noMatch : c.none}>{any ? c.noMatchText : c.noneText}</Empty> : (
          <Table label={c.title} head={[t.findings.col.severity, c.one, 'CVSS', 'EPSS', c.published]}>
            {found.data.results.map((x) => (
              <tr key={x.cve_id}>
                <td><Severity of={x.severity} /></td>
                <td className="min-w-56"><To to={`/cves/${x.cve_id}`} className="font-medium hover:text-accent"><Shown text={x.cve_id} max={60} /></To> {x.is_kev && <Chip tone="bad">{c.flag.is_kev}</Chip>} {x.is_template && <Chip tone="good">{c.flag.is_template}</Chip>}<span className="block text-xs text-muted"><Shown text={x.name && x.name !== x.cve_id ? x.name : x.description} max={160} /></span></td>
                <td>{x.cvss_score ?? '–'}</td><td className="whitespace-nowrap">{percent(x.epss_score)}</td><td className="text-muted"><Time at={x.cve_created_at} /></td>
              </tr>
            ))}
          </Table>
        )}
        {(found.data?.total ?? 0) > size && <Pages page={page} total={found.data!.total} size={size} go={(p) => set({ page: p > 0 ? String(p + 1) : undefined })} />}
      </Card>
    </>
  )
}

type One = Platform['One']['data']

/** One CVE: what is said of it, what tests for it, and what the team has found of it. */
export function CVE() {
  const { id } = useParams({ strict: false }) as { id: string }
  useTitle(id)
  const role = useRole()
  const path = { params: { path: { id } } }
  const found = useQuery({ queryKey: ['cve', id], retry: false, queryFn: () => body(platform.GET('/v2/vulnerability/{id}', path)) })
  const line = useQuery({ queryKey: ['cve-line', team.id, id], retry: false, enabled: Boolean(found.data), queryFn: () => body(platform.GET('/v2/vulnerability/{id}/timeline', path)) })
  const x = found.data?.data
  return (
    <>
      <Head title={<Shown text={x?.cve_id ?? id} max={60} />} crumb={<To to="/cves" className="link">{c.title}</To>} note={x?.name && x.name !== x.cve_id && <Shown text={x.name} max={300} />}>
        {role.writes && x && (x.templates ?? []).length > 0 && <To to="/scans/new" search={{ template: x.templates!.slice(0, 50).join(',') }} className="btn btn-primary">{t.templates.scan}</To>}
      </Head>
      {found.error ? <Problem error={found.error} /> : !x ? <Loading what={c.one} /> : (
        <div className="grid items-start gap-4 *:min-w-0 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
          <div className="grid gap-4 *:min-w-0">
            <Card title={c.about}>
              <p className="text-sm whitespace-pre-line"><Shown text={x.description || c.noText} max={6000} /></p>
              {x.impact && <p className="mt-3 text-sm whitespace-pre-line"><strong className="block font-medium">{t.findings.impact}</strong><Shown text={x.impact} max={3000} /></p>}
              {x.remediation && <p className="mt-3 text-sm whitespace-pre-line"><strong className="block font-medium">{t.findings.remediation}</strong><Shown text={x.remediation} max={3000} /></p>}
            </Card>
            <Card title={c.line} flush>
              {line.error ? <Problem error={line.error} /> : !line.data ? <Loading what={c.line} /> : line.data.events.length === 0 ? <Empty title={c.noEvents}>{c.noEventsText}</Empty> : (
                <ul className="divide-y divide-line">{line.data.events.map((e, i) => <li key={i} className="flex flex-wrap items-center gap-x-3 px-3 py-2 text-sm"><Chip>{c.event[e.event_type] ?? e.event_type}</Chip><span className="min-w-0 flex-1"><Shown text={e.description} max={300} /></span><Time at={e.timestamp} className="text-muted" /></li>)}</ul>
              )}
            </Card>
            <Links title={c.citations} of={x.citations ?? []} />
          </div>
          <Card title={c.facts}><Facts of={facts(x)} /></Card>
        </div>
      )}
    </>
  )
}

const facts = (x: One): [string, React.ReactNode][] => [
  [t.findings.col.severity, <Severity key="s" of={x.severity} />], ['CVSS', x.cvss_score], [c.vector, x.cvss_metrics && <code key="v" className="text-xs"><Shown text={x.cvss_metrics} max={120} /></code>],
  ['EPSS', x.epss_score === null ? undefined : c.epss(percent(x.epss_score), percent(x.epss_percentile))], [c.flag.is_kev!, x.is_kev && (x.kev?.[0] ? c.kev(x.kev[0].added_date.slice(0, 10), x.kev[0].due_date.slice(0, 10)) : c.yes)],
  [c.published, date(x.cve_created_at)], [c.updated, date(x.cve_updated_at)], ['CWE', (x.cwe ?? []).length > 0 && <Shown key="w" text={x.cwe!.join(', ')} max={200} />],
  [c.products, (x.affected_products ?? []).length > 0 && <Shown key="p" text={x.affected_products!.map((p) => [p.vendor, p.product].filter(Boolean).join(' ')).join(', ')} max={600} />],
  [t.nav.templates, (x.templates ?? []).length > 0 && <span key="t">{x.templates!.slice(0, 20).map((id) => <To key={id} to={`/templates/${id}`} className="link block"><Shown text={id} max={80} /></To>)}</span>],
  [t.nav.findings, <To key="f" to="/findings" search={{ q: x.cve_id, status: 'any' }} className="link">{c.findings}</To>], [c.sources, (x.sources ?? []).join(', ')],
]

/** Addresses are text: they come from files that others wrote. */
function Links({ title, of }: { title: string; of: { url: string; source?: string }[] }) {
  if (of.length === 0) return null
  return <Card title={title}><ul className="grid gap-1 text-xs">{of.slice(0, 50).map((l, i) => <li key={i}><Shown text={l.url} max={300} /></li>)}</ul>{of.length > 50 && <p className="mt-2 text-xs text-muted">{t.more(of.length - 50)}</p>}</Card>
}
