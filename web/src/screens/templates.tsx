import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { body, platform, team } from '../lib/api'
import { count } from '../lib/format'
import { useRole } from '../lib/me'
import { useTyped, useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { Card, Chip, Empty, Head, Loading, Pages, Problem, Severity, Table, To, useTitle } from '../ui/kit'
import { t } from '../texts'

const pageSize = 50

/** Templates by search: words, or field:value as the API takes them. */
export function Templates() {
  useTitle(t.nav.templates)
  const role = useRole()
  const [search, set] = useURL()
  const [typed, setTyped] = useTyped('q')
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const q = [search.q, search.severity && `severity:${search.severity}`, search.tag && `tags:${search.tag}`, search.scope === 'early' && 'is_early:true'].filter(Boolean).join(' ')
  const query = { q: q || undefined, scope: search.scope === 'early' ? undefined : search.scope || undefined, limit: pageSize, offset: page * pageSize, facet_size: 12, fields: 'id,template_id,name,severity,tags,type,description,template_type,is_early' }
  const found = useQuery({
    queryKey: ['template-search', team.id, query], placeholderData: keepPreviousData,
    queryFn: ({ signal }) => body(platform.GET('/v2/template/search', { params: { query: query as never }, signal })),
  })
  const tags = Object.entries((found.data?.facets?.tags?.buckets ?? {}) as Record<string, number>).sort((a, b) => b[1] - a[1]).slice(0, 12)
  return (
    <>
      <Head title={t.nav.templates} note={found.data && t.templates.total(count(found.data.total))}>{role.writes && <To to="/templates/new" className="btn btn-primary">{t.editor.new}</To>}</Head>
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <input type="search" className="field max-w-96" aria-label={t.scans.templateSearch} placeholder={t.scans.templateSearch} value={typed} onChange={(e) => setTyped(e.target.value)} />
        <select className="field !w-auto" aria-label={t.findings.col.severity} value={search.severity ?? ''} onChange={(e) => set({ severity: e.target.value || undefined, page: undefined })}>
          <option value="">{t.templates.anySeverity}</option>
          {['critical', 'high', 'medium', 'low', 'info'].map((s) => <option key={s} value={s}>{t.severity[s]}</option>)}
        </select>
        <select className="field !w-auto" aria-label={t.templates.whose} value={search.scope ?? ''} onChange={(e) => set({ scope: e.target.value || undefined, page: undefined })}>
          {Object.entries(t.templates.scopes).map(([k, v]) => <option key={k} value={k}>{v}</option>)}
        </select>
      </div>
      <ul className="mb-3 flex flex-wrap gap-1" aria-label={t.templates.tags}>
        {(search.tag && !tags.some(([tag]) => tag === search.tag) ? [[search.tag, 0] as [string, number], ...tags] : tags).map(([tag, n]) => (
          <li key={tag}><button type="button" aria-pressed={search.tag === tag} className="rounded-sm border border-line px-2 text-xs leading-6 text-muted hover:bg-hover aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent" onClick={() => set({ tag: search.tag === tag ? undefined : tag, page: undefined })}><Shown text={tag} max={30} /> {n > 0 && count(n)}</button></li>
        ))}
      </ul>
      <Card flush>
        {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !found.data ? <Loading what={t.nav.templates} /> : found.data.results.length === 0 ? <Empty title={t.templates.noMatch} /> : (
          <Table label={t.nav.templates} head={[t.findings.col.severity, t.scans.name, t.findings.id, t.templates.protocol, t.templates.tags]}>
            {found.data.results.map((x) => (
              <tr key={x.template_id ?? x.id}>
                <td><Severity of={x.severity} /></td>
                <td className="min-w-56"><To to={`/templates/${x.template_id ?? x.id}`} search={{ from: x.is_early ? 'early' : x.template_type === 'public' ? undefined : 'team' }} className="font-medium hover:text-accent"><Shown text={x.name} max={140} /></To> {x.template_type !== 'public' && <Chip>{t.templates.own}</Chip>}{x.is_early && <Chip tone="busy">{t.templates.early}</Chip>}</td>
                <td><code className="text-xs md:whitespace-nowrap"><Shown text={x.template_id ?? x.id} max={60} /></code></td><td>{x.type}</td>
                <td className="text-xs text-muted"><Shown text={(x.tags ?? []).join(', ')} max={80} /></td>
              </tr>
            ))}
          </Table>
        )}
        {(found.data?.total ?? 0) > pageSize && <Pages page={page} total={found.data!.total} size={pageSize} go={(p) => set({ page: p > 0 ? String(p + 1) : undefined })} />}
      </Card>
    </>
  )
}
