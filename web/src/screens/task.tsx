import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { agent, body, headers, team, type Agent } from '../lib/api'
import { count, date, money, span } from '../lib/format'
import { useCommands } from '../lib/keys'
import { useRole } from '../lib/me'
import { save } from '../lib/save'
import { tabOf, useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { add, nothingYet, text, type Data, type Step } from '../lib/progress'
import { follow, type StreamState } from '../lib/stream'
import { taskLive, taskTone } from '../lib/states'
import { Bar, Button, Card, Chip, Confirm, Copy, Empty, Facts, Head, Loading, Problem, Severity, Table, Tabs, Time, To, useTitle } from '../ui/kit'
import { failed, toast } from '../ui/toast'
import { t } from '../texts'

type Detail = Agent['TaskDetail']

export function Task() {
  const { id } = useParams({ strict: false }) as { id: string }
  const [search] = useURL()
  const role = useRole()
  const queries = useQueryClient()
  const [stopping, setStopping] = useState(false)
  const found = useQuery({
    queryKey: ['task', team.id, id],
    queryFn: () => body(agent.GET('/api/v1/tasks/{id}', { params: { path: { id } } })),
    refetchInterval: (q) => (q.state.data && taskLive(q.state.data.status) ? 10_000 : false),
  })
  const d = found.data
  useTitle(d?.task.title || t.tasks.one)
  const stop = useMutation({
    mutationFn: () => agent.POST('/api/v1/tasks/{id}/abort', { params: { path: { id } } }),
    onSuccess: () => { setStopping(false); toast(t.tasks.stopped); void queries.invalidateQueries({ queryKey: ['task'] }) },
  })
  useCommands([{ id: 'task stop', label: t.tasks.stop, group: t.tasks.one, run: () => d && taskLive(d.status) && setStopping(true) }])
  if (found.error && !d) return <Problem error={found.error} retry={() => void found.refetch()} />
  if (!d) return <Loading what={t.tasks.one} />
  const live = taskLive(d.status)
  const tab = tabOf(search, ['live', 'findings', 'calls', 'about'])
  const mine = role.writes && !d.read_only
  return (
    <>
      <Head title={<Shown text={d.task.title} max={160} />} crumb={<To to="/tasks" className="link">{t.tasks.title}</To>}
        note={<>{t.tasks.byAt(d.task.created_by)} <Time at={d.task.created_at} /> · {d.task.model === 'builtin' ? t.tasks.builtinShort : <Shown text={d.task.model} max={60} />}</>}>
        <Chip tone={taskTone[d.status]}>{t.taskState[d.status]}</Chip>
        {mine && live && <Button kind="danger" onClick={() => setStopping(true)}>{t.tasks.stop}</Button>}
        <To to="/network" search={{ task: id }} className="btn">{t.network.link}</To>
        {!live && <Export id={id} />}
      </Head>
      <Tabs of={[['live', t.tasks.tabs.live], ['findings', <>{t.tasks.tabs.findings} <span className="text-muted">{count(d.issues.length)}</span></>], ['calls', t.tasks.tabs.calls], ['about', t.tasks.tabs.about]]} now={tab} />
      {tab === 'live' && <Live d={d} mine={mine} key={d.stream.streamId} />}
      {tab === 'findings' && <Issues d={d} />}
      {tab === 'calls' && <Calls id={id} live={live} />}
      {tab === 'about' && <About d={d} />}
      {stopping && <Confirm title={t.tasks.stopTitle} action={t.tasks.stop} busy={stop.isPending} error={stop.error} onClose={() => setStopping(false)} onYes={() => stop.mutate()}>{t.tasks.stopText}</Confirm>}
    </>
  )
}

/** What a task's stream has told so far. What the page keeps of it does not grow with it. */
function useStream(d: Detail) {
  const queries = useQueryClient()
  const [now, setNow] = useState(nothingYet)
  const [state, setState] = useState<StreamState>('connecting')
  useEffect(() => follow(
    `/api/v1/tasks/${d.task.id}/stream?stream_id=${encodeURIComponent(d.stream.streamId)}`,
    (batch) => {
      setNow((old) => add(old, batch))
      if (batch.some((e) => e.type === 'finish' || e.type === 'suspended' || e.type === 'status' || e.type === 'issue')) void queries.invalidateQueries({ queryKey: ['task'] })
    },
    setState,
    (e) => e.type === 'finish',
  ), [d.task.id, d.stream.streamId, queries])
  return { now, state }
}

function Live({ d, mine }: { d: Detail; mine: boolean }) {
  const { now, state } = useStream(d)
  const { steps, speech, finish, denied, notes } = now
  const plan = now.plan ?? (d.plan as Data | undefined)
  const pending = d.status === 'suspended' ? ((d.pending ?? []) as Waiting[]) : []
  const running = steps.find((s) => s.status === 'running')
  const said = finish ? `${t.taskState[text(finish.status)] ?? ''}. ${t.tasks.nIssues(Number(finish.issue_count))}` : running ? t.tasks.runs(t.tool[running.tool] ?? running.tool) : ''
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]" data-events={now.seen} data-last={now.last?.seq}>
      <div className="grid min-w-0 gap-4">
        {d.messages.filter((m) => m.role === 'user').slice(-1).map((m) => <Card key={m.created_at} title={t.tasks.instruction}><p className="whitespace-pre-line"><Shown text={m.text} max={4000} /></p></Card>)}
        {pending.map((w) => <Ask key={`${w.branch} ${w.key}`} id={d.task.id} of={w} mine={mine} />)}
        <p className="sr-only" role="status">{said}</p>
        <Card title={t.tasks.steps} flush actions={<Connection state={state} last={now.last?.at} />}>
          {steps.length === 0 ? <Empty title={state === 'ended' ? t.tasks.noSteps : pending.length > 0 ? t.tasks.waitsForYou : t.tasks.waiting} /> : (
            <>
            {now.earlier > 0 && <p className="border-b border-line px-3 py-2 text-sm text-muted">{t.tasks.earlier(count(now.earlier))} <To to={`/tasks/${d.task.id}`} search={{ tab: 'calls' }} className="link">{t.tasks.tabs.calls}</To></p>}
            <ol className="divide-y divide-line">{steps.map((s) => <StepRow key={s.key} of={s} id={d.task.id} mine={mine} />)}</ol>
            </>
          )}
        </Card>
        {speech && <Card title={t.tasks.says}><p className="max-h-96 overflow-auto whitespace-pre-wrap" tabIndex={0}><Shown text={speech} max={20_000} /></p></Card>}
        {finish && <Card title={t.tasks.result}><p className="whitespace-pre-line"><Shown text={text(finish.summary)} max={20_000} /></p></Card>}
        {(denied.length > 0 || notes.length > 0) && (
          <Card title={t.tasks.guards}>
            <ul className="grid gap-1 text-sm">
              {denied.map((e) => <li key={e.seq}><Chip tone="wait">{t.tasks.denied}</Chip> <Shown text={text(e.data.place)} max={160} /> <span className="text-muted"><Shown text={text(e.data.why)} max={200} /></span></li>)}
              {notes.map((e) => { const n = (e.data.data ?? {}) as Data; return <li key={e.seq}><Chip>{text(n.code) || t.tasks.note}</Chip> <Shown text={text(n.text) || text(e.data.text)} max={400} /></li> })}
            </ul>
          </Card>
        )}
        {mine && !taskLive(d.status) && <Continue d={d} />}
      </div>
      <div className="grid gap-4 lg:sticky lg:top-4">
        <Card title={`${t.tasks.tabs.findings} · ${count(d.issues.length)}`} flush>
          {d.issues.length === 0 ? <Empty title={taskLive(d.status) ? t.tasks.noIssuesYet : t.tasks.noIssues} /> : (
            <ul className="max-h-[26rem] divide-y divide-line overflow-auto" tabIndex={0} aria-label={t.tasks.tabs.findings}>
              {byWorst(d.issues).slice(0, 200).map((i) => (
                <li key={i.id} className="flex items-start gap-2 px-3 py-1.5 text-sm"><Severity of={i.severity} short />
                  <span className="min-w-0">{i.vuln_id ? <To to={`/findings/${i.vuln_id}`} className="font-medium hover:text-accent"><Shown text={i.title} max={120} /></To> : <Shown text={i.title} max={120} className="font-medium" />}
                    <span className="block truncate text-xs text-muted"><Shown text={i.matched_at} max={90} /></span></span></li>
              ))}
            </ul>
          )}
        </Card>
        <Plan of={plan} />
        <Cost d={d} />
      </div>
    </div>
  )
}

const rank = ['critical', 'high', 'medium', 'low', 'info', 'unknown']
const byWorst = (list: Agent['Issue'][]) => [...list].sort((a, b) => rank.indexOf(a.severity) - rank.indexOf(b.severity))

function Connection({ state, last }: { state: StreamState; last?: string }) {
  const [, tick] = useState(0)
  useEffect(() => {
    if (state !== 'waiting' && state !== 'connecting') return
    const timer = setInterval(() => tick((n) => n + 1), 1000)
    return () => clearInterval(timer)
  }, [state])
  if (state === 'ended') return null
  return state === 'live' ? <Chip tone="good">{t.stream.live}</Chip> : <Chip tone="wait">{t.stream.again}{last && ` ${t.stream.last(span(Date.now() - new Date(last).getTime()))}`}</Chip>
}

function StepRow({ of: s, id, mine }: { of: Step; id: string; mine: boolean }) {
  const stop = useMutation({ mutationFn: () => agent.POST('/api/v1/tasks/{id}/abort-tools', { params: { path: { id } }, body: { tool_call_id: s.callId } }), onSuccess: () => toast(t.tasks.toolStopped), onError: failed })
  const running = s.status === 'running'
  const bad = s.status === 'failed' || s.status === 'timeout' || s.status === 'refused' || s.status === 'unknown'
  return (
    <li className="px-3 py-2 text-sm">
      <div className="flex flex-wrap items-center gap-2">
        <span className={`inline-block size-2 rounded-full ${running ? 'animate-pulse bg-accent' : bad ? 'bg-high' : 'bg-good'}`} aria-hidden="true" />
        <span className="font-medium"><Shown text={t.tool[s.tool] ?? s.tool} max={80} /></span>
        {s.subagent && <Chip>{t.tasks.subagent}</Chip>}
        <span className="text-xs text-muted">{running ? t.tasks.running : s.status !== 'completed' ? (t.call[s.status] ?? s.status) : ''} {s.end && span(new Date(s.end).getTime() - new Date(s.at).getTime())}</span>
        {running && mine && s.callId && <Button className="ml-auto" disabled={stop.isPending} onClick={() => stop.mutate()}>{t.tasks.stopTool}</Button>}
      </div>
      {running && s.total ? <div className="mt-1.5 flex items-center gap-3"><Bar percent={((s.done ?? 0) / s.total) * 100} label={s.tool} /><span className="text-xs whitespace-nowrap text-muted">{count(s.done)} / {count(s.total)}</span></div> : null}
      {s.note && <p className="mt-1 text-xs text-muted"><Shown text={s.note} max={200} /></p>}
      {s.error && <p className="mt-1 text-high"><Shown text={s.error} max={600} /></p>}
      {s.output && s.output.length < 240 && <p className="mt-1 whitespace-pre-line text-muted"><Shown text={s.output} max={240} /></p>}
      {(s.args !== undefined || s.output.length >= 240) && (
        <details className="mt-1">
          <summary className="text-xs text-accent">{t.tasks.details}</summary>
          {s.args !== undefined && <pre className="raw mt-1 max-h-48 overflow-auto rounded-sm border border-line bg-panel p-2" tabIndex={0}><Shown text={s.args} max={8000} /></pre>}
          {s.output && <pre className="raw mt-1 max-h-72 overflow-auto rounded-sm border border-line bg-panel p-2" tabIndex={0}><Shown text={s.output} max={8001} /></pre>}
        </details>
      )}
    </li>
  )
}

type Waiting = { turn: number; branch: string; key: string; ask: { kind: string; text: string; options?: string[]; tool?: string; args?: unknown; approval?: Data; plan?: { summary: string; steps?: { title: string; detail?: string }[] } } }

/** A question, or an action that waits for a person. The focus never begins on Approve. */
function Ask({ id, of: w, mine }: { id: string; of: Waiting; mine: boolean }) {
  const queries = useQueryClient()
  const [answer, setAnswer] = useState('')
  const decide = useMutation({
    mutationFn: (d: { decision: 'approve' | 'decline'; text?: string }) =>
      agent.POST('/api/v1/tasks/{id}/approve', { params: { path: { id } }, body: { decision: d.decision, text: d.text, agent_id: w.branch, tool_call_id: w.key } as never }),
    onSuccess: () => { toast(t.ask.sent); void queries.invalidateQueries({ queryKey: ['task'] }) },
  })
  const question = w.ask.kind === 'question'
  const a = w.ask.approval
  return (
    <section className="rounded-md border-2 border-medium bg-canvas p-4" aria-label={t.ask.title} role="alert">
      <p className="text-xs font-semibold text-medium">{t.ask.kind[w.ask.kind] ?? t.ask.title}</p>
      <p className="mt-1 font-medium whitespace-pre-line"><Shown text={w.ask.text} max={4000} /></p>
      {w.ask.tool && <p className="mt-2 text-sm">{t.ask.tool} <code><Shown text={w.ask.tool} max={80} /></code></p>}
      {a && <div className="mt-2"><Facts of={Object.entries(a).filter(([, v]) => v !== '' && v !== null).map(([k, v]) => [t.ask.fields[k] ?? k, <Shown key={k} text={text(v)} max={1000} />])} /></div>}
      {w.ask.plan && <div className="mt-2 text-sm">{w.ask.plan.summary !== w.ask.text && <p><Shown text={w.ask.plan.summary} max={2000} /></p>}<ol className="mt-1 list-decimal pl-5">{(w.ask.plan.steps ?? []).map((s, i) => <li key={i}><Shown text={t.tool[s.title] ?? s.title} max={300} /></li>)}</ol></div>}
      {w.ask.args !== undefined && <pre className="raw mt-2 max-h-48 overflow-auto rounded-sm border border-line bg-panel p-2" tabIndex={0} aria-label={t.ask.args}><Shown text={JSON.stringify(w.ask.args, null, 2)} max={8000} /></pre>}
      {mine ? (
        <form className="mt-3" onSubmit={(e) => { e.preventDefault(); if (question) decide.mutate({ decision: 'approve', text: answer }) }}>
          {w.ask.options && w.ask.options.length > 0 && <div className="mb-2 flex flex-wrap gap-2">{w.ask.options.slice(0, 12).map((o) => <Button key={o} className="!whitespace-normal py-1 text-left" onClick={() => decide.mutate({ decision: 'approve', text: o })}><Shown text={o} max={80} /></Button>)}</div>}
          <textarea className="field" rows={2} maxLength={20000} aria-label={question ? t.ask.answer : t.ask.reason} placeholder={question ? t.ask.answer : t.ask.reason} value={answer} onChange={(e) => setAnswer(e.target.value)} />
          {decide.error && <Problem error={decide.error} />}
          <div className="mt-2 flex flex-wrap justify-end gap-2">
            <Button kind="danger" disabled={decide.isPending} onClick={() => decide.mutate({ decision: 'decline', text: answer || undefined })}>{t.ask.decline}</Button>
            {question ? <Button kind="primary" type="submit" disabled={decide.isPending || !answer.trim()}>{t.ask.send}</Button>
              : <Button kind="primary" disabled={decide.isPending} onClick={() => decide.mutate({ decision: 'approve', text: answer || undefined })}>{t.ask.approve}</Button>}
          </div>
        </form>
      ) : <p className="mt-2 text-sm text-muted">{t.ask.notYours}</p>}
    </section>
  )
}

function Plan({ of }: { of: Data | undefined }) {
  if (!of) return null
  const inner = (of.data ?? of) as Data
  const list = (k: string) => (Array.isArray(inner[k]) ? (inner[k] as unknown[]).map(text) : [])
  const steps = Array.isArray(inner.steps) ? (inner.steps as Data[]).map((s) => text(s.title)) : []
  const lines = [...(inner.summary ? [text(inner.summary)] : []), ...list('understood'), ...steps]
  const missed = [...list('not_understood'), ...list('not_done')]
  if (lines.length + missed.length === 0) return null
  return (
    <Card title={t.tasks.plan}>
      <ul className="grid gap-1 text-sm">{lines.map((l, i) => <li key={i}><Shown text={l} max={400} /></li>)}</ul>
      {missed.length > 0 && <><p className="mt-2 text-xs font-semibold text-medium">{t.tasks.notDone}</p><ul className="grid gap-1 text-sm">{missed.map((l, i) => <li key={i}><Shown text={l} max={400} /></li>)}</ul></>}
    </Card>
  )
}

function Cost({ d }: { d: Detail }) {
  const live = taskLive(d.status)
  const usage = useQuery({
    queryKey: ['task-usage', team.id, d.task.id], enabled: d.task.model !== 'builtin', refetchInterval: live ? 5000 : false, retry: false,
    queryFn: () => body(agent.GET('/api/v1/usage/tasks/{task_id}', { params: { path: { task_id: d.task.id } } as never })),
  })
  const [, tick] = useState(0)
  useEffect(() => {
    if (!live) return
    const timer = setInterval(() => tick((n) => n + 1), 1000)
    return () => clearInterval(timer)
  }, [live])
  const u = usage.data as unknown as { llm_cost?: number; tokens?: Agent['UsageTokens']; tool_calls?: number } | undefined
  const budget = d.stream.run_config.budget
  const began = d.task.started_at ? new Date(d.task.started_at).getTime() : 0
  const end = d.task.completed_at ? new Date(d.task.completed_at).getTime() : Date.now()
  return (
    <Card title={t.tasks.cost}>
      <Facts of={[
        [t.tasks.took, began ? `${span(end - began)}${budget?.seconds ? ` ${t.tasks.of} ${span(budget.seconds * 1000)}` : ''}` : '–'],
        [t.tasks.spent, d.task.model === 'builtin' ? t.tasks.free : u ? `${money(u.llm_cost)}${budget?.money_usd ? ` ${t.tasks.of} ${money(budget.money_usd)}` : ''}` : '–'],
        [t.tasks.tokens, u?.tokens && d.task.model !== 'builtin' ? t.tasks.tokensOf(count(u.tokens.input), count(u.tokens.output)) : ''],
        [t.tasks.toolCalls, u?.tool_calls ? count(u.tool_calls) : ''],
        [t.tasks.requestLimit, budget?.requests ? count(budget.requests) : ''],
      ]} />
    </Card>
  )
}

function Continue({ d }: { d: Detail }) {
  const queries = useQueryClient()
  const [more, setMore] = useState('')
  const send = useMutation({
    mutationFn: () => agent.POST('/api/v1/tasks', { params: { header: { Accept: 'application/json' } } as never, body: { id: d.task.id, task: more, response_format: 'json' } as never }),
    onSuccess: () => { setMore(''); void queries.invalidateQueries({ queryKey: ['task'] }) },
  })
  return (
    <form className="card no-print p-3" onSubmit={(e) => { e.preventDefault(); send.mutate() }}>
      <label className="mb-1 block text-sm font-medium" htmlFor="more">{t.tasks.continue}</label>
      <textarea id="more" className="field" rows={2} required maxLength={100_000} placeholder={t.tasks.continueHint} value={more} onChange={(e) => setMore(e.target.value)} />
      {send.error && <Problem error={send.error} />}
      <div className="mt-2 text-right"><Button type="submit" kind="primary" disabled={send.isPending || !more.trim()}>{t.tasks.send}</Button></div>
    </form>
  )
}

function Issues({ d }: { d: Detail }) {
  return (
    <Card flush>
      {d.issues.length === 0 ? <Empty title={t.tasks.noIssues} /> : (
        <Table label={t.tasks.tabs.findings} head={[t.findings.col.severity, t.findings.col.name, t.findings.col.place, t.tasks.verification, t.findings.col.status]}>
          {byWorst(d.issues).map((i) => (
            <tr key={i.id}><td><Severity of={i.severity} /></td>
              <td>{i.vuln_id ? <To to={`/findings/${i.vuln_id}`} className="font-medium hover:text-accent"><Shown text={i.title} max={160} /></To> : <Shown text={i.title} max={160} />}</td>
              <td className="text-muted"><Shown text={i.matched_at} max={160} /></td>
              <td><Chip tone={i.verification === 'verified' ? 'good' : 'wait'}>{t.verification[i.verification]}</Chip></td>
              <td>{t.status[i.status]}</td></tr>
          ))}
        </Table>
      )}
    </Card>
  )
}

function Calls({ id, live }: { id: string; live: boolean }) {
  const found = useQuery({
    queryKey: ['agent-log', team.id, id], refetchInterval: live ? 3000 : false,
    queryFn: () => body(agent.GET('/api/v1/tasks/{id}/agent-audit-log', { params: { path: { id }, query: { limit: 200 } as never } })),
  })
  if (found.error) return <Problem error={found.error} />
  if (!found.data) return <Loading what={t.tasks.tabs.calls} />
  return (
    <Card flush>
      {found.data.events.length === 0 ? <Empty title={t.tasks.noCalls}>{t.tasks.noCallsText}</Empty> : (
        <Table label={t.tasks.tabs.calls} head={['#', t.tasks.what2, t.coverageText.target, t.tasks.outcome, t.tasks.took, t.scans.when]}>
          {found.data.events.map((e) => (
            <tr key={e.id}><td className="text-muted">{e.sequence}</td><td><Shown text={t.tool[e.tool_name ?? ''] || e.tool_name || e.action || e.event_type} max={80} className="font-medium" /><span className="block text-xs text-muted"><Shown text={e.input_summary} max={200} /></span></td>
              <td><Shown text={e.target} max={120} /></td><td>{t.call[e.status] ?? e.status}{e.error_message && <span className="block text-xs text-high"><Shown text={e.error_message} max={200} /></span>}<span className="block text-xs text-muted"><Shown text={e.output_summary} max={300} /></span></td>
              <td className="whitespace-nowrap">{e.duration_ms ? span(e.duration_ms) : ''}</td><td className="whitespace-nowrap text-muted">{date(e.started_at)}</td></tr>
          ))}
        </Table>
      )}
    </Card>
  )
}

function About({ d }: { d: Detail }) {
  const c = d.stream.run_config
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Card title={t.tasks.tabs.about}>
        <Facts of={[
          [t.tasks.by, d.task.created_by], [t.tasks.created, date(d.task.created_at)], [t.tasks.ended, date(d.task.completed_at)],
          [t.tasks.visibility, t.tasks.visible[d.task.visibility]], [t.tasks.model, d.task.model === 'builtin' ? t.tasks.builtinShort : d.task.model],
          [t.tasks.hosts, c.scope?.hosts?.length ? <Shown key="h" text={c.scope.hosts.join(', ')} max={1000} /> : t.tasks.fromInstruction],
          [t.tasks.intrusiveness, t.tasks.intrusivenessName[c.scope?.intrusiveness || 'safe']],
          [t.tasks.secrets, d.task.secret_names.join(', ')], [t.findings.id, <span key="i"><code>{d.task.id}</code> <Copy text={d.task.id} /></span>],
        ]} />
      </Card>
      <Card title={t.tasks.conversation} flush>
        <ol className="divide-y divide-line">{d.messages.map((m, i) => <li key={i} className="px-3 py-2 text-sm"><p className="text-xs text-muted">{m.role === 'user' ? t.tasks.you : t.tasks.agent} · <Time at={m.created_at} /></p><p className="whitespace-pre-line"><Shown text={m.text} max={4000} /></p></li>)}</ol>
      </Card>
    </div>
  )
}

function Export({ id }: { id: string }) {
  const busy = useRef(false)
  const run = async (type: string) => {
    if (busy.current) return
    busy.current = true
    try {
      const r = await fetch(`/api/v1/tasks/${id}/export?type=${type}`, { headers: headers() })
      if (!r.ok) throw new Error(t.errors.status(r.status))
      save(await r.blob(), `task.${type}`, r)
    } catch (e) { failed(e) } finally { busy.current = false }
  }
  return (
    <select className="field !w-auto" aria-label={t.findings.export} value="" onChange={(e) => void run(e.target.value)}>
      <option value="">{t.findings.export}</option>
      {['pdf', 'html', 'docx', 'json', 'csv', 'sarif'].map((f) => <option key={f} value={f}>{f.toUpperCase()}</option>)}
    </select>
  )
}
