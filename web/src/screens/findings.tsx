import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { memo, useEffect, useRef, useState, type RefObject } from 'react'
import { platform, body, team } from '../lib/api'
import { count } from '../lib/format'
import { type Everything, eventOf, pageOf, severities, statuses, statusTone, useFindings, type Query, type Result } from '../lib/findings'
import { useCommands } from '../lib/keys'
import { useMe, useRole } from '../lib/me'
import { queries } from '../lib/queries'
import { save } from '../lib/save'
import { useTyped, useURL, type Search } from '../lib/search'
import { Shown } from '../lib/show'
import { useNext, useTotal } from '../lib/total'
import { Button, Chip, Dialog, Empty, Head, Loading, Pages, Problem, RowLink, Severity, Sheet, Time, To, useCards, useTitle } from '../ui/kit'
import { t } from '../texts'
import { Detail } from './finding'
import { SeverityDialog } from './finding-severity'
import { WorkDialogs, type Asking } from './finding-work'
import { Views } from './views'

const pageSize = 100

const yes = (v: string | undefined) => (v === '1' ? true : v === '0' ? false : undefined)
const chips = ['host', 'domain', 'port', 'template', 'category', 'scan', 'tag', 'label', 'internal', 'ticket'] as const
const filters = ['q', 'severity', 'status', 'time', 'assignee', 'regression', ...chips]

/** The request that a search stands for: everything but info and what was decided, unless it says otherwise. */
function queryOf(s: Search): Query {
  return {
    severity: s.severity || severities.join(','),
    vuln_status: s.status === 'any' ? undefined : s.status || 'open',
    search: s.q, time: s.time || undefined, host: s.host, templates: s.template, scan_ids: s.scan, tags: s.tag, labels: s.label,
    domain: s.domain, port: s.port, category: s.category, assignee: s.assignee, is_regression: yes(s.regression), is_internal: yes(s.internal), is_ticket: yes(s.ticket),
    [s.dir === 'asc' ? 'sort_asc' : 'sort_desc']: s.sort || 'severity',
  }
}

const counted = body // a row's place has the same name below
const pageAt = (s: Search) => Math.max(0, Number(s.page ?? 1) - 1 || 0)
const rowsOf = (s: Search): Query => ({ ...queryOf(s), without_total: true, limit: pageSize, offset: pageAt(s) * pageSize })

/** Asks for what an address shows, before anything can be drawn. */
export const ask = (s: Search) => void queries.prefetchQuery(pageOf(rowsOf(s)))

const list = (v: unknown) => (v ? String(v).split(',').map((x) => x.trim()).filter(Boolean) : undefined)

/** What a search selects on all of its pages, for a request, and in words. */
function everythingOf(s: Search, n: number, about: boolean, first: Result): Everything {
  const q = queryOf(s)
  const said = [s.status === 'any' ? t.status.any! : (s.status || 'open').split(',').map((x) => t.status[x] ?? x).join(', '), ...(list(s.severity) ?? []).map((x) => t.severity[x] ?? x),
    ...filters.filter((k) => s[k] && k !== 'severity' && k !== 'status').map((k) => `${t.findings.filterName[k] ?? k}: ${k === 'time' ? (t.time[s[k] as keyof typeof t.time] ?? s[k]) : s[k]}`)]
  return {
    n, about, first, words: said.join(' · '),
    filter: {
      severity: list(q.severity as string), vuln_status: list(q.vuln_status as string), search: s.q, time: s.time as never, host: list(s.host), templates: list(s.template), scan_ids: list(s.scan), tags: list(s.tag), labels: list(s.label),
      domain: list(s.domain), port: list(s.port)?.map(Number).filter((p) => p > 0), category: list(s.category), assignee: list(s.assignee), is_regression: yes(s.regression), is_internal: yes(s.internal), is_ticket: yes(s.ticket),
    } as Everything['filter'],
  }
}

export function Findings() {
  useTitle(t.findings.title)
  const [search, set] = useURL()
  const [typed, setTyped] = useTyped('q')
  const role = useRole()
  const navigate = useNavigate()
  const page = pageAt(search)
  const found = useFindings(rowsOf(search))
  const rows = found.data?.data ?? []
  const { sort_asc: _a, sort_desc: _d, ...matching } = queryOf(search)
  const { n: total, about, pending } = useTotal('finding-counts', matching, found.isPlaceholderData ? undefined : found.data,
    (signal) => counted(platform.GET('/v1/scans/results', { params: { query: { ...matching, limit: 1 } as never }, signal })))
  useNext(found.isPlaceholderData ? undefined : found.data, total > (page + 1) * pageSize, () => ask({ ...search, page: String(page + 2) }))
  const me = useMe()
  const [chosen, setChosen] = useState<Map<string, Result>>(new Map())
  const [at, setAt] = useState(0)
  const [asking, setAsking] = useState<Asking>('')
  const [rating, setRating] = useState(false)
  const [everything, setEverything] = useState(false) // beyond this page
  const filter = useRef<HTMLInputElement>(null)
  const body = useRef<HTMLTableSectionElement>(null)
  const cards = useCards(false)
  const now = rows[Math.min(at, rows.length - 1)]
  const what = JSON.stringify([queryOf(search), page])
  useEffect(() => { setChosen(new Map()); setAt(0); setEverything(false) }, [what])
  const first = useRef(true)
  useEffect(() => {
    if (first.current) { first.current = false; return }
    body.current?.querySelectorAll('tr')[at]?.scrollIntoView({ block: 'nearest' })
  }, [at])

  const move = (by: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, at + by))
    setAt(next)
    if (search.open && rows[next]) set({ open: rows[next].vuln_id }, { replace: true })
  }
  const toggle = (r: Result) => { setEverything(false); setChosen((old) => { const m = new Map(old); if (!m.delete(r.vuln_id)) m.set(r.vuln_id, r); return m }) }
  // What a row does, always the same to it, so that only rows that change are drawn again.
  const does = useRef<Does>({ toggle: () => undefined, open: () => undefined })
  does.current = { toggle, open: (i, r) => { setAt(i); set({ open: search.open === r.vuln_id ? undefined : r.vuln_id }) } }
  const targets = chosen.size > 0 ? [...chosen.values()] : now ? [now] : []
  const joinable = !everything && chosen.size > 1
  const clear = () => { setChosen(new Map()); setEverything(false) }
  const g = t.findings.title
  useCommands([
    { id: 'f down', label: t.findings.keys.next, group: g, keys: 'j', run: () => move(1) },
    { id: 'f up', label: t.findings.keys.previous, group: g, keys: 'k', run: () => move(-1) },
    { id: 'f open', label: t.findings.keys.open, group: g, keys: 'Enter', run: () => now && set({ open: search.open === now.vuln_id ? undefined : now.vuln_id }) },
    { id: 'f page', label: t.findings.keys.page, group: g, keys: 'o', run: () => now && void navigate({ to: `/findings/${now.vuln_id}` } as never) },
    { id: 'f close', label: t.findings.keys.close, group: g, keys: 'Escape', run: () => { set({ open: undefined }); clear() } },
    { id: 'f filter', label: t.findings.keys.filter, group: g, keys: '/', run: () => filter.current?.focus() },
    ...(role.writes ? [
      { id: 'f choose', label: t.findings.keys.choose, group: g, keys: 'x', run: () => now && toggle(now) },
      { id: 'f all', label: t.findings.keys.all, group: g, keys: 'X', run: () => { setEverything(false); setChosen(chosen.size === rows.length ? new Map() : new Map(rows.map((r) => [r.vuln_id, r]))) } },
      { id: 'f everything', label: t.findings.keys.everything, group: g, run: () => { setChosen(new Map(rows.map((r) => [r.vuln_id, r]))); setEverything(true) } },
      { id: 'f status', label: t.findings.keys.status, group: g, keys: 's', run: () => targets.length > 0 && setAsking('status') },
      { id: 'f assign', label: t.findings.keys.assign, group: g, keys: 'a', run: () => targets.length > 0 && setAsking('assign') },
      { id: 'f label', label: t.findings.keys.label, group: g, keys: 'l', run: () => targets.length > 0 && setAsking('label') },
      { id: 'f join', label: t.findings.keys.join, group: g, keys: 'm', run: () => joinable && setAsking('join') },
      { id: 'f severity', label: t.findings.keys.severity, group: g, keys: 'v', run: () => targets.length > 0 && setRating(true) },
    ] : []),
  ])
  const sort = (field: string) => set(
    (search.sort || 'severity') === field ? { dir: search.dir === 'asc' ? undefined : 'asc', page: undefined } : { sort: field, dir: undefined, page: undefined })
  const filtered = filters.some((k) => search[k])
  const all = everything && rows[0] ? everythingOf(search, total, about, rows[0]) : undefined

  return (
    <>
      <Head title={t.findings.title} note={found.data && (pending ? t.pages.count : t.findings.total(count(total), about))}>
        <Export search={search} />
      </Head>
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <input ref={filter} type="search" className="field max-w-80" aria-label={t.findings.filter} placeholder={t.findings.filter} value={typed} onChange={(e) => setTyped(e.target.value)}
          onKeyDown={(e) => { if (e.key === 'Escape') e.currentTarget.blur() }} />
        <select className="field !w-auto" aria-label={t.findings.found} value={search.time ?? ''} onChange={(e) => set({ time: e.target.value || undefined, page: undefined })}>
          {(['', 'last_day', 'last_week', 'last_month', 'last_3_months'] as const).map((x) => <option key={x} value={x}>{t.time[x]}</option>)}
        </select>
        {role.insider && (
          <select className="field !w-auto" aria-label={t.findings.assignee} value={search.assignee ?? ''} onChange={(e) => set({ assignee: e.target.value || undefined, page: undefined })}>
            <option value="">{t.findings.anyone}</option><option value={me.data?.email ?? 'me'}>{t.findings.mine}</option><option value="none">{t.findings.unassigned}</option>
            {search.assignee && search.assignee !== 'none' && search.assignee !== me.data?.email && <option value={search.assignee}>{search.assignee.slice(0, 60)}</option>}
          </select>
        )}
        <label className="flex items-center gap-1.5 text-sm"><input type="checkbox" checked={search.regression === '1'} onChange={(e) => set({ regression: e.target.checked ? '1' : undefined, page: undefined })} />{t.findings.regressions}</label>
        {chips.filter((k) => search[k]).map((k) => (
          <button key={k} type="button" className="inline-flex max-w-64 items-center gap-1 rounded-sm bg-accent-soft px-2 text-xs leading-6 text-accent" onClick={() => set({ [k]: undefined, page: undefined })}>
            <span className="truncate">{k}: <Shown text={search[k]} max={40} /></span> <span aria-hidden="true">✕</span><span className="sr-only">{t.findings.dropFilter}</span>
          </button>
        ))}
        {filtered && <button type="button" className="link text-sm" onClick={() => { setTyped(''); void navigate({ to: '/findings', search: {} } as never) }}>{t.findings.clear}</button>}
      </div>
      {role.insider && <Views search={search} filtered={filtered} />}
      <div className="grid gap-4 lg:grid-cols-[11rem_minmax(0,1fr)]">
        <Facets search={search} set={set} after={!found.isFetching && !pending} />
        <div className={`grid min-w-0 items-start gap-4 ${search.open ? 'xl:grid-cols-[minmax(0,1fr)_minmax(26rem,45%)]' : ''}`}>
          <div className="card min-w-0">
            {chosen.size > 0 && (
              <div className="sticky top-0 z-10 flex flex-wrap items-center gap-2 border-b border-line bg-accent-soft px-3 py-1.5 text-sm text-accent" role="status">
                <span className="flex-1 basis-56 font-medium">{everything ? t.findings.everythingChosen(count(total), about) : t.findings.chosen(chosen.size)}
                  {!everything && chosen.size === rows.length && total > rows.length && <> <button type="button" className="link ml-1" onClick={() => setEverything(true)}>{t.findings.chooseEverything(count(total), about)}</button></>}</span>
                <Button onClick={() => setAsking('status')}>{t.findings.setStatus} <span className="kbd" aria-hidden="true">s</span></Button>
                <Button onClick={() => setAsking('assign')}>{t.findings.assign} <span className="kbd" aria-hidden="true">a</span></Button>
                <Button onClick={() => setAsking('label')}>{t.findings.label} <span className="kbd" aria-hidden="true">l</span></Button>
                <Button onClick={() => setRating(true)}>{t.severityOwn.action} <span className="kbd" aria-hidden="true">v</span></Button>
                {joinable && <Button onClick={() => setAsking('join')}>{t.findings.join} <span className="kbd" aria-hidden="true">m</span></Button>}
                <Button kind="quiet" onClick={clear}>{t.findings.none}</Button>
              </div>
            )}
            {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !found.data ? <Loading what={t.findings.title} /> : rows.length === 0 ? (
              filtered ? <Empty title={t.findings.noMatch} action={<Button onClick={() => { setTyped(''); void navigate({ to: '/findings', search: { status: 'any' } } as never) }}>{t.findings.showAll}</Button>}>{t.findings.noMatchText}</Empty>
                : <Empty title={t.findings.empty} action={role.writes && <To to="/tasks/new" className="btn btn-primary">{t.tasks.new}</To>}>{t.findings.emptyText}</Empty>
            ) : (
              <div className="relative overflow-x-auto" tabIndex={0} role="region" aria-label={t.findings.title}>
                <table ref={cards} role="table" className="cards cards-sorted w-full border-collapse text-left text-sm" aria-label={t.findings.title} aria-rowcount={total}>
                  <thead role="rowgroup">
                    <tr role="row" className="border-b border-line text-xs text-muted">
                      {role.writes && <th scope="col" role="columnheader" className="w-8 pl-3 max-sm:hidden"><span className="sr-only">{t.findings.choose}</span></th>}
                      {([['severity', t.findings.col.severity], ['template_id', t.findings.col.name], ['host', t.findings.col.place], ['vuln_status', t.findings.col.status], ['created_at', t.findings.col.found]] as const).filter(([f]) => !search.open || (f !== 'host' && f !== 'created_at')).map(([f, name]) => {
                        const is = (search.sort || 'severity') === f
                        return (
                          <th key={f} scope="col" role="columnheader" aria-sort={is ? (search.dir === 'asc' ? 'ascending' : 'descending') : 'none'} className={`px-3 py-1 ${f === 'template_id' ? (search.open ? 'w-full' : 'w-3/5 min-w-44') : ''}`}>
                            <button type="button" className="min-h-6 font-medium whitespace-nowrap hover:text-text" onClick={() => sort(f)}>{name}<span aria-hidden="true">{is ? (search.dir === 'asc' ? ' ↑' : ' ↓') : ''}</span></button>
                          </th>
                        )
                      })}
                    </tr>
                  </thead>
                  <tbody ref={body} role="rowgroup">
                    {/* Keyed by place, so that a page takes over the rows of the one before. */}
                    {rows.map((r, i) => <Row key={i} of={r} i={i} now={i === at} narrow={!!search.open} open={search.open === r.vuln_id} chosen={chosen.has(r.vuln_id)} writes={role.writes} does={does} />)}
                  </tbody>
                </table>
              </div>
            )}
            {total > pageSize && <Pages page={page} total={total} pending={pending} size={pageSize} go={(p) => set({ page: p > 0 ? String(p + 1) : undefined })} near={(p) => ask({ ...search, page: String(p + 1) })} />}
          </div>
          {search.open && (
            <Sheet label={t.findings.panel}>
              <Detail id={search.open} key={search.open} panel onClose={() => set({ open: undefined })} />
            </Sheet>
          )}
        </div>
      </div>
      {rating && targets.length > 0 && <SeverityDialog list={targets.map((r) => ({ vuln_id: r.vuln_id, template_id: r.template_id, event: r.event[0] }))} all={all} onClose={() => { setRating(false); clear() }} />}
      <WorkDialogs asking={asking} list={targets} all={all} onClose={() => { setAsking(''); clear() }} />
    </>
  )
}

type Does = { toggle: (r: Result) => void; open: (i: number, r: Result) => void }

const Row = memo(function Row({ of: r, i, now, narrow, open, chosen, writes, does }: { of: Result; i: number; now: boolean; narrow: boolean; open: boolean; chosen: boolean; writes: boolean; does: RefObject<Does> }) {
  const e = eventOf(r)
  const name = e?.info.name || r.template_id
  return (
    <tr className={`cursor-pointer border-b border-line last:border-0 ${open ? 'bg-accent-soft' : chosen ? 'bg-panel' : 'hover:bg-panel'} ${now ? 'shadow-[inset_3px_0_0_var(--accent)]' : ''}`} aria-selected={now}
      onClick={(ev) => { if (!(ev.target as Element).closest('a, input')) does.current.open(i, r) }}>
      {writes && <td className="py-1.5 pl-3 align-top"><input type="checkbox" className="size-4 align-[-3px]" aria-label={t.findings.chooseOne(name)} checked={chosen} onChange={() => does.current.toggle(r)} /></td>}
      <td className="px-3 py-1.5 align-top"><Severity of={e?.info.severity} /></td>
      <td className="cards-line px-3 py-1.5 align-top">
        <RowLink to={`/findings/${r.vuln_id}`} className="line-clamp-2 font-medium hover:text-accent"><Shown text={name} max={160} /></RowLink>
        {r.is_regression && <span className="mr-1"><Chip tone="wait">{t.findings.regression}</Chip></span>}
        {narrow && <span className="line-clamp-1 text-xs text-muted"><Shown text={e?.['matched-at'] || r.target} max={100} /></span>}
        {r.labels.slice(0, 4).map((l) => <span key={l} className="mr-1"><Chip><Shown text={l} max={30} /></Chip></span>)}
        {r.assignee && <span className="text-xs text-muted"><Shown text={r.assignee} max={60} /></span>}
      </td>
      {!narrow && <td className="cards-line w-2/5 min-w-64 px-3 py-1.5 align-top text-muted"><span className="line-clamp-2"><Shown text={e?.['matched-at'] || r.target} max={140} /></span></td>}
      <td className="px-3 py-1.5 align-top"><Chip tone={statusTone[r.vuln_status ?? 'open']}>{t.status[r.vuln_status ?? 'open']}</Chip></td>
      {!narrow && <td className="px-3 py-1.5 align-top text-muted"><Time at={r.created_at} /></td>}
    </tr>
  )
})

function Facets({ search, set, after }: { search: Search; set: (c: Partial<Search>) => void; after: boolean }) {
  const chosen = (k: string, d: string) => new Set((search[k] ?? d).split(',').filter(Boolean))
  const counts = useCounts(search, after)
  const toggle = (k: string, d: string, v: string) => {
    const s = chosen(k, d)
    if (!s.delete(v)) s.add(v)
    set({ [k]: s.size === 0 ? undefined : [...s].join(','), page: undefined, open: undefined })
  }
  const status = search.status === 'any' ? '' : 'open'
  const [open, setOpen] = useState(false) // on a narrow screen the list comes first
  return (
    <div className="min-w-0">
    <button type="button" className="btn lg:hidden" aria-expanded={open} onClick={() => setOpen(!open)}>{t.findings.facets} <span aria-hidden="true">{open ? '▴' : '▾'}</span></button>
    <div className={`grid content-start gap-4 text-sm max-lg:mt-2 max-lg:grid-cols-2 ${open ? '' : 'max-lg:hidden'}`}>
      <fieldset>
        <legend className="mb-1 text-xs font-semibold text-muted">{t.findings.col.severity}</legend>
        {severities.map((s) => (
          <label key={s} className="flex min-h-7 items-center gap-2">
            <input type="checkbox" checked={chosen('severity', '').has(s)} onChange={() => toggle('severity', '', s)} /><Severity of={s} />
            <span className="ml-auto text-xs text-muted">{counts.severity(s)}</span>
          </label>
        ))}
      </fieldset>
      <fieldset>
        <legend className="mb-1 text-xs font-semibold text-muted">{t.findings.col.status}</legend>
        <label className="flex min-h-7 items-center gap-2"><input type="checkbox" checked={search.status === 'any'} onChange={(e) => set({ status: e.target.checked ? 'any' : undefined, page: undefined })} />{t.status.any}</label>
        {statuses.map((s) => (
          <label key={s} className="flex min-h-7 items-center gap-2">
            <input type="checkbox" checked={chosen('status', status).has(s)} onChange={() => {
              const now = chosen('status', status)
              now.delete('any')
              if (!now.delete(s)) now.add(s)
              set({ status: now.size === 0 ? 'any' : [...now].join(',') === 'open' ? undefined : [...now].join(','), page: undefined, open: undefined })
            }} />{t.status[s]}
            <span className="ml-auto text-xs text-muted">{counts.status(s)}</span>
          </label>
        ))}
      </fieldset>
    </div>
    </div>
  )
}

/** How many findings each facet has, counted without the facet's own filter: after the rows, which they would hold up on a big database. */
function useCounts(search: Search, after: boolean) {
  const q = queryOf(search)
  const { sort_asc: _a, sort_desc: _d, ...query } = q as Record<string, unknown>
  const found = useQuery({
    queryKey: ['finding-counts', team.id, query], enabled: after, placeholderData: keepPreviousData,
    queryFn: ({ signal }) => body(platform.GET('/v1/scans/results/counts', { params: { query: query as never }, signal })),
  })
  return {
    severity: (s: string) => found.data && count(found.data.severity[s]),
    status: (s: string) => found.data && count(found.data.vuln_status[s]),
  }
}

const formats = ['csv', 'json', 'html', 'pdf', 'docx', 'sarif', 'cyclonedx', 'csaf', 'openvex'] as const

// Filters that exports do not have: then what the list shows is exported by its ids, of which a request takes so many.
const onlyListed = ['tag', 'label', 'assignee', 'regression', 'ticket'] as const
const mostIds = 10_000

async function idsOf(q: Query): Promise<string[]> {
  const ids: string[] = []
  for (let offset = 0; ; offset += pageSize) {
    const part = await body(platform.GET('/v1/scans/results', { params: { query: { ...q, limit: pageSize, offset } as never } }))
    if (part.total_results > mostIds) throw new Error(t.findings.tooManyToExport(count(mostIds)))
    ids.push(...part.data.map((r) => r.vuln_id))
    if (part.data.length < pageSize) return ids
  }
}

function Export({ search }: { search: Search }) {
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const run = async (type: string) => {
    setBusy(true)
    setProblem(undefined)
    try {
      const q = queryOf(search)
          const { data, response } = await platform.POST('/v1/scans/results/export', {
        params: { query: { type: type as never } },
        body: { ...(onlyListed.some((k) => search[k]) ? { ids: await idsOf(q) } : {
          severity: list(q.severity), vuln_status: q.vuln_status, search: q.search, host: list(q.host), domain: list(q.domain), port: list(q.port)?.map(Number).filter((p) => p > 0), template: list(q.templates),
          category: list(q.category), scan_ids: list(q.scan_ids), time: q.time, is_internal: q.is_internal,
        }) } as never,
        parseAs: 'blob',
      })
      save(data as unknown as Blob, `findings.${type}`, response)
    } catch (e) {
      setProblem(e)
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <select className="field !w-auto" aria-label={t.findings.export} disabled={busy} value="" onChange={(e) => void run(e.target.value)}>
        <option value="">{busy ? t.findings.exporting : t.findings.export}</option>
        {formats.map((f) => <option key={f} value={f}>{f.toUpperCase()}</option>)}
      </select>
      {problem ? <Dialog title={t.findings.export} onClose={() => setProblem(undefined)}><Problem error={problem} /></Dialog> : null}
    </>
  )
}
