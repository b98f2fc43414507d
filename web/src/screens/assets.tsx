import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { memo } from 'react'
import { body, platform, team, type Platform } from '../lib/api'
import { count, date } from '../lib/format'
import { useRole } from '../lib/me'
import { queries } from '../lib/queries'
import { useTyped, useURL, type Search } from '../lib/search'
import { Shown } from '../lib/show'
import { useNext, useTotal } from '../lib/total'
import { Card, Chip, Empty, Facts, Head, Loading, Pages, Problem, RowLink, Table, Tabs, Time, To, useTitle } from '../ui/kit'
import { Gallery, Graph, Screenshot } from './asset-views'
import { AssetLabels, filterOf, WithShown } from './asset-work'
import { t } from '../texts'

const pageSize = 100
const pageAt = (s: Search) => Math.max(0, Number(s.page ?? 1) - 1 || 0)
const isGallery = (s: Search) => s.view === 'gallery'
const sizeOf = (s: Search) => (isGallery(s) ? 24 : pageSize)

const matchOf = (s: Search) => ({ ...filterOf(s), is_screenshot: isGallery(s) || undefined, as_of: s.on })

/** How the page of an address is asked for. */
function pageOf(s: Search) {
  const query = { ...matchOf(s), without_total: s.on ? undefined : true, limit: sizeOf(s), offset: pageAt(s) * sizeOf(s) }
  return queryOptions({
    queryKey: ['assets', team.id, query],
    queryFn: ({ signal }) => body(platform.GET('/v1/asset/enumerate/contents', { params: { query: query as never }, signal })),
  })
}

/** Asks for what an address shows, before anything can be drawn. */
export const ask = (s: Search) => void queries.prefetchQuery(pageOf(s))

/** The inventory, as it is or as it was on a day. */
export function Assets() {
  useTitle(t.nav.assets)
  const [search, set] = useURL()
  const [typed, setTyped] = useTyped('q')
  const role = useRole()
  const page = pageAt(search)
  const gallery = isGallery(search)
  const size = sizeOf(search)
  const [label, setLabel] = useTyped('label')
  const [where, setWhere] = useTyped('where')
  const filter = filterOf(search)
  const found = useQuery({ ...pageOf(search), placeholderData: keepPreviousData })
  const rows = found.data?.data ?? []
  const shown = found.isPlaceholderData ? undefined : found.data
  const { n: total, about, pending } = useTotal('assets', matchOf(search), shown, (signal) => body(platform.GET('/v1/asset/enumerate/contents', { params: { query: { ...matchOf(search), limit: 1 } as never }, signal })))
  useNext(shown, !gallery && total > (page + 1) * size, () => ask({ ...search, page: String(page + 2) }))
  return (
    <>
      <Head title={t.nav.assets} note={found.data && (pending ? t.pages.count : t.assets.total(count(total), about))}>
        <To to="/assets/policies" className="btn">{t.policies.title}</To><To to="/assets/associated" className="btn">{t.associated.title}</To><To to="/enumerations" className="btn">{t.enumerations.title}</To>{role.writes && <To to="/enumerations" search={{ new: '1' }} className="btn btn-primary">{t.enumerations.new}</To>}
      </Head>
      <Tabs of={[['table', t.gallery.table], ['gallery', t.gallery.gallery]]} now={search.view ?? 'table'} param="view" />
      <div className="mb-3 flex flex-wrap items-center gap-3 text-sm">
        <input type="search" className="field max-w-96" aria-label={t.assets.filter} placeholder={t.assets.filter} value={typed} onChange={(e) => setTyped(e.target.value)} />
        <input type="search" className="field !w-36" aria-label={t.findings.labels} placeholder={t.findings.labels} value={label} onChange={(e) => setLabel(e.target.value)} />
        <input type="search" className="field max-w-72 font-mono" spellCheck={false} aria-label={t.group.where} placeholder={t.group.whereHint} value={where} onChange={(e) => setWhere(e.target.value)} />
        <label className="flex items-center gap-1.5"><input type="checkbox" checked={search.new === '1'} onChange={(e) => set({ new: e.target.checked ? '1' : undefined, page: undefined })} />{t.assets.onlyNew}</label>
        <label className="flex items-center gap-1.5">{t.assets.asOf} <input type="date" className="field !w-auto" value={search.on ?? ''} onChange={(e) => set({ on: e.target.value || undefined, page: undefined })} /></label>
        {found.data && !pending && !search.on && !gallery && <span className="ml-auto flex flex-wrap gap-2"><WithShown filter={filter} total={total} /></span>}
      </div>
      {gallery && found.data && !found.error && <div className="mb-4"><Gallery of={rows} /></div>}
      <Card flush className={gallery && found.data && !found.error && total <= size ? 'hidden' : ''}>
        {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !found.data ? <Loading what={t.nav.assets} /> : gallery ? null : rows.length === 0 ? (
          search.q || search.new || search.on || search.label || search.where ? <Empty title={t.assets.noMatch} /> : <Empty title={t.assets.empty} action={role.writes && <To to="/enumerations" search={{ new: '1' }} className="btn btn-primary">{t.enumerations.new}</To>}>{t.assets.emptyText}</Empty>
        ) : (
          <Table label={t.nav.assets} head={[t.assets.name, t.assets.kind, t.assets.address, t.assets.answer, t.assets.tech, t.nav.findings, t.assets.seen]}>
            {rows.map((a, i) => <Row key={i} of={a} />)}
          </Table>
        )}
        {total > size && <Pages page={page} total={total} pending={pending} size={size} go={(p) => set({ page: p > 0 ? String(p + 1) : undefined })} near={(p) => ask({ ...search, page: String(p + 1) })} />}
      </Card>
    </>
  )
}

const Row = memo(function Row({ of: a }: { of: Platform['EnumerationContent'] }) {
  return (
    <tr>
      <td className="min-w-52"><RowLink to={`/assets/${a.id}`} className="font-medium hover:text-accent"><Shown text={a.name || a.host} max={120} /></RowLink> {a.is_new && <Chip tone="busy">{t.assets.new}</Chip>} {(a.labels ?? []).slice(0, 5).map((l) => <Chip key={l}><Shown text={l} max={30} /></Chip>)}</td>
      <td>{a.type}{a.port ? `:${a.port}` : ''}</td><td className="text-muted"><Shown text={(a.ip ?? []).join(', ')} max={60} /></td>
      <td>{a.status_code ? <><Chip>{a.status_code}</Chip> <Shown text={a.title} max={60} /></> : ''}</td><td className="text-muted"><Shown text={(a.technologies ?? []).join(', ')} max={60} /></td>
      <td>{a.vulnerabilities ? <RowLink to="/findings" search={{ host: a.host }} className="link">{count(a.vulnerabilities)}</RowLink> : ''}</td><td className="text-muted"><Time at={a.updated_at} /></td>
    </tr>
  )
})

export function Asset() {
  const { id } = useParams({ strict: false }) as { id: string }
  const role = useRole()
  const path = { asset_id: Number(id) }
  const found = useQuery({ queryKey: ['asset', team.id, id], queryFn: () => body(platform.GET('/v1/asset/{asset_id}', { params: { path } })) })
  const changes = useQuery({ queryKey: ['asset-changes', team.id, id], queryFn: () => body(platform.GET('/v1/asset/{asset_id}/changelogs', { params: { path, query: { limit: 50 } as never } })) })
  const a = found.data
  useTitle(a?.name || a?.host || t.assets.one)
  if (found.error) return <Problem error={found.error} retry={() => void found.refetch()} />
  if (!a) return <Loading what={t.assets.one} />
  const words = (list: string[] | undefined) => list && list.length > 0 && <Shown text={list.join(', ')} max={1000} />
  return (
    <>
      <Head title={<Shown text={a.name || a.host} max={200} />} crumb={<To to="/assets" className="link">{t.nav.assets}</To>}>
        <To to="/findings" search={{ host: a.host, status: 'any' }} className="btn">{t.nav.findings}</To>
        {role.writes && <To to="/scans/new" search={{ target: a.name || a.host }} className="btn btn-primary">{t.assets.scan}</To>}
      </Head>
      <div className="mb-4"><Graph of={a} /></div>
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <Card title={t.findings.facts}>
          {a.screenshot_path && <div className="mb-3 overflow-hidden rounded-sm border border-line"><Screenshot id={a.id} name={a.name || a.host} /></div>}
          <Facts of={[
            [t.assets.kind, a.type], [t.findings.host, <Shown key="h" text={a.host} max={200} />], [t.assets.port, a.port || ''], [t.assets.address, words(a.ip)], [t.assets.answer, a.status_code || ''], [t.assets.pageTitle, a.title && <Shown key="t" text={a.title} max={300} />],
            [t.assets.server, a.webserver && <Shown key="w" text={a.webserver} max={200} />], [t.assets.tech, words(a.technologies)], ['CNAME', words(a.cname)], ['CDN', a.cdn_name && <Shown key="c" text={a.cdn_name} max={80} />],
            [t.assets.certificate, a.tls_subject_cn && <Shown key="x" text={`${a.tls_subject_cn} (${a.tls_issuer_org ?? ''})`} max={300} />], [t.assets.certificateEnds, a.tls_not_after && date(a.tls_not_after)],
            [t.findings.labels, <AssetLabels key="l" of={a} />], [t.findings.first, date(a.created_at)], [t.findings.last, date(a.updated_at)],
          ]} />
        </Card>
        <Card title={t.assets.changes} flush>
          {changes.error ? <Problem error={changes.error} /> : !changes.data ? <Loading what={t.assets.changes} /> : changes.data.data.length === 0 ? <Empty title={t.assets.noChanges} /> : (
            <ol className="divide-y divide-line">
              {changes.data.data.map((c, i) => (
                <li key={i} className="px-3 py-2 text-sm"><span className="text-muted">{date(c.changed_at)}</span> <span className="font-medium">{t.assets.event[c.event_type] ?? c.event_type}</span>
                  {c.change_event.slice(0, 20).map((e, j) => <p key={j} className="text-xs text-muted"><Shown text={e.name} max={60} />: <Shown text={String(e.from ?? '')} max={200} /> → <Shown text={String(e.to ?? '')} max={200} /></p>)}</li>
              ))}
            </ol>
          )}
        </Card>
      </div>
    </>
  )
}
