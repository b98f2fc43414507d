import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, team, type Agent } from '../lib/api'
import { useAct } from '../lib/act'
import { count } from '../lib/format'
import { ofFindings, severities, statuses, useAssignees } from '../lib/findings'
import { useRole } from '../lib/me'
import { Shown } from '../lib/show'
import { Button, Card, Chip, Confirm, Dialog, Empty, Field, Loading, Problem, Severity, Table, Time, To } from '../ui/kit'
import { toast } from '../ui/toast'
import { t } from '../texts'
import { searchOf } from './views'

// Rules decide about findings as they arrive, in their order; suggestions wait for a person (docs/use/triage.md).

const r = t.rules
type Rule = Agent['TriageRule']
type Run = Agent['TriageRunResult']

const word = (v: unknown) => t.status[String(v)] ?? t.severity[String(v)] ?? (v === true ? r.yes : v === false ? r.no : String(v))

/** What a selection or what is set says, in words. */
const said = (x: object) => Object.entries(x).filter(([, v]) => v !== undefined && !(Array.isArray(v) && v.length === 0)).map(([k, v]) => `${r.field[k] ?? k}: ${Array.isArray(v) ? v.map(word).join(', ') : typeof v === 'object' ? JSON.stringify(v) : word(v)}`).join(' · ')

export function Rules() {
  const role = useRole()
  const [open, setOpen] = useState<Rule | 'new'>()
  const [gone, setGone] = useState<Rule>()
  const [tried, setTried] = useState<{ rule: Rule; run: Run }>()
  const found = useQuery({ queryKey: ['rules', team.id], queryFn: () => body(agent.GET('/api/v1/triage/rules')) })
  const rows = found.data?.rules ?? []
  const at = (x: Rule) => ({ params: { path: { rule_id: x.id } } })
  const turn = useAct((x: Rule) => agent.PATCH('/api/v1/triage/rules/{rule_id}', { ...at(x), body: { enabled: !x.enabled } }), ['rules'])
  const move = useAct((ids: string[]) => agent.PUT('/api/v1/triage/rule-order', { body: { rule_ids: ids } }), ['rules'])
  const remove = useAct(() => agent.DELETE('/api/v1/triage/rules/{rule_id}', at(gone!)), ['rules'], () => setGone(undefined), { shown: true })
  const look = useAct(async (rule: Rule) => ({ rule, run: await body(agent.POST('/api/v1/triage/dry-run', { body: { rule_ids: [rule.id], limit: 500 } })) }), [], setTried)
  const up = (i: number) => { const ids = rows.map((x) => x.id); [ids[i - 1], ids[i]] = [ids[i]!, ids[i - 1]!]; move.mutate(ids) }
  return (
    <Card title={r.title} flush actions={role.writes && <Button kind="primary" onClick={() => setOpen('new')}>{r.new}</Button>}>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={r.title} /> : rows.length === 0 ? <Empty title={r.none}>{r.noneText}</Empty> : (
        <ol className="divide-y divide-line">
          {rows.map((x, i) => (
            <li key={x.id} className="flex flex-wrap items-start gap-3 px-3 py-2.5 text-sm">
              <div className="min-w-0 flex-1 basis-72">
                <p className="flex flex-wrap items-center gap-2"><Shown text={x.name} max={120} className="font-medium" />{!x.enabled && <Chip>{r.off}</Chip>}{x.stop && <Chip>{r.stops}</Chip>}</p>
                <p className="text-xs text-muted">{r.when} <Shown text={said(x.match) || r.allOpen} max={300} /></p>
                <p className="text-xs">{r.then} <Shown text={said(x.set)} max={300} /></p>
                <p className="text-xs text-muted">{r.applied(count(x.applied_count))}{x.last_applied_at && <>, <Time at={x.last_applied_at} /></>} · <To to="/findings" search={searchOf(x.match)} className="link">{t.triage.list}</To></p>
              </div>
              {role.writes && (
                <span className="flex flex-wrap gap-2">
                  {i > 0 && <Button disabled={move.isPending} aria-label={r.upOf(x.name)} onClick={() => up(i)}>{r.up}</Button>}
                  <Button disabled={look.isPending} onClick={() => look.mutate(x)}>{r.look}</Button><Button disabled={turn.isPending} onClick={() => turn.mutate(x)}>{x.enabled ? r.turnOff : r.turnOn}</Button><Button onClick={() => setOpen(x)}>{t.notify.edit}</Button><Button onClick={() => setGone(x)}>{t.delete}</Button>
                </span>
              )}
            </li>
          ))}
        </ol>
      )}
      {open && <Edit of={open === 'new' ? undefined : open} onClose={() => setOpen(undefined)} />}
      {tried && <Tried of={tried.rule} run={tried.run} onClose={() => setTried(undefined)} />}
      {gone && <Confirm title={r.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{r.deleteText(gone.name)}</Confirm>}
    </Card>
  )
}

/** What a rule would do to what is there, and the button that does it: the newest 500 of its findings at a time. */
function Tried({ of, run, onClose }: { of: Rule; run: Run; onClose: () => void }) {
  const apply = useAct(() => body(agent.POST('/api/v1/triage/run', { body: { rule_ids: [of.id], limit: 500 } })), ['rules', ...ofFindings], (x) => { toast(r.ran(x.changed)); onClose() }, { shown: true })
  return (
    <Dialog wide title={r.lookTitle} onClose={onClose}>
      <p className="mb-3 text-sm">{r.would(run.looked_at, run.changed)}{run.next_before && ` ${r.older}`}</p>
      {run.decisions.length > 0 && (
        <Table label={r.lookTitle} head={[t.findings.col.severity, t.findings.one, r.does]}>
          {run.decisions.slice(0, 100).map((d) => <tr key={d.vuln_id + d.rule_name}><td><Severity of={d.severity} /></td><td><To to={`/findings/${d.vuln_id}`} className="link"><Shown text={d.name} max={120} /></To><span className="block text-xs text-muted"><Shown text={d.target} max={120} /></span></td><td className="text-xs"><Shown text={d.effects.map((e) => (e.kept ? `${r.field[e.field] ?? e.field}: ${e.kept}` : `${r.field[e.field] ?? e.field}: ${e.new_value ?? ''}`)).join(', ')} max={200} /></td></tr>)}
        </Table>
      )}
      {apply.error && <Problem error={apply.error} />}
      <div className="mt-4 flex justify-end gap-2"><Button onClick={onClose}>{t.close}</Button>{run.changed > 0 && <Button kind="primary" disabled={apply.isPending} onClick={() => apply.mutate()}>{r.apply}</Button>}</div>
    </Dialog>
  )
}

const list = (s: string) => s.split(',').map((x) => x.trim()).filter(Boolean)
const texts = ['search', 'host', 'templates', 'tags', 'labels'] as const

function Edit({ of, onClose }: { of?: Rule; onClose: () => void }) {
  const [name, setName] = useState(of?.name ?? '')
  const [match, setMatch] = useState<Record<string, string>>(Object.fromEntries(texts.map((k) => [k, k === 'search' ? of?.match.search ?? '' : (of?.match[k] ?? []).join(', ')])))
  const [sev, setSev] = useState<string[]>(of?.match.severity ?? [])
  const [set, setSet] = useState({ vuln_status: of?.set.vuln_status ?? '', severity: of?.set.severity ?? '', assignee: of?.set.assignee ?? '', labels: (of?.set.labels ?? []).join(', ') })
  const [stop, setStop] = useState(of?.stop ?? false)
  const people = useAssignees()
  const save = useAct(() => {
    // What this form does not show of a rule stays.
    const fields = {
      name, stop,
      match: { ...of?.match, severity: sev.length > 0 ? sev : undefined, search: match.search || undefined, ...Object.fromEntries(texts.filter((k) => k !== 'search').map((k) => [k, list(match[k]!).length > 0 ? list(match[k]!) : undefined])) },
      set: { ...of?.set, vuln_status: set.vuln_status || undefined, severity: set.severity || undefined, assignee: set.assignee || undefined, labels: list(set.labels).length > 0 ? list(set.labels) : undefined },
    } as Agent['TriageRuleRequest']
    return of ? body(agent.PATCH('/api/v1/triage/rules/{rule_id}', { params: { path: { rule_id: of.id } }, body: fields })) : body(agent.POST('/api/v1/triage/rules', { body: fields }))
  }, ['rules'], () => { toast(r.saved(name)); onClose() }, { shown: true })
  return (
    <Dialog wide title={of ? r.edit : r.new} onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); save.mutate() }}>
        <Field label={t.scans.name}>{(p) => <input {...p} autoFocus className="field" required maxLength={120} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
        <fieldset className="mb-4"><legend className="mb-1 text-sm font-semibold">{r.which}</legend><p className="mb-2 text-xs text-muted">{r.whichHint}</p>
          <div className="mb-3 flex flex-wrap gap-x-4">{severities.map((x) => <label key={x} className="flex min-h-7 items-center gap-1.5 text-sm"><input type="checkbox" checked={sev.includes(x)} onChange={(e) => setSev(e.target.checked ? [...sev, x] : sev.filter((y) => y !== x))} />{t.severity[x]}</label>)}</div>
          <div className="grid gap-x-3 sm:grid-cols-2">{texts.map((k) => <Field key={k} label={r.match[k]!}>{(p) => <input {...p} className="field" maxLength={k === 'search' ? 200 : 1000} value={match[k]} onChange={(e) => setMatch({ ...match, [k]: e.target.value })} />}</Field>)}</div>
        </fieldset>
        <fieldset className="mb-4"><legend className="mb-1 text-sm font-semibold">{r.what}</legend>
          <div className="grid gap-x-3 sm:grid-cols-2">
            <Field label={r.set.vuln_status!}>{(p) => <select {...p} className="field" value={set.vuln_status} onChange={(e) => setSet({ ...set, vuln_status: e.target.value as never })}><option value="">{r.leave}</option>{statuses.map((x) => <option key={x} value={x}>{t.status[x]}</option>)}</select>}</Field>
            <Field label={r.set.severity!}>{(p) => <select {...p} className="field" value={set.severity} onChange={(e) => setSet({ ...set, severity: e.target.value as never })}><option value="">{r.leave}</option>{severities.map((x) => <option key={x} value={x}>{t.severity[x]}</option>)}</select>}</Field>
            <Field label={r.set.assignee!}>{(p) => <select {...p} className="field" value={set.assignee} onChange={(e) => setSet({ ...set, assignee: e.target.value })}><option value="">{r.leave}</option>{[...new Set([...people, ...(set.assignee ? [set.assignee] : [])])].map((x) => <option key={x} value={x}>{x}</option>)}</select>}</Field>
            <Field label={r.set.labels!}>{(p) => <input {...p} className="field" maxLength={1000} value={set.labels} onChange={(e) => setSet({ ...set, labels: e.target.value })} />}</Field>
          </div>
        </fieldset>
        <label className="mb-4 flex items-center gap-2 text-sm"><input type="checkbox" checked={stop} onChange={(e) => setStop(e.target.checked)} />{r.stop}</label>
        {save.error && <Problem error={save.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={save.isPending}>{t.save}</Button></div>
      </form>
    </Dialog>
  )
}

/** Suggestions that wait for a person. */
export function Suggestions() {
  const role = useRole()
  const found = useQuery({ queryKey: ['suggestions', team.id], queryFn: () => body(agent.GET('/api/v1/triage/suggestions', { params: { query: { state: 'open', limit: 100 } } })) })
  const at = (id: string) => ({ params: { path: { suggestion_id: id } } })
  const accept = useAct((id: string) => agent.POST('/api/v1/triage/suggestions/{suggestion_id}/accept', at(id)), ['suggestions', ...ofFindings], () => toast(r.accepted))
  const dismiss = useAct((id: string) => agent.POST('/api/v1/triage/suggestions/{suggestion_id}/dismiss', at(id)), ['suggestions'], () => toast(r.dismissed))
  const busy = accept.isPending || dismiss.isPending
  return (
    <Card title={r.suggestions} flush>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={r.suggestions} /> : found.data.suggestions.length === 0 ? <Empty title={r.noSuggestions}>{r.noSuggestionsText}</Empty> : (
        <ul className="divide-y divide-line">
          {found.data.suggestions.map((x) => (
            <li key={x.id} className="flex flex-wrap items-start gap-3 px-3 py-2.5 text-sm">
              <div className="min-w-0 flex-1 basis-72">
                <p className="flex flex-wrap items-center gap-2"><span className="font-medium">{r.field[x.field]}: {t.status[x.value] ?? t.severity[x.value] ?? x.value}</span><Chip>{r.sure(Math.round(x.confidence * 100))}</Chip><To to={`/findings/${x.vuln_id}`} className="link">{t.findings.one}</To></p>
                <p className="text-muted"><Shown text={x.reason} max={500} /></p><p className="text-xs text-muted"><Shown text={x.suggested_by} max={80} /> · <Time at={x.created_at} /></p>
              </div>
              {role.writes && <span className="flex gap-2"><Button disabled={busy} onClick={() => accept.mutate(x.id)}>{r.accept}</Button><Button disabled={busy} onClick={() => dismiss.mutate(x.id)}>{r.dismiss}</Button></span>}
            </li>
          ))}
        </ul>
      )}
      {(found.data?.total ?? 0) > 100 && <p className="border-t border-line px-3 py-2 text-sm text-muted">{t.more(found.data!.total - 100)}</p>}
    </Card>
  )
}
