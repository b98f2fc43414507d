import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { agent, body, team } from '../../lib/api'
import { useAct } from '../../lib/act'
import { count, money } from '../../lib/format'
import { useAssignees } from '../../lib/findings'
import { useRole } from '../../lib/me'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Empty, Field, Loading, Problem, Table, Time } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

const m = t.models
const Chart = lazy(() => import('../../ui/chart').then((x) => ({ default: x.Chart })))
const providers = ['openai', 'anthropic', 'openrouter', 'google', 'xai', 'vercel-gateway', 'amazon-bedrock', 'azure-foundry', 'openai-compatible'] as const

/** Which models tasks may use, whose keys pay, what they cost, and how much may be spent. */
export function Models() {
  return <div className="grid max-w-5xl gap-4 *:min-w-0"><Spend /><Budgets /><Known /><Providers /></div>
}

function Spend() {
  const [since] = useState(() => new Date(Date.now() - 89 * 86_400_000).toISOString())
  const found = useQuery({ queryKey: ['usage', team.id, since, 'day'], queryFn: () => body(agent.GET('/api/v1/usage/summary', { params: { query: { from: since, group_by: 'day' } as never } })) })
  const u = found.data
  return (
    <Card title={m.spend}>
      {found.error ? <Problem error={found.error} /> : !u ? <Loading what={m.spend} /> : u.total_tasks === 0 ? <p className="text-sm text-muted">{m.noSpend}</p> : (
        <>
          <p className="mb-3 text-sm"><span className="text-2xl font-semibold tracking-tight">{money(u.total_llm_cost)}</span> <span className="text-muted">{m.spendText(count(u.total_tasks), count(u.total_tool_calls))}</span></p>
          {u.by_period.length > 0 && (
            <Suspense fallback={<Loading what={m.spend} />}>
              <Chart label={m.perDay} at={u.by_period.map((p) => p.date)} series={[{ name: m.cost, values: u.by_period.map((p) => p.llm_cost), color: 'accent', fill: true }]} value={(v) => money(v)} height={180} />
            </Suspense>
          )}
          {u.cost_by_model.length > 0 && (
            <Table label={m.byModel} head={[t.tasks.model, t.tasks.title, m.cost]}>
              {u.cost_by_model.map((x) => <tr key={x.model}><td><Shown text={x.model} max={100} className="font-medium" /></td><td>{count(x.tasks)}</td><td>{money(x.llm_cost)}</td></tr>)}
            </Table>
          )}
          {u.by_email.length > 1 && (
            <Table label={m.byMember} head={[m.member, t.tasks.title, m.cost]}>
              {u.by_email.map((x) => <tr key={x.email}><td><Shown text={x.email} max={100} className="font-medium" /></td><td>{count(x.tasks)}</td><td>{money(x.llm_cost)}</td></tr>)}
            </Table>
          )}
        </>
      )}
    </Card>
  )
}

function Budgets() {
  const role = useRole()
  const [cap, setCap] = useState('')
  const [email, setEmail] = useState('')
  const found = useQuery({ queryKey: ['team', team.id], queryFn: () => body(agent.GET('/api/v1/teams')) })
  const now = found.data?.team.default_spending_cap_usd
  const set = useAct((x: { usd: number | null }) => body(agent.PATCH('/api/v1/teams/default-spending-cap', { body: { default_spending_cap_usd: x.usd } })), ['team'], () => { setCap(''); toast(m.capSaved) }, { shown: true })
  const one = useAct(() => body(agent.PATCH('/api/v1/teams/members/cap', { body: { email, spending_cap_usd: Number(cap) } })), ['team', 'members'], () => { toast(m.capOf(email)); setEmail(''); setCap('') }, { shown: true })
  return (
    <Card title={m.budgets}>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={m.budgets} /> : (
        <>
          <p className="mb-3 text-sm">{now === null || now === undefined ? m.noCap : m.cap(money(now))}</p>
          {role.admin && (
            <form className="flex flex-wrap items-end gap-3 [&_div]:mb-0" onSubmit={(e) => { e.preventDefault(); if (email) one.mutate(); else set.mutate({ usd: Number(cap) }) }}>
              <div className="w-36"><Field label={m.usd}>{(p) => <input {...p} className="field" type="number" min={0} step={0.01} required value={cap} onChange={(e) => setCap(e.target.value)} />}</Field></div>
              <div className="w-64"><Field label={m.whose}>{(p) => <Members id={p.id} value={email} onChange={setEmail} />}</Field></div>
              <Button type="submit" disabled={set.isPending || one.isPending}>{m.setCap}</Button>
              {now !== null && now !== undefined && <Button onClick={() => set.mutate({ usd: null })}>{m.removeCap}</Button>}
            </form>
          )}
          {(set.error ?? one.error) && <Problem error={set.error ?? one.error} />}
        </>
      )}
    </Card>
  )
}

function Members({ id, value, onChange }: { id: string; value: string; onChange: (email: string) => void }) {
  const people = useAssignees()
  return <select id={id} className="field" value={value} onChange={(e) => onChange(e.target.value)}><option value="">{m.everybody}</option>{people.map((p) => <option key={p} value={p}>{p}</option>)}</select>
}

function Known() {
  const found = useQuery({ queryKey: ['models', team.id], queryFn: () => body(agent.GET('/api/v1/models')) })
  return (
    <Card title={m.known} flush>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={m.known} /> : found.data.models.length === 0 ? <Empty title={m.none}>{m.noneText}</Empty> : (
        <Table label={m.known} head={[t.tasks.model, m.provider, m.context, m.priceIn, m.priceOut]}>
          {found.data.models.map((x) => (
            <tr key={x.id}><td><Shown text={x.name || x.id} max={100} className="font-medium" /> {x.is_default && <Chip tone="good">{m.default}</Chip>} {x.is_byok && <Chip>{m.ownKey}</Chip>}</td><td><Shown text={x.provider} max={60} /></td>
              <td>{x.context_window > 0 ? count(x.context_window) : '–'}</td><td>{x.priced ? money(x.price.input) : '–'}</td><td>{x.priced ? money(x.price.output) : '–'}</td></tr>
          ))}
        </Table>
      )}
    </Card>
  )
}

function Providers() {
  const role = useRole()
  const [provider, setProvider] = useState<string>('openai')
  const [key, setKey] = useState('')
  const [url, setUrl] = useState('')
  const [model, setModel] = useState('')
  const [embedding, setEmbedding] = useState('')
  const [gone, setGone] = useState('')
  const found = useQuery({ queryKey: ['byok', team.id], queryFn: () => body(agent.GET('/api/v1/byok/providers')) })
  const keys = ['byok', 'models']
  const embeds = () => provider === 'anthropic' ? undefined : embedding || found.data?.providers.find((x) => x.provider === provider)?.embedding_model || undefined
  const store = useAct(() => body(agent.PATCH('/api/v1/byok/providers/{provider}', { params: { path: { provider } }, body: { api_key: key, base_url: url || undefined, model: model || undefined, embedding_model: embeds() } })), keys, () => { setKey(''); toast(m.stored) }, { shown: true })
  const try_ = useAct(() => body(agent.POST('/api/v1/byok/providers/{provider}/validate', { params: { path: { provider } }, body: { api_key: key, base_url: url || undefined, model: model || undefined } })), [], undefined, { shown: true })
  const mode = useAct((x: 'vedette' | 'byok') => body(agent.PATCH('/api/v1/byok/mode', { body: { mode: x } })), keys)
  const remove = useAct(() => body(agent.DELETE('/api/v1/byok/providers/{provider}', { params: { path: { provider: gone } } })), keys, () => setGone(''), { shown: true })
  const p = found.data
  return (
    <Card title={m.own} flush>
      {found.error ? <Problem error={found.error} /> : !p ? <Loading what={m.own} /> : (
        <>
          <fieldset className="flex flex-wrap gap-x-6 gap-y-1 border-b border-line p-3 text-sm">
            <legend className="sr-only">{m.whoPays}</legend>
            {(['vedette', 'byok'] as const).map((x) => <label key={x} className="flex min-h-7 items-center gap-2"><input type="radio" name="mode" disabled={!role.writes || mode.isPending} checked={p.mode === x} onChange={() => mode.mutate(x)} />{m.mode[x]}</label>)}
          </fieldset>
          {p.providers.length > 0 && (
            <Table label={m.own} head={[m.provider, m.key, m.whose, t.scans.state, m.changed, '']}>
              {p.providers.map((x) => (
                <tr key={x.id}><td><Shown text={x.display_name || x.provider} max={80} className="font-medium" />{x.base_url && <span className="block text-xs text-muted"><Shown text={x.base_url} max={120} /></span>}</td><td><code className="text-muted"><Shown text={x.masked_key} max={40} /></code></td><td>{m.owner[x.owner]}</td>
                  <td>{x.is_validated ? <Chip tone="good">{m.valid}</Chip> : <Chip tone="wait">{m.notValid}</Chip>}</td><td className="text-muted"><Time at={x.updated_at} /></td><td className="text-right">{role.writes && <Button onClick={() => setGone(x.provider)}>{t.delete}</Button>}</td></tr>
              ))}
            </Table>
          )}
          {role.writes && (
            <form className="border-t border-line p-3" onSubmit={(e) => { e.preventDefault(); store.mutate() }}>
              <div className="grid gap-x-3 sm:grid-cols-2">
                <Field label={m.provider}>{(q) => <select {...q} className="field" value={provider} onChange={(e) => setProvider(e.target.value)}>{providers.map((x) => <option key={x} value={x}>{x}</option>)}</select>}</Field>
                <Field label={m.key} hint={m.keyHint}>{(q) => <input {...q} className="field" type="password" autoComplete="off" required value={key} onChange={(e) => setKey(e.target.value)} />}</Field>
                <Field label={m.base} hint={m.baseHint}>{(q) => <input {...q} className="field" type="url" value={url} onChange={(e) => setUrl(e.target.value)} />}</Field>
                <Field label={t.tasks.model} hint={m.modelHint}>{(q) => <input {...q} className="field" value={model} onChange={(e) => setModel(e.target.value)} />}</Field>
                {provider !== 'anthropic' && <Field label={m.embedding} hint={m.embeddingHint}>{(q) => <input {...q} className="field" maxLength={200} value={embedding} onChange={(e) => setEmbedding(e.target.value)} />}</Field>}
              </div>
              {(store.error ?? try_.error) && <Problem error={store.error ?? try_.error} />}
              {try_.data && <p role="status" className={`mb-3 text-sm ${try_.data.valid ? 'text-good' : 'text-high'}`}>{try_.data.valid ? m.works : <Shown text={try_.data.error || try_.data.details} max={400} />}</p>}
              <div className="flex gap-2"><Button disabled={!key || try_.isPending} onClick={() => try_.mutate()}>{m.try}</Button><Button type="submit" kind="primary" disabled={store.isPending}>{m.store}</Button></div>
            </form>
          )}
        </>
      )}
      {gone && <Confirm title={m.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone('')} onYes={() => remove.mutate()}>{m.deleteText(gone)}</Confirm>}
    </Card>
  )
}
