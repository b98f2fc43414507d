import { useQuery } from '@tanstack/react-query'
import { agent, body, headers, team, type Agent } from '../../lib/api'
import { date } from '../../lib/format'
import { save } from '../../lib/save'
import { useURL } from '../../lib/search'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Empty, Facts, Loading, Problem, Table } from '../../ui/kit'
import { failed } from '../../ui/toast'
import { t } from '../../texts'

const o = t.credits
const amount = (n: number) => n.toLocaleString('en', { maximumFractionDigits: 2 })

/** The months up to this one, as YYYY-MM, the latest first. */
function months(): string[] {
  const now = new Date()
  return Array.from({ length: 12 }, (_, i) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - i, 1)).toISOString().slice(0, 7))
}

const bounds = (month: string) => {
  const [y, m] = month.split('-').map(Number) as [number, number]
  return { from: new Date(Date.UTC(y, m - 1, 1)).toISOString(), to: new Date(Date.UTC(y, m, 1)).toISOString() }
}

/** What a team may spend, what it was granted, and a statement of a month. */
export function Credits() {
  const [search, set] = useURL()
  const all = months()
  const month = all.includes(search.month ?? '') ? search.month! : all[0]!
  const now = useQuery({ queryKey: ['credits', team.id], queryFn: () => body(agent.GET('/api/v1/billing/credits')) })
  const grants = useQuery({ queryKey: ['grants', team.id], queryFn: () => body(agent.GET('/api/v1/billing/grants')) })
  const range = bounds(month)
  const statement = useQuery({ queryKey: ['statement', team.id, month], queryFn: async () => (await body(agent.GET('/api/v1/billing/statement', { params: { query: { ...range, format: 'json' } } }))) as Agent['CreditStatement'] })
  const file = async () => {
    try {
      const r = await fetch(`/api/v1/billing/statement?${new URLSearchParams({ ...range, format: 'csv' })}`, { headers: headers() })
      if (!r.ok) throw new Error(t.errors.status(r.status))
      save(await r.blob(), `credits-${month}.csv`, r)
    } catch (e) { failed(e) }
  }
  const c = now.data
  return (
    <div className="grid max-w-4xl gap-4 *:min-w-0">
      <Card title={o.now}>
        {now.error ? <Problem error={now.error} /> : !c ? <Loading what={o.now} /> : (
          <Facts of={[
            [o.available, c.is_bounded ? <span key="a" className="font-medium">{amount(c.available_credits)} {c.is_expired && <Chip tone="bad">{o.expired}</Chip>}</span> : o.unbounded],
            [o.issued, c.is_bounded && amount(c.issued_credits)], [o.used, amount(c.used_credits)], [o.ends, date(c.expires_at)],
          ]} />
        )}
      </Card>
      <Card title={o.statement} flush actions={<span className="flex gap-2"><select className="field !w-auto" aria-label={o.month} value={month} onChange={(e) => set({ month: e.target.value === all[0] ? undefined : e.target.value })}>{all.map((m) => <option key={m}>{m}</option>)}</select><Button onClick={() => void file()}>CSV</Button></span>}>
        {statement.error ? <Problem error={statement.error} /> : !statement.data ? <Loading what={o.statement} /> : statement.data.by_task.length === 0 ? <Empty title={o.nothing}>{o.nothingText}</Empty> : (
          <>
            <p className="border-b border-line px-3 py-2 text-sm">{o.total(amount(statement.data.total_credits))}</p>
            {([['by_task', t.tasks.one], ['by_member', t.models.member], ['by_project', o.project], ['by_model', t.tasks.model]] as const).map(([k, name]) => statement.data.by_task.length > 0 && statement.data[k].length > 0 && (
              <Table key={k} label={name} head={[name, o.calls, o.credits]}>
                {statement.data[k].slice(0, 50).map((x) => <tr key={x.id}><td><Shown text={x.name || x.id} max={140} /></td><td>{x.calls.toLocaleString('en')}</td><td>{amount(x.credits)}</td></tr>)}
              </Table>
            ))}
          </>
        )}
      </Card>
      <Card title={o.grants} flush>
        {grants.error ? <Problem error={grants.error} /> : !grants.data ? <Loading what={o.grants} /> : grants.data.grants.length === 0 ? <Empty title={o.noGrants}>{o.noGrantsText}</Empty> : (
          <Table label={o.grants} head={[t.scans.when, o.credits, o.used, o.ends, o.note]}>
            {grants.data.grants.map((g) => <tr key={g.id}><td className="whitespace-nowrap text-muted">{date(g.created_at)}</td><td>{amount(g.credits)}</td><td>{amount(g.used_credits)}</td><td>{g.revoked_at ? <Chip tone="bad">{o.revoked}</Chip> : date(g.expires_at) || t.settings.never}</td><td><Shown text={g.note} max={200} /></td></tr>)}
          </Table>
        )}
      </Card>
    </div>
  )
}
