import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, team, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { span } from '../../lib/format'
import { useRole } from '../../lib/me'
import { useURL } from '../../lib/search'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Empty, Facts, Field, Loading, Pages, Problem, Table, Time, To } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

const w = t.webhooks
const size = 50
const tone: Record<string, string> = { delivered: 'good', failed: 'bad', blocked: 'wait', pending: 'calm', sending: 'busy' }

/** Where the team's tasks send their events, and what arrived. */
export function Webhooks() {
  const role = useRole()
  const [search, set] = useURL()
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const found = useQuery({ queryKey: ['team', team.id], queryFn: () => body(agent.GET('/api/v1/teams')) })
  const sent = useQuery({
    queryKey: ['deliveries', team.id, page],
    refetchInterval: (q) => (q.state.data?.deliveries.some((d) => d.state === 'pending' || d.state === 'sending') ? 1000 : 10_000),
    queryFn: () => body(agent.GET('/api/v1/teams/webhook/deliveries', { params: { query: { limit: size, offset: page * size } } })),
  })
  const x = found.data?.team
  return (
    <div className="grid max-w-5xl gap-4 *:min-w-0">
      <Card title={w.title}>
        {found.data?.warning && <p className="mb-3 rounded-sm bg-medium-soft px-3 py-2 text-sm text-medium"><Shown text={found.data.warning} max={400} /></p>}
        {found.error ? <Problem error={found.error} /> : !x ? <Loading what={w.title} /> : role.admin ? <Address key={x.updated_at} of={x} /> : <Facts of={[[w.url, x.webhook_url ? <Shown key="u" text={x.webhook_url} max={300} /> : w.noUrl]]} />}
      </Card>
      <Card title={w.log} flush>
        {sent.error ? <Problem error={sent.error} /> : !sent.data ? <Loading what={w.log} /> : sent.data.deliveries.length === 0 ? <Empty title={w.none}>{w.noneText}</Empty> : (
          <Table label={w.log} head={[t.scans.when, w.event, t.tasks.one, w.receiver, t.scans.state, w.took]}>
            {sent.data.deliveries.map((d) => (
              <tr key={d.id}><td className="text-muted"><Time at={d.created_at} /></td><td><Shown text={d.event} max={60} className="font-medium" /></td><td>{d.task_id ? <To to={`/tasks/${d.task_id}`} className="link">{t.findings.openTask}</To> : <span className="text-muted">{w.isTest}</span>}</td><td className="text-muted"><Shown text={d.receiver} max={80} /></td>
                <td><Chip tone={tone[d.state]}>{w.state[d.state]}</Chip> {d.status_code > 0 && <span className="text-xs text-muted">{d.status_code}</span>}{d.error && <span className="block text-xs text-high"><Shown text={d.error} max={300} /></span>}</td><td className="whitespace-nowrap text-muted">{d.duration_ms > 0 ? span(d.duration_ms) : '–'}</td></tr>
            ))}
          </Table>
        )}
        {(sent.data?.total ?? 0) > size && <Pages page={page} total={sent.data!.total} size={size} go={(p) => set({ page: p > 0 ? String(p + 1) : undefined })} />}
      </Card>
    </div>
  )
}

function Address({ of }: { of: Agent['Team'] }) {
  const [url, setUrl] = useState(of.webhook_url)
  const [secret, setSecret] = useState(of.webhook_secret_name)
  const secrets = useQuery({ queryKey: ['secrets', team.id], queryFn: () => body(agent.GET('/api/v1/secrets')) })
  const names = [...new Set([...(secrets.data?.secrets ?? []).map((s) => s.name), ...(of.webhook_secret_name ? [of.webhook_secret_name] : [])])]
  const save = useAct(() => body(agent.PATCH('/api/v1/teams', { body: { webhook_url: url.trim(), webhook_secret_name: secret } })), ['team'], () => toast(w.saved), { shown: true })
  const test = useAct(() => body(agent.POST('/api/v1/teams/webhook/test')), ['deliveries'], () => toast(w.tested), { shown: true })
  return (
    <form className="max-w-2xl" onSubmit={(e) => { e.preventDefault(); save.mutate() }}>
      <Field label={w.url} hint={w.urlHint}>{(p) => <input {...p} className="field" type="url" maxLength={2000} placeholder="https://hooks.example.com/vedette" value={url} onChange={(e) => setUrl(e.target.value)} />}</Field>
      <Field label={w.secret} hint={w.secretHint}>{(p) => <select {...p} className="field" value={secret} onChange={(e) => setSecret(e.target.value)}><option value="">{w.noSecret}</option>{names.map((n) => <option key={n} value={n}>{n}</option>)}</select>}</Field>
      {save.error && <Problem error={save.error} />}
      {test.error && <Problem error={test.error} />}
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" kind="primary" disabled={save.isPending}>{t.save}</Button>
        {of.webhook_url && <Button disabled={test.isPending} onClick={() => test.mutate()}>{w.test}</Button>}
        {of.webhook_url && <span className="text-xs text-muted">{w.testHint}</span>}
      </div>
    </form>
  )
}
