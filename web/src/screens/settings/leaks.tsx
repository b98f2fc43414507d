import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { body, platform, team, type Platform } from '../../lib/api'
import { useAct } from '../../lib/act'
import { count } from '../../lib/format'
import { useRole } from '../../lib/me'
import { save } from '../../lib/save'
import { useTyped, useURL } from '../../lib/search'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Empty, Loading, Pages, Problem, Table } from '../../ui/kit'
import { failed, toast } from '../../ui/toast'
import { t } from '../../texts'

const o = t.leaks
const size = 50

/** Leaked logins of one's own address and of the team's domains. Passwords are shown when somebody asks for one. */
export function Leaks() {
  const role = useRole()
  const [search, set] = useURL()
  const [typed, setTyped] = useTyped('q')
  const [shown, setShown] = useState<ReadonlySet<string>>(new Set())
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const query = { search: search.q, status: search.status ?? 'open', type: search.type || undefined, limit: size, page_number: page + 1 }
  const found = useQuery({ queryKey: ['leaks', team.id, query], placeholderData: keepPreviousData, queryFn: ({ signal }) => body(platform.GET('/v1/leaks', { params: { query: query as never }, signal })) })
  const mark = useAct((x: Platform['LeakItem']) => body(platform.POST('/v1/leaks/status', { body: { leakid: x.id, status: x.status === 'fixed' ? 'open' : 'fixed' } })), ['leaks'], (_, x) => toast(x.status === 'fixed' ? o.reopened : o.fixed))
  const d = found.data
  const file = async (format: string) => {
    try {
      const { search: words, status, type } = query
      const { data, response } = await platform.POST('/v1/leaks/export', { params: { query: { format: format as never } }, body: { search: words || undefined, status, type } as never, parseAs: 'blob' })
      save(data as unknown as Blob, `leaks.${format}`, response)
    } catch (e) { failed(e) }
  }
  return (
    <div className="min-w-0 max-w-5xl">
      <div className="mb-3 flex flex-wrap gap-2">
        <input type="search" className="field max-w-80" aria-label={o.filter} placeholder={o.filter} value={typed} onChange={(e) => setTyped(e.target.value)} />
        <select className="field !w-auto" aria-label={t.scans.state} value={query.status} onChange={(e) => set({ status: e.target.value === 'open' ? undefined : e.target.value, page: undefined })}>{(['open', 'fixed'] as const).map((x) => <option key={x} value={x}>{t.status[x]}</option>)}</select>
        <select className="field !w-auto" aria-label={o.whose} value={search.type ?? ''} onChange={(e) => set({ type: e.target.value || undefined, page: undefined })}>{Object.entries(o.types).map(([k, v]) => <option key={k} value={k}>{v}</option>)}</select>
        {d && d.total_count > 0 && <select className="field !w-auto" aria-label={o.export} title={o.exportText} value="" onChange={(e) => void file(e.target.value)}><option value="">{o.export}</option>{Object.entries(o.formats).map(([k, v]) => <option key={k} value={k}>{v}</option>)}</select>}
      </div>
      <Card flush>
        {found.error ? <Problem error={found.error} /> : !d ? <Loading what={t.settings.page.leaks!} /> : d.data.length === 0 ? <Empty title={o.none}>{o.noneText}</Empty> : (
          <Table label={t.settings.page.leaks!} head={[o.login, o.password, o.used, o.taken, '']}>
            {d.data.map((x) => (
              <tr key={x.id}><td><Shown text={x.username} max={80} className="font-medium" /> <Chip>{o.types[x.user_type] ?? x.user_type}</Chip></td>
                <td>{shown.has(x.id) ? <code><Shown text={x.password} max={120} /></code> : <button type="button" className="link min-h-6" onClick={() => setShown(new Set([...shown, x.id]))}>{o.show}</button>}</td>
                <td className="text-muted"><Shown text={x.url || x.domain} max={120} /></td><td className="whitespace-nowrap text-muted"><Shown text={x.log_date.slice(0, 10)} max={20} /></td>
                <td>{role.writes && <span className="flex justify-end"><Button disabled={mark.isPending} onClick={() => mark.mutate(x)}>{x.status === 'fixed' ? o.reopen : o.fix}</Button></span>}</td></tr>
            ))}
          </Table>
        )}
        {(d?.total_count ?? 0) > size && <Pages page={page} total={d!.total_count} size={size} go={(p) => set({ page: p > 0 ? String(p + 1) : undefined })} />}
      </Card>
      {d && <p className="mt-2 text-sm text-muted">{o.summary(count(d.summary.total_leaks), count(d.summary.employee_leaks), count(d.summary.customer_leaks))}</p>}
    </div>
  )
}
