import { useQuery } from '@tanstack/react-query'
import { body, platform, team } from '../../lib/api'
import { date } from '../../lib/format'
import { useTyped, useURL } from '../../lib/search'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Empty, Loading, Problem, Table } from '../../ui/kit'
import { t } from '../../texts'
import { Chain } from './chain'

export function Audit() {
  const [search, set] = useURL()
  const [typed, setTyped] = useTyped('q')
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const found = useQuery({
    queryKey: ['audit', team.id, search.q ?? '', page],
    queryFn: () => (search.q
      ? body(platform.GET('/v1/team/audit_log/search', { params: { query: { q: search.q, limit: 100, offset: page * 100 } as never } }))
      : body(platform.GET('/v1/team/audit_log', { params: { query: { limit: 100, offset: page * 100 } as never } }))),
  })
  const rows = found.data?.data ?? []
  return (
    <>
      <Chain />
      <input type="search" className="field mb-3 max-w-80" aria-label={t.settings.auditFilter} placeholder={t.settings.auditFilter} value={typed} onChange={(e) => setTyped(e.target.value)} />
      <Card flush>
        {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={t.settings.page.audit!} /> : rows.length === 0 ? <Empty title={t.settings.noAudit} /> : (
          <Table label={t.settings.page.audit!} head={[t.scans.when, t.settings.who, t.settings.did, t.settings.object, t.settings.outcome, t.settings.address]}>
            {rows.map((e) => (
              <tr key={e.id}><td className="whitespace-nowrap text-muted">{date(e.created_at)}</td><td><Shown text={e.email} max={80} /></td><td><Shown text={e.action} max={80} className="font-medium" /></td><td><Shown text={e.object_id} max={60} className="text-muted" /></td>
                <td>{e.status < 400 ? <Chip tone="good">{e.status}</Chip> : <Chip tone="bad">{e.status}</Chip>}</td><td className="text-muted"><Shown text={e.ip} max={60} /></td></tr>
            ))}
          </Table>
        )}
        {(page > 0 || rows.length === 100) && (
          <div className="flex justify-end gap-2 border-t border-line px-3 py-1.5">
            <Button disabled={page === 0} onClick={() => set({ page: page > 1 ? String(page) : undefined })}>{t.pages.previous}</Button>
            <Button disabled={rows.length < 100} onClick={() => set({ page: String(page + 2) })}>{t.pages.next}</Button>
          </div>
        )}
      </Card>
    </>
  )
}
